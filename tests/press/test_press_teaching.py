"""The page for teachers: its list of exercises comes from the package, and what it tells to type exists."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mha_teach import exercises
from mha_teach.cli import _parser
from mha_teach.press import classroom_figures, pages, teaching

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
        assert (level, minutes) == (str(exercise.difficulty), str(exercise.minutes))
        assert marks == (str(exercise.marks) if exercise.points else "–")
        assert own == ("yes" if exercise.vary else "")


def test_the_list_follows_the_package(monkeypatch):
    first, *others = exercises.all()
    changed = replace(first, title="A < B", marks=17, minutes=97)
    monkeypatch.setattr(teaching, "every_exercise", lambda: [changed, *others])
    html = teaching.exercise_list(ROOT)
    assert rows(html)[first.id][3:5] == ["97", "17"]
    assert "A &lt; B" in html
    marks = sum(exercise.marks for exercise in others if exercise.points) + 17
    assert f"worth {marks} marks in all" in html


def test_the_page_holds_the_places_that_are_filled_and_no_copy():
    assert {found[1] for found in pages.LISTED.finditer(PAGE)} == {"exercises", "classroom"}
    for exercise in exercises.all():
        assert f"| {exercise.title}" not in PAGE
        assert exercise.title not in pages.LISTED.search(PAGE)[0]


RECORDED = {
    "class": {
        "students": 211,
        "answers": 1055,
        "jobs": 2,
        "seconds": 90.0,
        "seconds_each": 0.43,
        "peak_mib": {"all": 1536},
    },
    "diagnosis": {"mutants": 1301, "kinds": 307, "seeds": 5, "named": 0.977, "least": 0.961, "misjudged": []},
    "tools": {
        "assignment": "04_masking",
        "submissions": 29,
        "jobs": 2,
        "exercises": 5,
        "points": 23,
        "rows": {
            "mha grade": {"seconds_each": 0.41, "ratio": 1.0, "differ": 0, "version": "0.1.0"},
            "nbgrader": {"seconds_each": 3.37, "ratio": 8.2, "differ": 0, "version": "0.9.6"},
            "otter": None,
        },
    },
    "hardware": "a <fast> machine, 2 cores",
    "bubblewrap": True,
    "date": "2026-01-31",
    "versions": {"python": "3.11.7", "torch": "2.13.0"},
}


def figures(root: Path, record: dict) -> str:
    """The generated part for a record, without its tags."""
    path = root / classroom_figures.RECORD
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")
    return " ".join(re.sub(r"<[^>]+>", " ", classroom_figures.classroom_figures(root)).split())


def test_the_measured_figures_come_from_the_record_with_the_machine(tmp_path):
    said = figures(tmp_path, RECORDED)
    assert "The same 29 submissions of 04_masking , 2 at a time" in said
    assert "mha grade 0.1.0 0.41 s 1.0 none nbgrader 0.9.6 3.37 s 8.2 none" in said
    assert "otter" not in said
    assert "A class of 211 with 1,055 answers" in said and "took 1.5 minutes" in said and "1.5 GiB" in said
    assert "Of 1,301 wrong answers of 307 kinds, graded under 5 seeds, the feedback named 97.7 %" in said
    assert "96.1 %" in said and "None was taken for right" in said
    assert (
        "a &lt;fast&gt; machine, 2 cores; python 3.11.7, torch 2.13.0; behind bubblewrap; 2026-01-31" in said
    )


def test_a_record_that_is_worse_is_told_as_it_is(tmp_path):
    rows = {**RECORDED["tools"]["rows"], "otter": {**RECORDED["tools"]["rows"]["nbgrader"], "differ": 3}}
    worse = {
        **RECORDED,
        "tools": {**RECORDED["tools"], "rows": rows},
        "diagnosis": {**RECORDED["diagnosis"], "misjudged": ["s1 00-attend: x was judged right"]},
        "bubblewrap": False,
    }
    said = figures(tmp_path, worse)
    assert "8.2 3" in said and "1 answers were judged otherwise" in said and "without bubblewrap" in said


def test_without_a_record_the_page_keeps_its_own_words(tmp_path):
    assert classroom_figures.classroom_figures(tmp_path) == ""
    assert "A class of" not in figures(
        tmp_path, {k: v for k, v in RECORDED.items() if k not in ("class", "tools")}
    )


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
