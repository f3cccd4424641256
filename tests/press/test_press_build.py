"""When a build runs, what it keeps, and what it never destroys. Running is counted, not done."""

from __future__ import annotations

import os

import pytest
from nbformat import v4

from mha_teach.press import build as building
from mha_teach.press.build import build
from mha_teach.press.problems import PressError

BODY = """\
# Idea

```{code-cell}
from mha_teach import idea
```

Prose.

```{code-cell}
x = 2
```
"""


@pytest.fixture
def runs(monkeypatch):
    """A stand-in for the kernel that numbers the runs and answers with that number."""
    made = []

    def fake(notebook, lines, name, cwd, progress):
        made.append(name)
        for at, cell in enumerate([cell for cell in notebook.cells if cell.cell_type == "code"], 1):
            if "1 / 0" in cell.source:
                raise PressError(f"{name}: boom")
            cell.execution_count = at
            cell.outputs = [v4.new_output("stream", text=f"run {len(made)}\n")]
        return ["remark"]

    monkeypatch.setattr(building, "execute", fake)
    return made


@pytest.fixture
def built(book, runs):
    book.page(BODY)
    assert build(book.root, ["03_idea"]) == ["03_idea"]
    book.path = book.root / "notebooks" / "03_idea.ipynb"
    return book


def test_a_second_build_does_nothing(built, runs, capsys):
    before = built.path.read_bytes(), built.path.stat().st_mtime_ns
    assert build(built.root, ["03_idea"]) == []
    assert (built.path.read_bytes(), built.path.stat().st_mtime_ns) == before
    assert len(runs) == 1
    assert "03_idea  up to date" in capsys.readouterr().err


def test_changed_prose_keeps_the_outputs(built, runs):
    built.page(BODY.replace("Prose.", "Other prose.\n\n:::{note}\nMore.\n:::\n"))
    assert build(built.root, ["03_idea"]) == ["03_idea"]
    assert len(runs) == 1
    text = built.path.read_text()
    assert "Other prose." in text
    assert "run 1" in text


@pytest.mark.parametrize("change", ["code", "module", "pins", "force", "output lost", "not json"])
def test_what_makes_it_run_again(built, runs, change):
    if change == "code":
        built.page(BODY.replace("x = 2", "x = 3"))
    elif change == "module":
        built.write("mha_teach/idea.py", "__all__ = ['a']\n")
    elif change == "pins":
        built.write("constraints.txt", "torch==2.13.0\n")
    elif change == "output lost":
        built.path.write_text(
            built.path.read_text().replace('"execution_count": 2', '"execution_count": null')
        )
    elif change == "not json":
        built.path.write_text("{")
    assert build(built.root, ["03_idea"], force=change == "force") == ["03_idea"]
    assert len(runs) == 2
    assert "run 2" in built.path.read_text()


def test_the_address_changes_the_setup_cell_and_so_the_run(built, runs):
    built.write("_config.yml", "repository: {url: https://github.com/o/r}")
    build(built.root, ["03_idea"])
    assert len(runs) == 2


def test_an_edited_notebook_is_written_again(built, runs):
    before = built.path.read_bytes()
    built.path.write_bytes(before.replace(b"Prose.", b"Poetry."))
    assert build(built.root, ["03_idea"]) == ["03_idea"]
    assert built.path.read_bytes() == before
    assert len(runs) == 1


def test_a_failing_build_leaves_the_old_notebook_whole(built, runs):
    before = built.path.read_bytes()
    built.page(BODY.replace("x = 2", "1 / 0"))
    with pytest.raises(PressError, match="boom"):
        build(built.root, ["03_idea"])
    assert built.path.read_bytes() == before
    assert os.listdir(built.path.parent) == ["03_idea.ipynb"]


def test_a_full_disk_is_told_and_leaves_the_old_notebook_whole(built, monkeypatch):
    before = built.path.read_bytes()
    built.page(BODY.replace("x = 2", "x = 3"))

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(building.os, "replace", full)
    with pytest.raises(PressError, match="No space left on device: make room"):
        build(built.root, ["03_idea"])
    assert built.path.read_bytes() == before
    assert os.listdir(built.path.parent) == ["03_idea.ipynb"]


def test_code_that_is_no_python_stops_before_the_kernel_starts(built, runs):
    built.page(BODY.replace("x = 2", "y = 1\nx = ("))
    with pytest.raises(
        PressError, match=r"^book/03_idea.md:17: SyntaxError: '\(' was never closed: mend the cell$"
    ):
        build(built.root, ["03_idea"])
    assert len(runs) == 1


def test_stderr_is_shown_and_not_stored(built, capsys):
    build(built.root, ["03_idea"], force=True)
    assert "remark" in capsys.readouterr().err
    assert "remark" not in built.path.read_text()
