"""The cells of an assignment: whole, in order, the same every time, and running from top to bottom."""

from __future__ import annotations

import ast
import builtins
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import nbformat
import pytest

from mha_teach import exercises
from mha_teach.exercises import Exercise, Verdict
from mha_teach.release import ReleaseError, setup
from mha_teach.release.assignment import (
    Assignment,
    assignments,
    check_source,
    hint_text,
    pieces,
    prompt_cell,
    stub_source,
    student_notebook,
    text_of,
    with_id,
)
from mha_teach.release.packing import WHEEL
from mha_teach.release.solutions import WARNING, solution_notebook, why_text

BOOK = Path(__file__).parents[2] / "book"
ALL = assignments()
EACH = pytest.mark.parametrize("assignment", ALL, ids=lambda one: one.slug)
INSTALL = re.compile(r"^    %pip install -q (.*)$", re.MULTILINE)


def tiny(**more: object) -> Exercise:
    about = {
        "id": "07-tiny",
        "title": "Tiny",
        "prompt": " Do it. ",
        "stub": "a = ...\n",
        "solution": "a = 1\n",
    }
    return Exercise(**{**about, **more})


def test_every_exercise_stands_in_one_assignment_under_its_chapters_title():
    assert [e.id for one in ALL for e in one.exercises] == [e.id for e in exercises.all()]
    for one in ALL:
        assert {e.id[:2] for e in one.exercises} == {one.number}
        page = (BOOK / f"{one.slug}.md").read_text(encoding="utf-8")
        assert f"# {one.title}" in page.splitlines()


@EACH
def test_notebooks_are_valid_and_written_as_notebook_tools_write_them(assignment):
    for made in (student_notebook(assignment), solution_notebook(assignment)):
        nbformat.validate(made)
        assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
        assert text_of(made) == nbformat.writes(nbformat.from_dict(made)) + "\n"
        ids = [cell["id"] for cell in made["cells"]]
        assert len(ids) == len(set(ids))
    assert text_of(student_notebook(assignment)) == text_of(
        student_notebook(assignments([assignment.number])[0])
    )


@EACH
def test_cells_come_in_order_with_ids_that_a_tag_leaves_as_they_are(assignment):
    found = pieces(assignment)
    assert [piece.id for piece in pieces(assignment.with_tag(exercises.tag("ada")))] == [p.id for p in found]
    expected = ["title", "setup"]
    for exercise in assignment.exercises:
        expected += ["prompt", "stub", *["check"] * bool(exercise.points), *["hints"] * any(exercise.hints)]
    assert [piece.role for piece in found] == [*expected, "progress"]
    assert f"{assignment.slug}-{assignment.exercises[0].id[3:]}-stub" in {piece.id for piece in found}


@EACH
@pytest.mark.parametrize("own", [False, True])
def test_run_from_top_to_bottom_it_says_not_attempted_everywhere(assignment, own):
    assignment = assignment.with_tag(exercises.tag("ada")) if own else assignment
    said = run(pieces(assignment))
    marked = [exercise.id for exercise in assignment.exercises if exercise.points]
    assert [(one.exercise, one.status) for one in said] == [(id, "not attempted") for id in marked]


def run(cells) -> list[Verdict]:
    """Run the code cells one after the other; the verdicts that check cells end in."""
    space, found = {}, []
    for piece in cells:
        if piece.role == "check":
            found.append(eval(piece.source, space))
        elif piece.kind == "code":
            exec(INSTALL.sub("    pass", piece.source), space)  # noqa: S102
    return found


@EACH
def test_the_solutions_come_out_right_and_say_what_they_are(assignment):
    tagged = assignment.with_tag(exercises.tag("ada"))
    answers = [
        replace(piece, source=with_id(piece.exercise, piece.exercise.solution))
        if piece.role == "stub"
        else piece
        for piece in pieces(tagged)
    ]
    assert {one.status for one in run(answers)} == {"right"}
    made = solution_notebook(tagged, "*Ada* <b>")
    texts = ["".join(cell["source"]) for cell in made["cells"]]
    assert WARNING in texts[0]
    assert "&#42;Ada&#42; &#60;b&#62;" in texts[0]
    for exercise in tagged.exercises:
        assert with_id(exercise, exercise.solution) in texts
        assert why_text(exercise) in texts


def test_marks_and_minutes_add_up_and_open_exercises_give_none():
    one = Assignment("07_tiny", "Tiny", (tiny(marks=3), *ALL[0].exercises))
    scored = [exercise for exercise in one.exercises if exercise.points]
    assert one.marks == sum(exercise.marks for exercise in scored)
    assert "not marked" in prompt_cell(one.exercises[0])
    assert check_source(one.exercises[0]) == ""
    assert "1 mark*" in prompt_cell(next(exercise for exercise in scored if exercise.marks == 1))


def test_an_answer_gets_its_id_line_once():
    exercise = tiny()
    assert stub_source(exercise) == "# exercise: 07-tiny\na = ..."
    assert with_id(exercise, stub_source(exercise)) == stub_source(exercise)


def test_hints_open_one_inside_the_other():
    text = hint_text(tiny(hints=("one", "two", " ")))
    assert re.sub(r"\s+", " ", text) == (
        "<details> <summary>Hint 1</summary> one <details> <summary>Hint 2</summary> two </details> </details>"
    )
    assert hint_text(tiny()) == ""


@pytest.mark.parametrize("word", ["03", "3", "reshaping", "03_reshaping", "03_reshaping.md", " 03 "])
def test_a_chapter_is_found_by_any_of_its_names(word):
    assert [one.slug for one in assignments([word])] == ["03_reshaping"]


def test_chapters_come_once_and_in_order():
    assert [one.number for one in assignments(["4", "03", "masking"])] == ["03", "04"]


@pytest.mark.parametrize("word", ["9", "", "reshap", "²"])
def test_an_unknown_chapter_is_told_with_those_that_exist(word):
    with pytest.raises(ReleaseError, match=r"no chapter .* choose from 00_attention, .*06_specialisation"):
        assignments([word])


def test_a_chapter_that_nobody_has_named_is_called_by_its_idea(monkeypatch):
    monkeypatch.setattr("mha_teach.release.assignment.TITLES", {})
    assert assignments(["6"])[0].title == "Specialisation"


# The setup cell, with a stand-in for Colab and for pip.


def set_up(code: str, present: bool, uploads: tuple[str, ...] = ()) -> list[str]:
    """Run the cell where the package is ``present`` or not; returns what pip was asked for."""
    installed, seeded = [], []

    def load(name, *rest):
        if name.startswith("mha_teach"):
            if not (present or installed):
                raise ImportError(name)
            return SimpleNamespace(check=1, progress=1, devices=SimpleNamespace(reproducible=seeded.append))
        if name == "google.colab":
            return SimpleNamespace(files=SimpleNamespace(upload=lambda: dict.fromkeys(uploads)))
        return builtins.__import__(name, *rest)

    code, count = INSTALL.subn(r"    pip(f'''\1''')", code)
    assert count == 1
    space = {"__builtins__": {**vars(builtins), "__import__": load}, "pip": installed.append}
    exec(code, space)  # noqa: S102 - the cell is the thing under test
    assert seeded == [0]
    return installed


@pytest.fixture
def colab(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


SETUP = setup.source(["import torch\n"])


def test_where_the_package_is_there_nothing_is_installed(colab):
    assert set_up(SETUP, present=True) == []


@pytest.mark.parametrize("place", [".", ".."])
def test_a_wheel_beside_the_notebook_or_above_it_is_installed_with_what_it_needs(place):
    Path(place, WHEEL).touch()
    assert [line.split() for line in set_up(SETUP, present=False)] == [
        [f'"{WHEEL}"' if place == "." else f'"../{WHEEL}"']
    ]


def test_colab_asks_for_the_wheel_and_keeps_its_own_packages(colab, capsys):
    assert set_up(SETUP, False, ("notes.txt", WHEEL)) == [f'--no-deps "{WHEEL}"']
    assert WHEEL in capsys.readouterr().out


def test_colab_takes_the_published_package_where_there_is_one(colab):
    published = setup.source([], "mha_teach @ git+https://example.org/o/r@main")
    assert set_up(published, False) == ['--no-deps "mha_teach @ git+https://example.org/o/r@main"']


@pytest.mark.parametrize("inside", [False, True])
def test_without_a_wheel_one_line_says_what_to_do(inside, request):
    if inside:
        request.getfixturevalue("colab")
    with pytest.raises(ImportError, match=f"put {re.escape(WHEEL)} beside this notebook"):
        set_up(SETUP, present=False)


def test_what_several_exercises_import_stands_there_once():
    code = setup.source(["import torch\n", "import torch\nfrom math import (\n    pi,\n)\n", "import  torch"])
    assert code.endswith("\n\nimport torch\nfrom math import (\n    pi,\n)")
    ast.parse(INSTALL.sub("    pass", code))
    assert json.dumps(code)
