from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_teach.press import markdown


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("01_collapse.md", "01_collapse.ipynb"),
        ("01_collapse.md#by-hand", "01_collapse.ipynb#by-hand"),
        ("notation.md", "../book/notation.md"),
        ("notation.md#heads", "../book/notation.md#heads"),
        ("#by-hand", "#by-hand"),
        ("https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_links(book, target, wanted):
    assert markdown.for_notebook(f"see [it]({target}).", book.root) == f"see [it]({wanted})."


@pytest.mark.parametrize("text", ["`[a](01_b.md)`", "```\n[a](01_b.md)\n```", "~~~\n```\n[a](01_b.md)\n~~~"])
def test_code_stays_as_it_is(book, text):
    assert markdown.for_notebook(text, book.root) == text


def test_a_title_after_the_target_stays(book):
    assert markdown.for_notebook('[a](01_b.md "t")', book.root) == '[a](01_b.ipynb "t")'


def test_pictures_travel_inside(book):
    (book.root / "book" / "dot.png").write_bytes(b"\x89PNG")
    data = base64.b64encode(b"\x89PNG").decode()
    assert markdown.for_notebook("![dot](dot.png)", book.root) == f"![dot](data:image/png;base64,{data})"


def test_notes_become_quotes_that_every_reader_shows(book):
    shown = markdown.for_notebook(":::{tip} Look here\nA [b](01_b.md) $x$.\n\nMore.\n:::\n\nafter", book.root)
    head = '<blockquote class="admonition tip">\n<p class="admonition-title"><strong>Look here</strong></p>'
    assert shown == f"{head}\n\nA [b](01_b.ipynb) $x$.\n\nMore.\n\n</blockquote>\n\nafter"


def test_a_note_without_title_is_called_by_its_kind(book):
    assert "<strong>Warning</strong>" in markdown.for_notebook(":::{warning}\nx\n:::", book.root)


def test_blanked_keeps_the_place_of_prose():
    text = "a `b c` $d$ e\n```\nf\n```\ng $$h\ni$$ j, $5 and $6"
    assert markdown.blanked(text) == "a" + " " * 11 + "e\n   \n \n   \ng    \n    j, $5 and $6"


@given(st.text("ab`$\n~ ", max_size=40))
def test_blanked_never_moves_a_line(text):
    plain = markdown.blanked(text)
    assert len(plain) == len(text)
    assert [i for i, c in enumerate(plain) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]


@given(st.text("ab`$\n~[](). ", max_size=40))
def test_outside_code_loses_nothing(text):
    assert markdown.outside_code(text, lambda part: part) == text
