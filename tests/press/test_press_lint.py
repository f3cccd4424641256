"""Each rule fires where it must, at its line, and stays silent where it must."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_teach.press import lint
from mha_teach.press.source import parse

SKELETON = "# A title\n\n" + "".join(f"## {section}\n\n" for section in lint.SECTIONS)


def said(findings):
    return [f"{finding.line}: {finding.wrong}" for finding in findings]


def test_a_whole_skeleton_passes(book):
    assert said(lint.skeleton(book.chapter(SKELETON))) == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("## By hand\n", "", "32: section missing: By hand"),
        ("## See it\n\n## Experiment\n", "## Experiment\n\n## See it\n", "21: section out of order: See it"),
        ("## By hand\n", "## By hand\n\n## Mine\n", "15: no such section in the template: Mine"),
        ("## By hand\n", "## By hand\n\n## By hand\n", "15: the section stands twice: By hand"),
        ("## By hand\n", "# By hand\n", "13: a second title"),
        ("# A title\n", "# A title that is far too long\n", "7: the title is long"),
    ],
)
def test_a_broken_skeleton_is_told(book, old, new, wanted):
    assert wanted in said(lint.skeleton(book.chapter(SKELETON.replace(old, new))))


def test_sub_headings_and_headings_in_code_are_free(book):
    text = SKELETON.replace("## By hand\n", "## By hand\n\n### Mine\n\n```\n# comment\n## x\n```\n")
    assert said(lint.skeleton(book.chapter(text))) == []


@pytest.mark.parametrize("key", ["promise", "minutes", "needs"])
def test_the_byline_needs_its_facts(book, key):
    path = book.page(SKELETON)
    text = path.read_text().replace(f"{key}:", f"{key}_not:")
    assert said(lint.skeleton(parse(text, path, "p.md"))) == [f"1: front matter lacks chapter.{key}"]


def budget(book, words=1500, code=80, exercises=4, cell=20):
    lines = ["x = 1"] * code
    cells = [lines[at : at + cell] for at in range(0, code, cell)]
    body = "".join("```{code-cell}\n" + "\n".join(part) + "\n```\n\n" for part in cells)
    markers = "".join(f"<!-- exercise: 03-e{at} -->\n\n" for at in range(exercises))
    return said(lint.budgets(book.chapter(f"# Word\n\n{'word ' * (words - 1)}\n\n{markers}{body}")))


@pytest.mark.parametrize(
    "inside", [{}, {"words": 2500}, {"code": 150}, {"exercises": 6}, {"cell": 25, "code": 100}]
)
def test_within_the_budget_nothing_is_said(book, inside):
    assert budget(book, **inside) == []


@pytest.mark.parametrize(
    ("over", "wanted"),
    [
        ({"words": 1499}, "1: 1499 words of prose, the budget is 1500–2500"),
        ({"words": 2501}, "1: 2501 words of prose, the budget is 1500–2500"),
        ({"code": 79}, "1: 79 lines of code, the budget is 80–150"),
        ({"code": 151}, "1: 151 lines of code, the budget is 80–150"),
        ({"exercises": 3}, "1: 3 exercises, the budget is 4–6"),
        ({"exercises": 7}, "1: 7 exercises, the budget is 4–6"),
        ({"cell": 26, "code": 104}, "20: a cell of 26 lines"),
    ],
)
def test_outside_the_budget_the_number_is_told(book, over, wanted):
    assert wanted in budget(book, **over)


def test_words_are_what_a_reader_reads(book):
    page = """\
        # One two

        three [four](https://example.org/not-counted) `not_counted` $x_i$ it's-one

        $$
        x = y
        $$

        ```python
        not counted
        ```

        <details>
        <summary>six</summary>

        seven **eight**

        </details>

        <!-- exercise: 03-sum -->

        :::{note}
        nine
        :::

        | ten | eleven |
        |-----|--------|
        """
    assert lint.words(book.chapter(page)) == 11


@given(st.lists(st.sampled_from(["x = 1", "", "  # why", "# why"]), max_size=9))
def test_code_lines_are_neither_blank_nor_comment(lines):
    cell = lint.Cell("code", "\n".join(lines), 1, {})
    assert lint.code_lines(cell) == lines.count("x = 1")


@pytest.mark.parametrize("code", ["f(x);", "f(x);  # so", "x = 1\nf(x) ;\n", "f('a');\n# end"])
def test_a_closing_semicolon_is_told(book, code):
    (finding,) = lint.code_cells(book.chapter(f"# T\n\n```{{code-cell}}\n{code}\n```\n"))
    assert finding.wrong == "the cell ends in a semicolon"
    assert finding.line == 10 + code.strip().split("\n# end")[0].count("\n")


@pytest.mark.parametrize("code", ["f(x)", "a = 1; b = 2", "x = ';'", "f(x)  # a;", "%pip install x\nf()"])
def test_other_semicolons_are_free(book, code):
    assert said(lint.code_cells(book.chapter(f"# T\n\n```{{code-cell}}\n{code}\n```\n"))) == []


def test_empty_and_raw_cells_are_told(book):
    page = "# T\n\n```{code-cell}\n```\n\n```{raw-cell}\nx\n```\n"
    wrong = [finding.wrong for finding in lint.code_cells(book.chapter(page))]
    assert wrong == ["an empty code cell", "a raw cell"]


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("__all__ = ['f', 'G']", ["G"]),
        ("__all__: list[str] = ['G']", ["G"]),
        ("def f(): ...\nclass G: ...\ndef _h(): ...", ["G"]),
        ("def f():\n    def inner(): ...", []),
    ],
)
def test_public_names_that_the_chapter_forgets(book, module, missing):
    book.write("mha_teach/idea.py", module)
    found = list(lint.public_names(book.root, book.chapter("# T\n\nWe call `idea.f(x)` and Great things.\n")))
    assert [finding.wrong.split()[0] for finding in found] == missing


def test_a_chapter_without_module_is_told(book):
    (finding,) = lint.public_names(book.root, book.chapter("# T\n", "04_else"))
    assert str(finding) == "book/04_else.md:1: no module mha_teach/else.py: add it, or run `mha new 04_else`"
