from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from myst_parser.mdit_to_docutils.base import default_slugify

from mha_teach.press import dialect


def wrongs(book, text):
    return [f"{f.line}: {f.wrong}" for f in dialect.dialect(book.chapter(f"# T\n\n{text}\n"))]


@pytest.mark.parametrize(
    "text",
    [
        "- a list\n- *of* **things** with `code` and $x < y$",
        "before\n\n$$\na < b\n$$\n\nafter",
        "- item\n\n  $$\n  a\n  $$\n\n- next",
        ":::{note} Title\nText.\n:::",
        "<details>\n<summary>Answer</summary>\n\nText $x$.\n\n$$\ny\n$$\n\n</details>",
        "<details open>\n<summary>a</summary>\n\nb\n\n</details>",
        "```python\nx = f'<b>{{a}}`b`'\n```",
        "`<div>` and `{ref}` and 3 < 4 and a<b",
        "<!-- exercise: 03-sum -->",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "[text](https://example.org) costs $5 and $6, 50 % of it",
        "a [0, 1] interval",
        "[bracket] alone",
    ],
)
def test_what_the_three_readers_show_passes(book, text):
    assert wrongs(book, text) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ok\n\n:::{figure} x.png\n:::", "11: a directive: :::{figure}"),
        ("```{figure} x.png\n```", "9: a directive: ```{figure}"),
        ("see {ref}`x`", "9: a role: {ref}`x`"),
        (":::{note}\nText.", "9: a note without its other half"),
        ("::::{note}\nText.\n::::", "9: a note without its other half"),
        ("- a\n\n  :::{note}\n  b\n  :::", "11: a note without its other half"),
        (":::{note}\n:class: x\nText.\n:::", "9: a note with options"),
        ("(label)=\n## H", "9: a MyST label: (label)="),
        ("% hidden", "9: a MyST comment: %"),
        ("a[^1]\n\n[^1]: b", "9: a footnote: [^1]"),
        ("[a][b]\n\n[b]: https://example.org", "11: a link definition: [b]:"),
        ("so \\(x\\)", "9: math in \\( or \\[: \\("),
        ("<https://example.org>", "9: a bare address: <https://example.org>"),
        ("a\n<div>\nb\n</div>", "10: raw HTML: <div>"),
        ("H<sub>2</sub>O", "9: raw HTML: <sub>"),
        ('<details class="x">\n\n</details>', '9: raw HTML: <details class="x">'),
        ("<!-- later -->", "9: an HTML comment"),
        ("text <!-- exercise: 03-sum -->", "9: an HTML comment"),
        ("<details><summary>why $x$?</summary>\n\na\n\n</details>", "9: math in a <summary>"),
        ("a\n$$\nx\n$$\n\nb", "10: a $$ display inside a paragraph"),
        ("$$\nx\n$$\nb", "9: a $$ display inside a paragraph"),
        ("so $$x$$ is", "9: a $$ display inside a paragraph"),
    ],
)
def test_what_one_of_them_shows_raw_is_told(book, text, wanted):
    assert wanted in wrongs(book, text)


def links(book, text, **pages):
    known = {"03_idea.md": {"t", "by-hand"}, "notation.md": {"heads"}}
    chapter = book.chapter(f"# T\n\n{text}\n")
    return [f"{f.line}: {f.wrong}" for f in dialect.links(chapter.name, chapter.cells, book.root, known.get)]


@pytest.mark.parametrize(
    "text",
    [
        "[a](#by-hand) [b](03_idea.md#t) [c](notation.md) [d](notation.md#heads) [e](https://example.org/x.py)",
        "`[a](nowhere.md)`",
        "```\n[a](nowhere.md)\n```",
    ],
)
def test_links_that_lead_somewhere_pass(book, text):
    assert links(book, text) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\n[a](#nowhere)", "10: dead link: no heading #nowhere in this page"),
        ("[a](notation.md#nowhere)", "9: dead link: no heading #nowhere in notation.md"),
        ("[a](09_no.md)", "9: dead link: no book/09_no.md"),
        ("[a](../mha_teach/idea.py)", "9: Colab and the site can't open ../mha_teach/idea.py"),
        ("[](notation.md)", "9: a link without text: notation.md"),
        ("![](dot.png)", "9: a picture without alt text: dot.png"),
        ("![a](no.png)", "9: no picture book/no.png"),
        ("![a](https://example.org/a.png)", "9: a picture from elsewhere: https://example.org/a.png"),
    ],
)
def test_links_that_lead_nowhere_are_told(book, text, wanted):
    (book.root / "book" / "dot.png").touch()
    assert links(book, text) == [wanted]


def test_a_picture_with_words_passes(book):
    (book.root / "book" / "dot.png").touch()
    assert links(book, "![a dot](dot.png)") == []


def test_anchors_are_those_that_the_site_gives():
    pages = [
        "# A title!\n\n## By `hand` *now*\n\n### [Link](x.md) to $x^2$\n\n#### too deep\n\n## By hand now"
    ]
    pages += ["## By hand now\n\n```\n# no\n```\n\n## Größe & √d_k"]
    wanted = {"a-title", "by-hand-now", "by-hand-now-1", "by-hand-now-1-2", "link-to-", "größe--d_k"}
    assert dialect.anchors_of(pages) == wanted


@given(st.text("aB3 -_.,:&√é?", min_size=1, max_size=20).map(str.strip).filter(bool))
def test_anchors_agree_with_myst(title):
    assert dialect.slug(title) == default_slugify(title)
