"""An assignment for otter: ``<slug>.ipynb``, the source of ``otter assign``, with exception-based tests.

``otter assign 03_reshaping.ipynb dist`` makes the students' notebook, which needs no otter (their feedback is the
``check`` cell), and the autograder's zip for ``otter run``. Nothing here imports otter.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from mha_teach.exercises import Exercise
from mha_teach.release.assignment import Assignment, Piece, cell, cell_id, notebook, pieces, text_of
from mha_teach.release.nbgrader import require_line, slug, with_solution
from mha_teach.release.packing import WHEEL
from mha_teach.release.points import marks_of_points

BEGIN, END = "# BEGIN SOLUTION NO PROMPT", "# END SOLUTION"

# No cell of the students' notebook imports otter: neither to begin, nor to check, nor to hand in.
_CONFIG = """\
# ASSIGNMENT CONFIG
init_cell: false
check_all_cell: false
export_cell: false
tests:
  ok_format: false
generate:
  pdf: false
  show_hidden: false"""
# Where notebooks are graded in otter's container, the package comes from the zip; elsewhere it is installed already.
_CONTAINER = """
autograder_files:
  - {wheel}
requirements:
  - /autograder/source/files/{wheel}"""

_README = f"""\
Assignments for otter
=====================

Install {WHEEL} where notebooks are graded and where students work: the tests call the package.
Then, in this folder, for each assignment, here 03_reshaping:

  otter assign 03_reshaping.ipynb dist/03_reshaping
      makes dist/03_reshaping/student/03_reshaping.ipynb, which students get,
      and dist/03_reshaping/autograder/ with the autograder's zip
  otter run -a dist/03_reshaping/autograder/*.zip SUBMISSION.ipynb
      grades one notebook here, downloads nothing, and writes results.json

The notebooks in this folder hold the solutions and the tests: don't hand them out. The open exercises carry no score.
The tests run in the student's own process. A student who means to can change what they say; mha grade keeps its judge
outside, and grades the same notebooks.
"""


def write(assignment: Assignment, folder: Path, seed: int | None = None) -> Path:
    """Write the assignment's source into ``folder``; returns its path.

    ``seed`` draws the inputs of the hidden tests; without one, a number that nobody can guess, which stands in them.
    """
    seed = secrets.randbelow(2**31 - 1) + 1 if seed is None else seed
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{assignment.slug}.ipynb"
    wheel = WHEEL if (folder / WHEEL).exists() else ""
    path.write_text(text_of(source_notebook(assignment, seed, wheel)), encoding="utf-8", newline="\n")
    (folder / "README.txt").write_text(_README, encoding="utf-8", newline="\n")
    return path


def source_notebook(assignment: Assignment, seed: int, wheel: str = "") -> dict:
    """What ``otter assign`` reads. ``wheel`` names the package's wheel where it lies beside the notebook."""
    config = _CONFIG + (_CONTAINER.format(wheel=wheel) if wheel else "")
    cells = [_raw(f"{assignment.slug}-config", config)]
    for piece in pieces(assignment):
        exercise = piece.exercise
        if exercise is None or not exercise.points or piece.role == "hints":
            cells.append(cell(piece))
            continue
        stem = cell_id(assignment, exercise, "otter")
        if piece.role == "prompt":
            about = f"# BEGIN QUESTION\nname: {json.dumps(question(exercise))}\ncheck_cell: false"
            cells += [_raw(f"{stem}-begin", about), cell(piece)]
        elif piece.role == "stub":
            both = Piece("code", "stub", with_solution(exercise, BEGIN, END), piece.id, exercise)
            cells += [
                _raw(f"{stem}-answer", "# BEGIN SOLUTION"),
                cell(both),
                _raw(f"{stem}-answered", "# END SOLUTION"),
            ]
        else:  # the check: otter runs the tests behind the last cell of the question
            cells += [cell(piece), _raw(f"{stem}-tests", "# BEGIN TESTS")]
            cells += _tests(stem, exercise, seed)
            cells += [_raw(f"{stem}-tested", "# END TESTS"), _raw(f"{stem}-end", "# END QUESTION")]
    return notebook(cells)


def question(exercise: Exercise) -> str:
    """The name under which otter's results hold an exercise: its id, without a tag."""
    return exercise.base


def _tests(stem: str, exercise: Exercise, seed: int) -> list[dict]:
    made = []
    for name, marks in marks_of_points(exercise).items():
        lines = [
            f'""" # BEGIN TEST CONFIG\npoints: {marks!r}\nhidden: true\n""" # END TEST CONFIG',
            f"def test_{slug(name).replace('-', '_')}(env):",
            "    from mha_teach.release.points import require",
            "",
            f"    {require_line(exercise, name, 'env', seed)}",
        ]
        made.append(cell(Piece("code", "check", "\n".join(lines), f"{stem}-{slug(name)}"[:64], exercise)))
    return made


def _raw(id: str, source: str) -> dict:
    return {"cell_type": "raw", "id": id[:64], "metadata": {}, "source": source.splitlines(keepends=True)}
