from __future__ import annotations

import sys
from types import ModuleType

import pytest

from mha_teach import cli
from mha_teach.press import build as building
from mha_teach.press.problems import PressError
from mha_teach.press.project import find_root, resolve


def run(book, *words):
    return cli.main(["--root", str(book.root), *words])


@pytest.mark.parametrize("word", ["03_idea", "idea", "03", "3", "book/03_idea.md", "notebooks/03_idea.ipynb"])
def test_a_chapter_answers_to_many_names(book, word):
    book.page("# Idea\n")
    assert resolve(book.root, [word]) == ["03_idea"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("03_idae", "no chapter 03_idae: did you mean 03_idea?"),
        ("idee", "no chapter idee: did you mean 03_idea?"),
        ("99", "no chapter 99: chapters are 03_idea"),
    ],
)
def test_an_unknown_chapter_names_the_nearest(book, capsys, word, said):
    book.page("# Idea\n")
    assert run(book, "build", word) == 2
    assert capsys.readouterr().err == f"mha: {said}\n"


def test_outside_a_book_it_says_so(tmp_path, capsys):
    assert cli.main(["--root", str(tmp_path), "build"]) == 2
    assert "no _config.yml with a book/ beside it" in capsys.readouterr().err


def test_the_root_is_found_from_below(book):
    assert find_root(book.root / "notebooks") == book.root.resolve()


def test_check_prints_findings_and_fails(book, capsys):
    book.page("# Idea\n")
    assert run(book, "check", "3") == 1
    told = capsys.readouterr()
    assert "notebooks/03_idea.ipynb:1: no such notebook: run `mha build 03_idea`" in told.out.splitlines()
    assert told.err.endswith("findings\n")


def test_check_of_an_empty_book_passes(book, capsys):
    assert run(book, "check") == 0
    assert capsys.readouterr().err == "0 chapters: no findings\n"


def test_new_says_what_is_left_to_do(book, capsys):
    assert run(book, "new", "07_more") == 0
    assert "add `- file: notebooks/07_more` to _toc.yml" in capsys.readouterr().out
    assert run(book, "new", "07_more") == 2


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (PressError("one\nline"), 2, "mha: one line\n"),
        (OSError(28, "No space left on device"), 2, "mha: [Errno 28] No space left on device\n"),
        (RuntimeError("ports 8000 to 8019 are all in use"), 2, "mha: ports 8000 to 8019 are all in use\n"),
        (
            ModuleNotFoundError("x", name="jupytext"),
            2,
            "mha: the Python package jupytext is missing: run `make book`",
        ),
        (KeyboardInterrupt(), 130, "mha: stopped; what was finished is kept"),
    ],
)
def test_every_mistake_is_one_line(book, monkeypatch, capsys, error, status, said):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(building, "build", fail)
    assert run(book, "build") == status
    assert capsys.readouterr().err.startswith(said)


def test_a_mistake_of_our_own_is_not_hidden(book, monkeypatch):
    def fail(*_, **__):
        raise TypeError("ours")

    monkeypatch.setattr(building, "build", fail)
    with pytest.raises(TypeError):
        run(book, "build")


@pytest.mark.parametrize(
    ("words", "module", "function", "wanted"),
    [
        (["site"], "site", "build_site", ()),
        (["serve", "--port", "8123"], "site", "serve", (8123,)),
        (["offline"], "offline", "make_offline", ()),
    ],
)
def test_the_site_verbs_hand_over(book, monkeypatch, words, module, function, wanted):
    calls = []
    fake = ModuleType(module)
    setattr(fake, function, lambda *arguments: calls.append(arguments))
    monkeypatch.setitem(sys.modules, f"mha_teach.press.{module}", fake)
    assert run(book, *words) == 0
    assert calls == [(book.root.resolve(), *wanted)]


@pytest.mark.parametrize("words", [[], ["fly"], ["serve", "--port", "x"]])
def test_bad_usage_exits_with_two(book, words):
    with pytest.raises(SystemExit) as stop:
        run(book, *words)
    assert stop.value.code == 2
