"""``mha grade --roster``: who handed in nothing, who is unknown, whose numbers."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import pytest
from submitting import LIMITS, RIGHT, notebook
from test_gradebook import Quick, made

from mha_teach import exercises
from mha_teach.cli import main
from mha_teach.grading import batch, command
from mha_teach.grading.batch import Plan, grade_data
from mha_teach.grading.feedback import file_name
from mha_teach.grading.marks import students, write_canvas
from mha_teach.grading.members import Known, known, of_class
from mha_teach.grading.reading import Note
from mha_teach.grading.sandbox import bubblewrap
from mha_teach.grading.whose import tags_of
from mha_teach.release.roster import parse_roster

ROSTER = (
    "id,name,SIS Login ID\na1,Anna Arendt,anna\nb2,Berta Brecht,berta\nc3,Carl Corax,carl\nd4,Carl Corax,cc\n"
)


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """A class of four of which two handed in, with two files under different names, and a stranger."""
    (tmp_path / "class" / "Anna Arendt").mkdir(parents=True)
    for name in ("anna.ipynb", "Anna Arendt/x.ipynb", "brechtberta_LATE_77_99_00.ipynb", "zeno.ipynb"):
        (tmp_path / "class" / name).write_bytes(name.encode())
    (tmp_path / "roster.csv").write_text(ROSTER)

    def grade_entry(entry, digest, plan, seed, sandbox):
        return made(entry.student, 1.0 if "/" in entry.name else 0.5, entry.name, digest)

    monkeypatch.setattr(batch, "grade_entry", grade_entry)
    monkeypatch.setattr(batch, "Sandbox", Quick)
    monkeypatch.setattr(command, "bubblewrap", lambda: True)
    run = ["grade", str(tmp_path / "class"), "--jobs", "1", "--out", str(tmp_path / "out")]
    assert main([*run, "--roster", str(tmp_path / "roster.csv")]) == 0
    return run, tmp_path / "out"


def test_tables_hold_the_whole_class_and_name_who_is_unknown(graded):
    _, out = graded
    plain = list(csv.reader((out / "grades.csv").open(newline="")))
    assert [row[:5] for row in plain] == [
        ["student", "id", "status", "total", "of"],
        ["Anna Arendt (a1)", "a1", "graded", "3", "3"],
        ["Berta Brecht (b2)", "b2", "graded", "1.5", "3"],
        ["Carl Corax (c3)", "c3", "not handed in", "", "3"],
        ["Carl Corax (d4)", "d4", "not handed in", "", "3"],
        ["zeno", "", "graded", "1.5", "3"],
    ]
    canvas = {row[0]: (row[3], row[5]) for row in csv.reader((out / "canvas.csv").open(newline=""))}
    assert canvas["Anna Arendt (a1)"] == ("anna", "3") and canvas["Carl Corax (d4)"] == ("cc", "")
    text = " ".join(re.sub(r"<[^>]+>", " ", (out / "overview.html").read_text()).split())
    assert "5 students, 3 graded, 2 not handed in" in text
    assert "The roster does not know zeno." in text and "2 files of this student hold this exercise" in text
    pages = {path.name for path in (out / "feedback").iterdir()}
    assert pages == {file_name(name) for name in ("Anna Arendt (a1)", "Berta Brecht (b2)", "zeno")}
    assert file_name("Carl Corax (c3)") not in (out / "overview.html").read_text()


def test_the_gradebook_remembers_the_roster(graded):
    run, out = graded
    before = (out / "grades.csv").read_text()
    assert main(run) == 0
    assert (out / "grades.csv").read_text() == before


def test_a_roster_that_can_not_be_read_is_one_line(tmp_path, capsys):
    (tmp_path / "roster.csv").write_text("mail\nx\n")
    assert main(["grade", str(tmp_path), "--roster", str(tmp_path / "roster.csv")]) == 2
    assert "mha: roster.csv, line 1: no column id, SIS Login ID or student" in capsys.readouterr().err


@pytest.mark.parametrize("sandbox", ["wrapped" if bubblewrap() else "limited"], indirect=True)
def test_another_students_numbers_are_named(sandbox):
    roster = known(parse_roster(ROSTER.encode()))
    assert roster[0] == Known("a1", "Anna Arendt", "anna", "a1", exercises.tag("a1"))
    data = notebook({f"00-mend@{roster[1].tag}": RIGHT["00-mend"]})
    told = {"student": "anna", "file": "anna.ipynb", "digest": "d", "canvas": ""}
    found = grade_data(told, data, Plan(limits=LIMITS, roster=roster), 31, sandbox)
    grade = next(g for g in found.grades if g.exercise == "00-mend")
    said = " ".join(n.words for n in (*found.notes, *grade.notes))
    assert "carry the tag of Berta Brecht, not that of anna" in said and grade.status == "right"


def test_a_class_without_tags_misses_none_and_one_student_does():
    def handed_in(student, *kinds):
        return replace(made(student, 1.0, student, student), notes=tuple(Note(kind, kind) for kind in kinds))

    def told(*attempts):
        return {one.name: [n.kind for a in one.attempts for n in a.notes] for one in students(list(attempts))}

    a, b, c = handed_in("a", "no tags", "large"), handed_in("b", "no tags"), handed_in("c")
    other = handed_in("o", "another assignment")
    assert told(a, b, other) == {"a": ["large"], "b": [], "o": ["another assignment"]}
    assert told(a, b, c) == {"a": ["no tags", "large"], "b": ["no tags"], "c": []}


NAMESAKES = [
    replace(made("smithjohn", 1.0, "smithjohn_111_1_a.ipynb"), canvas="111"),
    replace(made("smithjohn", 0.5, "smithjohn_LATE_222_2_a.ipynb"), canvas="222"),
]


def test_two_people_of_one_name_in_canvas_stay_two():
    assert [(one.name, one.canvas, one.total) for one in students(NAMESAKES)] == [
        ("smithjohn (111)", "111", 3.0),
        ("smithjohn (222)", "222", 1.5),
    ]
    assert [one.name for one in students(NAMESAKES[:1] * 2)] == ["smithjohn"]
    roster = known(
        parse_roster(b'Student,ID,Section\n"Smith, John",111,a\n"Smith, John",222,b\n"Yu, Bo",333,b\n')
    )
    found = [(one.name, one.canvas, one.id, one.login, one.total) for one in of_class(NAMESAKES, roster)]
    assert found == [
        ("Smith, John (111)", "111", "111", "", 3.0),
        ("Smith, John (222)", "222", "222", "", 1.5),
        ("Yu, Bo (333)", "333", "333", "", 0),
    ]
    assert tags_of("smithjohn", roster, "222").own == roster[1].tag and not tags_of("smithjohn", roster).own


def test_canvas_number_goes_into_the_column_that_canvas_reads_it_from(tmp_path):
    roster = known(parse_roster(b'Student,ID,Section\n"Yu, Bo",333,b\n'))
    write_canvas(tmp_path / "c.csv", of_class([], roster), "Attention")
    row = list(csv.reader((tmp_path / "c.csv").open(newline="")))[2]
    assert row == ["Yu, Bo (333)", "333", "", "", "", ""]


def test_what_canvas_calls_late_is_told_and_graded():
    for one, kinds in zip(students(NAMESAKES), ([], ["late"]), strict=True):
        assert [note.kind for note in one.notes] == kinds and one.status == "graded"
    mine = replace(NAMESAKES[0], canvas="", file="a_LATE_b.ipynb")  # not a name of Canvas's
    assert students([mine])[0].notes == []
