from __future__ import annotations

import ast

import pytest

from mha_teach.press.build import planned
from mha_teach.press.check import check
from mha_teach.press.new import new
from mha_teach.press.problems import PressError

NAMES = [
    "book/07_two_words.md",
    "mha_teach/two_words.py",
    "tests/chapters/test_two_words.py",
    "mha_teach/exercises/ch07_two_words/__init__.py",
    "mha_teach/exercises/ch07_two_words/first.py",
]


def test_it_writes_the_files_of_one_name(book, find):
    told = new(book.root, "07_two_words")
    assert told[:5] == [f"wrote {name}" for name in NAMES]
    assert told[5] == "now add `- file: notebooks/07_two_words` to _toc.yml, and run `mha build 07_two_words`"
    for name in NAMES[1:]:
        ast.parse((book.root / name).read_text())
    drafted = planned(book.root, "07_two_words", lambda _: find("03-sum"))
    assert drafted.exercises == ["07-first"]
    assert drafted.notebook.cells[0].source.startswith("# Two words\n")


def test_the_new_chapter_lacks_nothing_but_content(book, find):
    new(book.root, "07_two_words")
    wrong = [f.wrong for f in check(book.root, ["07_two_words"], lambda _: find("03-sum"))]
    assert sorted(w.split(" ", 1)[1] for w in wrong) == [
        "exercises, the budget is 4–6",
        "in _toc.yml",
        "lines of code, the budget is 80–150",
        "such notebook",
        "words of prose, the budget is 1500–2500",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_it_overwrites_nothing(book, name):
    book.write(name, "mine")
    with pytest.raises(PressError, match=f"{name} exists and stays as it is"):
        new(book.root, "07_two_words")
    assert (book.root / name).read_text() == "mine"
    assert [other for other in NAMES if (book.root / other).exists()] == [name]


@pytest.mark.parametrize("slug", ["two_words", "7_x", "07-x", "07_X", "../07_x"])
def test_a_name_that_is_none_is_refused(book, slug):
    with pytest.raises(PressError, match="is no chapter's name: write two digits and an idea"):
        new(book.root, slug)


def test_a_number_is_given_once(book):
    book.page("# Idea\n")
    with pytest.raises(PressError, match="number 03 belongs to 03_idea"):
        new(book.root, "03_other")
