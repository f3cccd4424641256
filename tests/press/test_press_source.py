from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_teach.press.problems import PressError
from mha_teach.press.source import parse, read

PAGE = """\
---
kernelspec: {name: python3, display_name: Python 3}
chapter: {promise: p}
---


# Title

text

```{code-cell}
x = 1
```

```{code-cell}
---
mystnb:
  image:
    alt: "a: b"
tags: [hide-input]
---

y = 2

z = 3
```

last
"""


def test_cells_know_their_lines(tmp_path):
    chapter = parse(PAGE, tmp_path / "01_x_y.md", "book/01_x_y.md")
    lines = PAGE.splitlines()
    assert [cell.kind for cell in chapter.cells] == ["markdown", "code", "code", "markdown"]
    for cell in chapter.cells:
        assert lines[cell.line - 1] == cell.text.splitlines()[0]
    assert chapter.cells[2].text == "y = 2\n\nz = 3"
    assert chapter.cells[2].metadata == {"mystnb": {"image": {"alt": "a: b"}}, "tags": ["hide-input"]}
    assert chapter.idea == "x_y"
    assert chapter.promise == {"promise": "p"}


WORD = (
    st.text("abc xyz.#", min_size=1, max_size=9)
    .map(str.strip)
    .filter(lambda word: word and word[0] not in "#")
)


@given(st.lists(st.tuples(st.booleans(), WORD, st.integers(1, 3)), min_size=1, max_size=7))
def test_every_cell_is_found_where_it_stands(tmp_path_factory, blocks):
    text = "---\nkernelspec: {name: python3, display_name: P}\n---\n"
    for code, word, gap in blocks:
        text += "\n" * gap + (f"```{{code-cell}}\n{word}\n```\n" if code else f"{word}\n")
    for cell in parse(text, tmp_path_factory.getbasetemp() / "01_x.md", "book/01_x.md").cells:
        assert text.splitlines()[cell.line - 1].strip() == cell.text.splitlines()[0].strip()


def test_front_matter_that_is_no_yaml_is_told(tmp_path):
    with pytest.raises(PressError, match=r"book/01_x.md:1: .*: mend the YAML"):
        parse("---\na: [\n---\n\n# T\n", tmp_path / "01_x.md", "book/01_x.md")


def test_front_matter_that_jupyter_refuses_is_told(tmp_path):
    with pytest.raises(
        PressError, match=r"book/01_x.md:1: front matter .*'display_name' is a required property"
    ):
        parse("---\nkernelspec: {name: python3}\n---\n\n# T\n", tmp_path / "01_x.md", "book/01_x.md")


def test_cell_options_that_are_no_yaml_are_told(tmp_path):
    page = "---\na: b\n---\n\n# T\n\n```{code-cell}\n---\na: [\n---\nx\n```\n"
    with pytest.raises(PressError, match=r"book/01_x.md:1: .*line 7.*: mend the YAML"):
        parse(page, tmp_path / "01_x.md", "book/01_x.md")


def test_a_missing_file_is_told(book):
    with pytest.raises(PressError, match=r"book/09_no.md:1: no such file: make it with `mha new 09_no`"):
        read(book.root, book.root / "book" / "09_no.md")


def test_another_encoding_is_told(book):
    (book.root / "book" / "09_no.md").write_bytes(b"# caf\xe9")
    with pytest.raises(PressError, match="not UTF-8 at byte 5"):
        read(book.root, book.root / "book" / "09_no.md")
