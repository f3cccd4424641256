"""Two builds from clean give the same bytes: what a reader sees is what was validated."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from mha_teach.press.build import build
from mha_teach.press.check import check

ROOT = Path(__file__).parents[2]
CHAPTER = "00_attention"  # the quickest; see test_a_real_chapter

BODY = """\
# Small but real

```{code-cell}
---
mystnb:
  image:
    alt: "Softmax weights of a random query over seven keys."
---
import matplotlib.pyplot as plt
import torch

weights = torch.randn(5, 7).softmax(-1)
_ = plt.imshow(weights)
```

*The weights of a row sum to one.*

```{code-cell}
import anywidget
import traitlets


class Slider(anywidget.AnyWidget):
    _esm = "export default { render({ model, el }) { el.textContent = model.get('h'); } }"
    h = traitlets.Int(3).tag(sync=True)

    def __repr__(self):
        return f"Slider(h={self.h})"

    def _repr_mimebundle_(self, **options):
        bundle, metadata = super()._repr_mimebundle_(**options)
        return {**bundle, "text/html": f'<div data-widget="slider">{self.h}</div>'}, metadata


Slider()
```

```{code-cell}
from tqdm.auto import tqdm

for _ in tqdm(range(3)):
    print(torch.rand(2))
```

<!-- exercise: 03-sum -->
"""


class Real:
    """Runs with the installed exercises, so the check cell meets an id that exists."""

    def __init__(self, exercise):
        self.exercise = exercise

    def __getattr__(self, name):
        return "len(weights)" if name == "call" else getattr(self.exercise, name)


def test_a_small_chapter_with_torch_a_figure_and_a_widget(book, find):
    book.page(BODY)
    path = book.root / "notebooks" / "03_idea.ipynb"
    made = []
    for _ in range(2):
        path.unlink(missing_ok=True)
        assert build(book.root, ["03_idea"], find=lambda name: Real(find(name))) == ["03_idea"]
        made.append(path.read_bytes())
    assert made[0] == made[1]
    assert b"image/png" in made[0]
    assert b"data-widget" in made[0]
    assert b"widget-view" not in made[0]
    assert b"it/s" not in made[0]
    nbformat.validate(nbformat.reads(made[0].decode(), as_version=4))
    wrong = {f.wrong for f in check(book.root, ["03_idea"], lambda name: Real(find(name)))}
    assert not [w for w in wrong if "product" in w or "run" in w or "output" in w or "alt" in w]


def copy_of_the_book(folder: Path) -> Path:
    """Sources without notebooks; the package itself is shared."""
    (folder / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "book", folder / "book")
    for name in ("_config.yml", "_toc.yml", "constraints.txt"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
    (folder / "mha_teach").symlink_to(ROOT / "mha_teach")
    return folder


@pytest.mark.skipif(
    not (ROOT / "book" / f"{CHAPTER}.md").exists(), reason=f"book/{CHAPTER}.md is not written yet"
)
def test_a_real_chapter(tmp_path):
    """Two builds at once, in two folders, give the same bytes: figures, widgets, tables and checks of a real chapter.

    It is the quickest of the chapters, and trains nothing. That the others give the same outputs again,
    training included, is what nbval proves for all of them; it compares outputs, not the bytes of the whole file.
    """
    copies = [copy_of_the_book(tmp_path / name) for name in ("one", "two")]
    command = [sys.executable, "-m", "mha_teach.cli", "build", CHAPTER]
    runs = [subprocess.Popen(command, cwd=copy, stderr=subprocess.PIPE, text=True) for copy in copies]
    told = [run.communicate(timeout=1200)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], told
    one, two = ((copy / "notebooks" / f"{CHAPTER}.ipynb").read_bytes() for copy in copies)
    assert one == two
