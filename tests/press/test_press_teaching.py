"""The page for teachers: its list of exercises comes from the package, and what it tells to type exists."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mha_teach import exercises
from mha_teach.cli import _parser
from mha_teach.press import pages, teaching

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]+")


class _Rows(HTMLParser):
    """The texts of a table's body, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open = 0

    def handle_starttag(self, tag: str, attrs: list) -> None:
        """A row, or a cell of it, begins."""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.open += 1

    def handle_endtag(self, tag: str) -> None:
        """A cell ends."""
        self.open -= tag in ("td", "th")

    def handle_data(self, data: str) -> None:
        """Words, which count inside cells."""
        if self.open:
            self.rows[-1][-1] += data


def rows(html: str) -> dict[str, list[str]]:
    """The exercises' rows by id."""
    parser = _Rows()
    parser.feed(html)
    found = [row for row in parser.rows if row[0] != "exercise"]
    return {re.search(r"\d\d-[\w-]+$", row[0])[0]: row for row in found}


def test_every_exercise_is_listed_as_the_package_has_it():
    listed = rows(teaching.exercise_list(ROOT))
    assert list(listed) == [exercise.id for exercise in exercises.all()]
    for exercise in exercises.all():
        title, kind, level, minutes, marks, own = listed[exercise.id]
        assert title == exercise.title + exercise.id
        assert kind == {"break": "break and mend"}.get(exercise.kind, exercise.kind)
        assert (level, minutes) == (f"{exercise.difficulty} of 3", str(exercise.minutes))
        assert marks == (str(exercise.marks) if exercise.points else "–")
        assert own == ("yes" if exercise.vary else "")


def test_the_list_follows_the_package(monkeypatch):
    first, *others = exercises.all()
    changed = replace(first, title="A < B", marks=17, minutes=97)
    monkeypatch.setattr(exercises, "all", lambda: [changed, *others])
    html = teaching.exercise_list(ROOT)
    assert rows(html)[first.id][3:5] == ["97", "17"]
    assert "A &lt; B" in html
    marks = sum(exercise.marks for exercise in others if exercise.points) + 17
    assert f"worth {marks} marks in all" in html


def test_the_page_holds_the_places_that_are_filled_and_no_copy():
    assert {found[1] for found in pages.LISTED.finditer(PAGE)} >= {"exercises"}
    for exercise in exercises.all():
        assert f"| {exercise.title}" not in PAGE
        assert exercise.title not in pages.LISTED.search(PAGE)[0]


def commands(page: str) -> Iterator[str]:
    """Every line that a teacher is told to type, and every command that the text names."""
    for block in FENCE.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            yield line.partition(" #")[0].strip()
    for code in CODE.findall(FENCE.sub("", page)):
        if re.match(r"mha [a-z]+ ", code):
            yield code


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    [choices] = [action.choices for action in parser._actions if action.choices]
    return choices


def verbs() -> dict[str, set[str]]:
    """The command's verbs with their options."""
    return {
        name: {option for action in parser._actions for option in action.option_strings}
        for name, parser in _verbs(_parser()).items()
    }


def refused(line: str) -> str:
    """Why a line can't be typed as it stands, as far as this repository knows; empty if it can."""
    words = shlex.split(line)
    if words[:1] == ["make"]:
        known = (ROOT / "Makefile").read_text(encoding="utf-8").split(".PHONY:")[1].split()
        return "" if words[1] in known else f"make has no {words[1]}"
    if words[:1] != ["mha"]:
        return ""
    parser = _parser()
    for verb in _verbs(parser).values():
        verb.allow_abbrev = False
    try:
        parser.parse_args(words[1:])
    except SystemExit as stopped:
        return f"mha stops with {stopped.code}"
    return ""


@pytest.mark.parametrize("line", sorted(set(commands(PAGE))))
def test_a_command_of_the_page_can_be_typed(line):
    assert refused(line) == ""


def test_an_option_that_the_text_names_exists():
    known = set().union(*verbs().values(), *OTHERS.values())
    for code in CODE.findall(FENCE.sub("", PAGE)):
        for option in OPTION.findall(code):
            assert option in known, code
        if found := re.fullmatch(r"mha ([a-z]+)", code):
            assert found[1] in verbs(), code


# Options of other programs that the page names.
OTHERS: dict[str, set[str]] = {}


@pytest.mark.parametrize(
    "line", ["mha grade", "mha grade handed-in --job 2", "mha mark handed-in", "make gradebook"]
)
def test_a_command_that_is_gone_is_noticed(line, capsys):
    assert refused(line) != ""
