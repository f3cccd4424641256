"""An assignment for nbgrader: ``source/<slug>/<slug>.ipynb`` and ``nbgrader_config.py`` in the course's folder.

``nbgrader generate_assignment``, ``autograde`` and ``generate_feedback`` run there. Every test point is one locked
cell whose test is hidden from students; their feedback is the ``check`` cell. Nothing here imports nbgrader.
"""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path

from mha_teach.exercises import Exercise
from mha_teach.release import ReleaseError
from mha_teach.release.assignment import (
    Assignment,
    Piece,
    cell,
    cell_id,
    notebook,
    pieces,
    stub_source,
    text_of,
)
from mha_teach.release.packing import WHEEL
from mha_teach.release.points import marks_of_points

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
_HIDE, _SHOW = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"

_CONFIG = f"""\
c = get_config()  # noqa: F821  (nbgrader defines it)

c.CourseDirectory.course_id = "attention"
# The stub stands above the solution in its cell; taking the solution away leaves the stub and nothing else.
c.ClearSolutions.code_stub = {{"python": ""}}
c.ClearSolutions.begin_solution_delimeter = "{BEGIN[4:]}"
c.ClearSolutions.end_solution_delimeter = "{END[4:]}"
# Seconds for one cell. A check stops by itself after a few; this is for a loop outside of functions.
c.ExecutePreprocessor.timeout = 30
c.ExecutePreprocessor.interrupt_on_timeout = True
"""

_README = f"""\
A course for nbgrader
=====================

Install {WHEEL} where notebooks are graded and where students work: the tests call the package.
Then, in this folder, for each assignment, here 03_reshaping:

  nbgrader generate_assignment 03_reshaping     makes release/03_reshaping/, which students get
  nbgrader autograde 03_reshaping               grades submitted/STUDENT/03_reshaping/03_reshaping.ipynb
  nbgrader generate_feedback 03_reshaping
  nbgrader export                               writes grades.csv

source/ holds the solutions and the tests: don't hand it out. The open exercises carry no score.
The tests run in the student's own process. A student who means to can change what they say; mha grade keeps its judge
outside, and grades the same notebooks.
"""


def write(assignment: Assignment, folder: Path, seed: int | None = None) -> Path:
    """Write the assignment into the course ``folder``; returns the notebook's path.

    ``seed`` draws the inputs of the hidden tests; without one, a number that nobody can guess, which stands in them.
    """
    seed = secrets.randbelow(2**31 - 1) + 1 if seed is None else seed
    path = folder / "source" / assignment.slug / f"{assignment.slug}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    _text(path, text_of(source_notebook(assignment, seed)))
    _text(folder / "nbgrader_config.py", _CONFIG)
    _text(folder / "README.txt", _README)
    return path


def source_notebook(assignment: Assignment, seed: int) -> dict:
    """The notebook with solutions and hidden tests, from which nbgrader makes the students' version."""
    cells = []
    for piece in pieces(assignment):
        if piece.role == "stub" and piece.exercise.points:
            both = Piece("code", "stub", with_solution(piece.exercise, BEGIN, END), piece.id, piece.exercise)
            cells.append(cell(both, nbgrader=_about(piece.id, solution=True)))
        elif piece.role in ("setup", "check"):
            cells.append(cell(piece, nbgrader=_about(piece.id, locked=True)))
        else:
            cells.append(cell(piece))
        if piece.role == "check":
            cells += _tests(assignment, piece.exercise, seed)
    return notebook(cells)


def grade_ids(assignment: Assignment, exercise: Exercise) -> dict[str, str]:
    """Point → the id under which nbgrader's gradebook holds it: the same in every release and for every student."""
    stem = cell_id(assignment, exercise, "test")
    found = {name: f"{stem}-{slug(name)}" for name in marks_of_points(exercise)}
    if len(set(found.values())) < len(found):
        raise ReleaseError(f"{exercise.id}: two points have the same id for nbgrader; give one another name")
    return found


def slug(text: str) -> str:
    """Letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def with_solution(exercise: Exercise, begin: str, end: str) -> str:
    """The stub, and below it the solution between two marks that the tool takes away with what is between them."""
    return f"{stub_source(exercise)}\n{begin}\n{exercise.solution.strip()}\n{end}"


def require_line(exercise: Exercise, point: str, where: str, seed: int) -> str:
    """The line of code that tests one point."""
    return f"require({json.dumps(exercise.id)}, {json.dumps(point)}, {where}, seed={seed})"


def _tests(assignment: Assignment, exercise: Exercise, seed: int) -> list[dict]:
    made, ids = [], grade_ids(assignment, exercise)
    for name, marks in marks_of_points(exercise).items():
        lines = [
            f"# {exercise.id}: {name} ({marks:.3g} of {exercise.marks}); leave this cell as it is",
            _HIDE,
            "from mha_teach.release.points import require",
            "",
            require_line(exercise, name, "globals()", seed),
            _SHOW,
        ]
        piece = Piece("code", "check", "\n".join(lines), ids[name][:64], exercise)
        made.append(cell(piece, nbgrader=_about(ids[name], locked=True, grade=True, points=marks)))
    return made


def _about(
    id: str, *, grade: bool = False, locked: bool = False, solution: bool = False, **more: float
) -> dict:
    """What nbgrader keeps about a cell, in the third version of its schema."""
    kinds = {"grade": grade, "locked": locked, "solution": solution, "task": False}
    return {"schema_version": 3, "grade_id": id, **kinds, **more}


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
