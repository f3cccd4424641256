from __future__ import annotations

import dataclasses

import nbformat
import pytest

from mha_teach import exercises
from mha_teach.press.notebook import draft, facts
from mha_teach.press.problems import PressError
from mha_teach.release.assignment import prompt_cell

BODY = """\
# Idea

First, see [the other](01_other.md#by-hand).

```{code-cell}
x = 2
```

## Exercises

<!-- exercise: 03-sum -->

After.
"""


SOLUTIONS = (
    '<a href="../solutions/03_idea.html">Solutions to these exercises</a> stand on a page of their own in the built '
    "book, with why the tempting wrong answers are wrong. `from mha_teach.exercises import progress` and then "
    '`progress("03")` say how far you are.'
)


@pytest.fixture
def drafted(book, find):
    return draft(book.root, book.chapter(BODY), find)


def kinds(draft_):
    return [(cell.cell_type, cell.source.splitlines()[0]) for cell in draft_.notebook.cells]


def test_the_order_of_cells(drafted):
    assert kinds(drafted) == [
        ("markdown", "# Idea"),
        ("code", "# Setup: installs the book's package only where it is missing."),
        ("markdown", "First, see [the other](01_other.ipynb#by-hand)."),
        ("code", "x = 2"),
        ("markdown", "## Exercises"),
        ("markdown", "### A sum"),
        ("code", "# exercise: 03-sum"),
        ("code", 'check("03-sum", add)'),
        ("markdown", "<details>"),
        ("markdown", SOLUTIONS),
        ("markdown", "After."),
    ]
    assert drafted.exercises == ["03-sum"]


def test_it_is_a_valid_notebook_with_ids_that_stay(drafted):
    nbformat.validate(drafted.notebook)
    assert drafted.notebook.nbformat_minor == 5
    assert [cell.id for cell in drafted.notebook.cells][:2] == ["03_idea-001", "03_idea-002"]


def test_cells_know_the_source_line(drafted, book):
    source = (book.root / "book" / "03_idea.md").read_text().splitlines()
    told = [source[line - 1] for line in drafted.lines]
    assert told[2:6] == ["First, see [the other](01_other.md#by-hand).", "x = 2", "## Exercises", source[16]]
    assert source[16] == "<!-- exercise: 03-sum -->"
    assert told[6:] == [source[16]] * 4 + ["After."]


def test_hints_nest(drafted):
    hints = drafted.notebook.cells[8].source
    assert (
        hints.index("one")
        < hints.index("Hint 2")
        < hints.index("two")
        < hints.index("three")
        < hints.index("</details>")
    )
    assert hints.count("<details>") == hints.count("</details>") == 3


def test_an_open_exercise_has_no_check_and_no_hint_is_no_cell(book, find):
    open_exercise = dataclasses.replace(find("03-sum"), points=(), hints=("", "", ""))
    drafted = draft(book.root, book.chapter(BODY), lambda _: open_exercise)
    assert [cell.source for cell in drafted.notebook.cells][-3:] == [
        "# exercise: 03-sum\ndef add(a, b):\n    ...",
        SOLUTIONS,
        "After.",
    ]
    assert "*code · difficulty 2 of 3 · 5 min · not marked*" in drafted.notebook.cells[-4].source


def test_a_prompt_says_what_to_expect(drafted):
    assert drafted.notebook.cells[5].source.splitlines() == [
        "### A sum",
        "",
        "*code · difficulty 2 of 3 · 5 min · 3 marks*",
        "",
        "Add $a$ and $b$.",
    ]


def test_every_exercise_of_the_book_says_the_same_here_and_in_an_assignment():
    every = exercises.all()
    for exercise in every:
        assert f"*{facts(exercise)}*" in prompt_cell(exercise)
    assert {facts(exercise).split(" · ")[0] for exercise in every} == {
        "recall",
        "derive",
        "code",
        "break",
        "explore",
    }


def test_a_chapter_without_exercises_has_no_solutions(book, find):
    drafted = draft(book.root, book.chapter("# Idea\n\nText.\n"), find)
    assert not any("solutions/" in cell.source for cell in drafted.notebook.cells)


def test_an_unknown_exercise_names_file_and_line(book, find):
    chapter = book.chapter(BODY.replace("03-sum", "03-some"))
    with pytest.raises(
        PressError, match=r"^book/03_idea.md:17: no exercise 03-some: There is no exercise '03-some'"
    ):
        draft(book.root, chapter, find)


def test_a_broken_exercise_file_is_one_line(book):
    def broken(exercise_id):
        raise TypeError("half-written")

    said = r"^book/03_idea.md:17: exercise 03-sum can't be read, TypeError: half-written: mend mha_teach/exercises$"
    with pytest.raises(PressError, match=said):
        draft(book.root, book.chapter(BODY), broken)


def test_a_page_without_title_is_told(book, find):
    with pytest.raises(PressError, match=r"book/03_idea.md:1: no title: begin the page with"):
        draft(book.root, book.chapter("Text.\n"), find)


def test_byline_while_the_address_is_unset(drafted):
    top = drafted.notebook.cells[0].source
    assert "*You see it.* · 25 minutes · needs: chapter 00" in top
    assert '<a href="03_idea.ipynb" download>Download this notebook</a>' in top
    assert "*File → Upload notebook*" in top
    assert 'href="../downloads/mha_teach-0.1.0-py3-none-any.whl"' in top
    assert "://" not in "".join(cell.source for cell in drafted.notebook.cells)


def test_byline_and_footer_once_it_is_set(book, find):
    book.page("# The other\n", "01_other")
    book.write("_config.yml", "repository: {url: https://github.com/o/r, branch: main}")
    drafted = draft(book.root, book.chapter(BODY), find)
    at = "https://colab.research.google.com/github/o/r/blob/main/notebooks"
    assert f"[Open in Colab]({at}/03_idea.ipynb) · <a href" in drafted.notebook.cells[0].source
    assert "Upload" not in drafted.notebook.cells[0].source
    assert (
        drafted.notebook.cells[-1].source
        == f"In Colab, open the other chapters here: [The other]({at}/01_other.ipynb)."
    )


def test_an_address_outside_github_installs_from_there_and_says_how_to_upload(book, find):
    book.write("_config.yml", "repository: {url: https://example.org/o/r, branch: main}")
    top, setup = draft(book.root, book.chapter(BODY), find).notebook.cells[:2]
    assert "Upload notebook" in top.source
    assert ".whl" not in top.source
    assert "git+https://example.org/o/r@main" in setup.source
