from __future__ import annotations

import pytest
from nbformat import v4

from mha_teach.press import build as building
from mha_teach.press.build import build
from mha_teach.press.check import check, page_anchors, product
from mha_teach.press.source import read

BODY = """\
# Idea

## The question

```{code-cell}
---
mystnb:
  image:
    alt: "A dot."
---
draw()
```

## Exercises

<!-- exercise: 03-sum -->
"""
PICTURE = v4.new_output("display_data", data={"image/png": "iVBO", "text/plain": "<Figure>"})


@pytest.fixture
def shown(book, find, monkeypatch):
    """Build the page with given outputs of its drawing cell, and list what is wrong with the product."""

    def fake(notebook, lines, name, cwd, progress):
        for at, cell in enumerate([cell for cell in notebook.cells if cell.cell_type == "code"], 1):
            cell.execution_count = at
            cell.outputs = [*book.outputs] if "draw" in cell.source else []
        return []

    monkeypatch.setattr(building, "execute", fake)
    book.outputs = [PICTURE]

    def run(body=BODY, spoil=lambda text: text):
        book.page(body)
        build(book.root, ["03_idea"], force=True, find=find)
        path = book.root / "notebooks" / "03_idea.ipynb"
        path.write_text(spoil(path.read_text()))
        chapter = read(book.root, book.root / "book" / "03_idea.md")
        found = product(book.root, chapter, building.planned(book.root, "03_idea", find))
        return [str(finding) for finding in found if "figures, the budget" not in finding.wrong]

    return run


def test_a_faithful_notebook_passes(shown):
    assert shown() == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("draw()", "draw(2)", "notebooks/03_idea.ipynb:1: not the product of book/03_idea.md"),
        ('"execution_count": 2', '"execution_count": null', "book/03_idea.md:17: this cell has not run"),
        ('"source": "book/03_idea.md"', '"source": "x"', "notebooks/03_idea.ipynb:1: not the product"),
        ("A dot.", "A spot.", "notebooks/03_idea.ipynb:1: not the product"),
        ("{", "", "notebooks/03_idea.ipynb:1: missing or no notebook"),
    ],
)
def test_a_spoilt_notebook_is_told(shown, old, new, wanted):
    assert any(line.startswith(wanted) for line in shown(spoil=lambda text: text.replace(old, new)))


def test_a_notebook_of_older_modules_is_told(shown, book, find):
    shown()
    book.write("mha_teach/devices.py", "changed = True\n")
    found = [f.wrong for f in check(book.root, ["03_idea"], find)]
    assert "built with other modules or versions" in found


def test_a_missing_notebook_is_told(book, find):
    book.page(BODY)
    assert "notebooks/03_idea.ipynb:1: no such notebook: run `mha build 03_idea`" in map(
        str, check(book.root, None, find)
    )


def test_a_figure_without_alt_text_is_told(shown):
    (line,) = shown(BODY.replace('"A dot."', '""'))
    assert (
        line == "book/03_idea.md:17: a figure without alt text: add mystnb: image: alt: … at the cell's top"
    )


def test_a_stored_error_is_told_unless_it_is_wanted(shown, book):
    book.outputs = [v4.new_output("error", ename="ValueError", evalue="no", traceback=[])]
    (line,) = shown()
    assert line.startswith("book/03_idea.md:17: stored error ValueError: no: mend the cell")
    assert shown(BODY.replace("mystnb:", "tags: [raises-exception]\nmystnb:")) == []


@pytest.mark.parametrize(
    "text", ["<object object at 0x7f12ab34cd56>", "File /home/someone/x.py", "/tmp/x1/a.png"]
)
def test_output_that_changes_with_the_machine_is_told(shown, book, text):
    book.outputs = [v4.new_output("stream", text=text)]
    (line,) = shown()
    assert line.startswith("book/03_idea.md:17: the output shows")


@pytest.mark.parametrize("text", ["0x10", "a / b", "shape (2, 3)"])
def test_ordinary_output_passes(shown, book, text):
    book.outputs = [v4.new_output("stream", text=text)]
    assert shown() == []


@pytest.mark.parametrize(("count", "fits"), [(3, False), (4, True), (7, True), (8, False)])
def test_figures_are_counted(shown, book, find, count, fits):
    cell = BODY[BODY.index("```{code-cell}") : BODY.index("## Exercises")]
    shown(BODY.replace(cell, cell * count))
    found = [f.wrong for f in check(book.root, ["03_idea"], find)]
    assert (f"{count} figures, the budget is 4–7" not in found) == fits


def test_strays_are_told(book, find):
    book.page(BODY, "04_else")
    book.write("notebooks/09_ghost.ipynb", "{}")
    found = [str(finding) for finding in check(book.root, None, find)]
    assert "book/04_else.md:1: not in _toc.yml: add the line `- file: notebooks/04_else`" in found
    ghost = "notebooks/09_ghost.ipynb:1: no source book/09_ghost.md: delete the notebook or write its source"
    assert ghost in found


def test_a_listed_source_is_no_stray(book, find):
    book.page(BODY)
    assert not [f for f in check(book.root, None, find) if "_toc" in f.wrong]


def test_prose_pages_have_living_links(book, find):
    book.page(BODY)
    book.write("book/index.md", "# Home\n\n[a](03_idea.md#a-sum) [b](03_idea.md#no) [c](no.md)\n")
    found = [f.wrong for f in check(book.root, None, find) if f.file == "book/index.md"]
    assert found == ["dead link: no book/no.md", "dead link: no heading #no in 03_idea.md"]


def test_exercises_give_anchors(book, find):
    book.page(BODY)
    assert page_anchors(book.root, "03_idea.md", find) == {"idea", "the-question", "exercises", "a-sum"}
    assert page_anchors(book.root, "no.md", find) is None


def test_a_source_that_cannot_be_read_is_one_finding(book, find):
    book.write("book/03_idea.md", "---\na: [\n---\n")
    (finding,) = check(book.root, ["03_idea"], find)
    assert str(finding).startswith("book/03_idea.md:1: ")
    assert str(finding).endswith(": mend the YAML")
