"""What a class is handed and what its teacher keeps, as files in memory: name → contents."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterable

from mha_teach.release.assignment import Assignment, student_notebook, text_of
from mha_teach.release.packing import WHEEL, requirements
from mha_teach.release.roster import Member
from mha_teach.release.solutions import solution_notebook

FOLDER = "attention-exercises"  # what a student's zip unpacks to
LAB = "jupyterlab>=4.4"
_CONDA = {"torch": "pytorch"}


def for_students(assignments: list[Assignment], wheel: bytes, package: str = "") -> dict[str, bytes]:
    """A student's folder: notebooks, package, two descriptions of the environment, and what to do with them."""
    notebooks = {f"{one.slug}.ipynb": text_of(student_notebook(one, package)) for one in assignments}
    texts = {"README.txt": student_readme(assignments), **notebooks, **environment()}
    return {**{name: text.encode() for name, text in texts.items()}, WHEEL: wheel}


def solutions(assignments: list[Assignment], whose: str = "", package: str = "") -> dict[str, bytes]:
    """The teacher's notebooks; each name says what it is."""
    return {
        f"{one.slug}-SOLUTIONS.ipynb": text_of(solution_notebook(one, whose, package)).encode()
        for one in assignments
    }


def environment() -> dict[str, str]:
    """``requirements.txt`` for pip and ``environment.yml`` for conda; both take the package from the wheel beside them."""
    conda = [re.sub(r"^[\w.-]+", lambda name: _CONDA.get(name[0], name[0]), need) for need in requirements()]
    lines = [
        "name: attention",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        "  - python>=3.11",
        "  - pip",
    ]
    lines += [*(f"  - {need}" for need in [*conda, LAB]), "  - pip:", f"      - ./{WHEEL}"]
    return {
        "requirements.txt": f"# run pip in this folder\n./{WHEEL}\n{LAB}\n",
        "environment.yml": "\n".join(lines) + "\n",
    }


def student_readme(assignments: list[Assignment]) -> str:
    """How to open, answer and hand in, in plain text."""
    listed = "\n".join(
        f"  {one.slug + '.ipynb':<26}{len(one.exercises)} exercises, about {one.minutes} minutes, {one.marks} marks"
        for one in assignments
    )
    return f"""\
Exercises on attention
======================

{listed}

On your own computer (Python 3.11 or newer). Open a terminal in this folder:

  python3 -m venv .venv              (Windows: py -m venv .venv)
  source .venv/bin/activate          (Windows: .venv\\Scripts\\activate)
  pip install -r requirements.txt
  jupyter lab

  With conda instead: conda env create -f environment.yml, then conda activate attention, then jupyter lab.

In Colab: choose File, Upload notebook. Run the first code cell; if it asks for a file, choose
{WHEEL} from this folder.

Answering
  Write in the cells that begin with "# exercise:" and keep that line. The check below each of them tells you what is
  right and what is not, as often as you like. Hints open one inside the other.

Handing in
  Save, and hand in the notebooks under the names that they have. Only your answers are read, no outputs.
"""


def teacher_readme(
    assignments: list[Assignment],
    members: list[Member] | None,
    kept: bool,
    forms: list[str],
    table: str = "roster.csv",
) -> str:
    """What lies where, and the command that grades what comes back; ``table`` is the roster's file."""
    given = (
        "for-students/           a zip for each student"
        if members
        else "for-students.zip        for the class"
    )
    alike = "students.csv            who got which file" if members else ""
    chapters = " ".join(one.number for one in assignments)
    roster = f" --roster {shlex.quote(table)}" if members else ""
    where = {
        "class": [f"  {given}", *([] if members else ["  for-students/           the same, unpacked"])],
        "nbgrader": [
            "  nbgrader/               a course for nbgrader, with solutions; its README.txt says more"
        ],
        "otter": [
            "  otter/                  assignments for otter, with solutions; its README.txt says more"
        ],
    }
    own = ["  teacher-only/           this folder; never hand it out"]
    own += [f"    {alike}"] if alike else []
    own += (
        ["    solutions/            answers, why, and the wrong answers that the checks name"] if kept else []
    )
    listed = "\n".join([*(line for form in forms for line in where[form]), *own])
    return f"""\
For the teacher
===============

{listed}

Grading: put what comes back into one folder, say handed-in: a folder or a zip for each student, or what Canvas gives.

  mha grade handed-in --chapters {chapters}{roster}

The package that students install holds the solutions in its code, because the checks in the notebook compare with them.
Those checks are help. Marks come from mha grade, which draws other inputs and keeps its judge out of reach of the answers.
"""


def student_table(members: Iterable[Member]) -> bytes:
    """``id, name, tag, file`` for each student."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(["id", "name", "tag", "file"])
    writer.writerows([_cell(one.id), _cell(one.name), one.tag, f"{one.file}.zip"] for one in members)
    return made.getvalue().encode(
        "utf-8-sig"
    )  # spreadsheets take a table without the mark for another encoding


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, also not one that splits lines at other signs than commas."""
    return re.sub(r"(^|[;|\t])(?=\s*[=+\-@＝＋－＠])", r"\1'", text)
