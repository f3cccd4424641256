"""The teacher's page: charts that say what the tables say, to eyes and to screen readers, without a script."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from test_gradebook import made

from mha_teach.grading.chart import Bar, chart
from mha_teach.grading.gradebook import Attempt
from mha_teach.grading.judging import ExerciseGrade, PointGrade
from mha_teach.grading.marks import students
from mha_teach.grading.overview import SHOWN, write_overview
from mha_teach.grading.reading import note


class Seen(HTMLParser):
    """Elements with their attributes, and the text of each title and description."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.texts: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        tag, attributes = self.found[-1] if self.found else ("", {})
        if tag in ("title", "desc") and "id" in attributes and data.strip():
            self.texts.setdefault(attributes["id"], data)


@pytest.fixture
def page(tmp_path) -> str:
    """Eleven answers to one exercise: seven wrong, three right, one out of time; ten carry the same diagnosis."""
    attempts = [made(f"w{n}") for n in range(7)] + [made(f"r{n}", 1.0) for n in range(3)]
    slow = ExerciseGrade("00-mend", "timeout", 0.0, 3.0, (PointGrade("<b>two", "timeout", 2.0),))
    attempts.append(Attempt("slow", "slow", "d", "graded", "", (slow,)))
    write_overview(tmp_path / "o.html", students(attempts), ())
    return (tmp_path / "o.html").read_text()


def test_every_chart_is_named_described_and_beside_its_table(page):
    seen = Seen(page)
    charts = [a for tag, a in seen.found if tag == "svg" and a.get("class") == "chart"]
    assert len(charts) == 3
    for found in charts:
        title, told = found["aria-labelledby"].split()
        assert found["role"] == "img" and seen.texts[title] and seen.texts[told]
    ids = [a["id"] for _, a in seen.found if "id" in a]
    assert len(ids) == len(set(ids)) == 6
    assert seen.texts["exercises-desc"] == "00-mend Two silent faults: 3 right, 7 wrong, 1 out of time"
    assert seen.texts["misconceptions-desc"] == "00-mend: slip: 10"
    assert sum(tag == "table" for tag, _ in seen.found) == 5  # and those of odd things and of the students
    assert "script" not in {tag for tag, _ in seen.found} and "<b>two" not in page


def test_bars_are_as_long_as_their_counts(page):
    first = page[page.index('<svg class="chart"') : page.index("</svg>")]
    widths = {
        k: float(w) for k, w in re.findall(r'class="k-(\w+)" x="[\d.]+%" y="\d+" width="([\d.]+)%"', first)
    }
    assert widths == pytest.approx({"right": 90 * 3 / 11, "wrong": 90 * 7 / 11, "timeout": 90 / 11}, abs=0.01)
    assert re.findall(r'class="in"[^>]*>(\d+)<', first) == ["3", "7", "1"]


def test_the_table_holds_what_the_chart_leaves_away(tmp_path):
    grades = tuple(
        ExerciseGrade("00-mend", "wrong", 0.0, 3.0, (PointGrade(f"point {n}", "failed"),))
        for n in range(SHOWN + 5)
    )
    attempts = [Attempt(f"s{n}", f"s{n}", "d", "graded", "", (grade,)) for n, grade in enumerate(grades)]
    write_overview(tmp_path / "o.html", students(attempts), ())
    page = (tmp_path / "o.html").read_text()
    assert page.count('class="k-count"') == SHOWN and f"The {SHOWN} greatest; the table holds all." in page
    assert all(f"<td>point {n}</td>" in page for n in range(SHOWN + 5))


def test_labels_are_escaped_and_kept_short():
    drawn = chart("c", "<title>", "&", [Bar("<script>" + "x" * 99, (("count", 1),))])
    assert "<script>" not in drawn and "…" in drawn and "&lt;title&gt;" in drawn
    assert chart("c", "t", "", []) == chart("c", "t", "", [Bar("a", (("count", 0),))]) == ""


def test_a_page_follows_dark_and_narrow_windows(page):
    assert "prefers-color-scheme: dark" in page and 'class="table" role="region" tabindex="0"' in page
    assert 'content="width=device-width"' in page


def test_an_answer_that_is_not_in_its_notebook_is_told_and_a_notebook_that_never_came_is_not(tmp_path):
    gone, elsewhere = (
        ExerciseGrade(
            id,
            "not attempted",
            0.0,
            3.0,
            (PointGrade("one", "not attempted"),),
            notes=(note("missing", id=id),),
        )
        for id in ("00-probe", "01-bag")
    )
    (whole,) = made("anna").grades
    there = Attempt("anna", "a", "d", "graded", "", (whole, gone, elsewhere))
    write_overview(tmp_path / "o.html", students([there]), ())
    page = (tmp_path / "o.html").read_text()
    assert "No cell begins with the line # exercise: 00-probe." in page and "exercise: 01-bag" not in page
    untouched = replace(gone, notes=())
    (anna,) = students([there, Attempt("anna", "b", "d", "graded", "", (untouched,))])
    assert anna.grades["00-probe"] == untouched  # the file that has the cell speaks, not the one that hasn't


def test_the_first_lines_say_how_the_class_did_and_who_needs_a_word(tmp_path):
    attempts = [
        made(name, score) for name, score in (("anna", 1.0), ("bo", 1.0), ("<carl>", 0.25), ("dora", 0.5))
    ]
    attempts.append(Attempt("zoe", "zoe.ipynb", "d", "unreadable", "", (), (note("empty"),)))
    write_overview(tmp_path / "o.html", students(attempts), ())
    page = (tmp_path / "o.html").read_text()
    assert (
        "the mean is 2.06 and the median 2.25 marks. 1 of them has less than half of the marks: &lt;carl&gt;."
        in page
    )
    assert "<td>anna, bo, &lt;carl&gt;, dora</td>" in page  # whose misconception it is
    assert page.index("The file is empty.") < page.index("It is large.")
    write_overview(tmp_path / "o.html", students(attempts[:1]), ())
    assert "0 of them have less than half of the marks." in (tmp_path / "o.html").read_text()
    write_overview(tmp_path / "o.html", students(attempts[4:]), ())
    assert "the mean is" not in (tmp_path / "o.html").read_text()


def test_statuses_in_the_list_of_students_have_the_colours_of_the_chart(page):
    for kind, status in (("right", "right"), ("wrong", "wrong"), ("timeout", "timeout")):
        assert f'<td><span class="s-{kind}">{status}</span></td>' in page and f".s-{kind} {{" in page


def test_a_misconception_is_one_row_whatever_numbers_its_words_hold(tmp_path):
    (grade,) = made("anna").grades
    attempts = [
        Attempt(f"s{n}", f"s{n}", "d", "graded", "", (replace(grade, words=f"It begins {n} later."),))
        for n in (60, 220, 220)
    ]
    attempts[2] = replace(attempts[2], student="s3")
    write_overview(tmp_path / "o.html", students(attempts), ())
    page = (tmp_path / "o.html").read_text()
    row = '<td>slip</td><td>for example: It begins 220 later.</td><td class="number">3</td><td>s60, s220, s3</td>'
    assert row in page and "It begins 60" not in page
