"""The same 30 notebooks graded by ``mha grade``, by the real nbgrader and by the real otter, for ``classroom.py``.

Each contender is prepared once, outside of the measured time: its own form of the assignment is made by the tool's own
command, and each student's cells are filled in. ``commands`` are what is measured, one for each job; the students are
shared out between them where the tool has no such option of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from _classes import Handed, fill
from _classes import write as write_class

from mha_teach.grading.gradebook import Gradebook
from mha_teach.grading.marks import students
from mha_teach.release import nbgrader, otter
from mha_teach.release.assignment import text_of

HERE = Path(__file__).parent
MHA = [sys.executable, "-m", "mha_teach.cli", "grade"]
SEED = 20_011  # of the hidden inputs, the same for all three


class Ours:
    """``mha grade`` as a teacher calls it: it writes feedback, tables and the overview too."""

    name = "mha grade"

    def __init__(self, handed: list[Handed], work: Path, jobs: int) -> None:
        self.work, self.jobs, self.python = work / "ours", jobs, Path(sys.executable)
        write_class(handed, self.work / "in")
        self.runs = 0

    def commands(self) -> list[list[str]]:
        self.runs += 1
        self.out = self.work / f"out-{self.runs}"
        seeded(self.out, SEED)
        return [[*MHA, str(self.work / "in"), "--out", str(self.out), "--jobs", str(self.jobs)]]

    def marks(self) -> dict[str, float]:
        with Gradebook(self.out / "gradebook.db") as book:
            return {one.name: one.total for one in students(book.attempts())}


class Nbgrader:
    """``nbgrader autograde``: each job has the students of one letter, and a gradebook of its own."""

    name = "nbgrader"

    def __init__(self, handed: list[Handed], work: Path, jobs: int, python: Path) -> None:
        self.work, self.jobs, self.python = work / "nbgrader", jobs, python
        self.work.mkdir()
        assignment = handed[0].assignment
        self.slug = assignment.slug
        nbgrader.write(assignment, self.work, SEED)
        quietly([self._tool(), "generate_assignment", self.slug], self.work, python)
        released = json.loads((self.work / "release" / self.slug / f"{self.slug}.ipynb").read_text("utf-8"))
        for place, one in enumerate(handed):
            path = self.work / "submitted" / f"{'abcdefgh'[place % jobs]}-{one.student}" / self.slug
            path.mkdir(parents=True)
            (path / f"{self.slug}.ipynb").write_text(text_of(fill(released, one.cells())), "utf-8")
        for job in range(1, jobs):  # who are in the first one's gradebook already
            for name in self.work.glob("gradebook.db"):
                (self.work / f"gradebook-{job}.db").write_bytes(name.read_bytes())

    def _tool(self) -> str:
        return str(self.python.with_name("nbgrader"))

    def _base(self, job: int) -> str:
        return f"sqlite:///{self.work}/gradebook{f'-{job}' if job else ''}.db"

    def commands(self) -> list[list[str]]:
        line = [self._tool(), "autograde", self.slug, "--force"]
        return [
            [*line, f"--student={'abcdefgh'[job]}-*", f"--db={self._base(job)}"] for job in range(self.jobs)
        ]

    def marks(self) -> dict[str, float]:
        found = {}
        for job in range(self.jobs):
            result = self.work / "marks.json"
            line = [self.python, HERE / "_real_tools.py", "nbgrader", self._base(job), self.slug, result]
            quietly(line, self.work, self.python)
            told = json.loads(result.read_text("utf-8"))
            found |= {name[2:]: marks for name, marks in told.items() if name[0] == "abcdefgh"[job]}
        return found


class Otter:
    """The function behind ``otter run``, in one process for all students of a job."""

    name = "otter"

    def __init__(self, handed: list[Handed], work: Path, jobs: int, python: Path) -> None:
        self.work, self.jobs, self.python = work / "otter", jobs, python
        self.work.mkdir()
        slug = handed[0].assignment.slug
        otter.write(handed[0].assignment, self.work, SEED)
        quietly(
            [python, "-m", "otter", "assign", "--no-run-tests", f"{slug}.ipynb", "dist"], self.work, python
        )
        released = json.loads((self.work / "dist" / "student" / f"{slug}.ipynb").read_text("utf-8"))
        (self.zip,) = (self.work / "dist" / "autograder").glob("*.zip")
        self.paths = []
        for one in handed:
            self.paths.append(self.work / f"{one.student}.ipynb")
            self.paths[-1].write_text(text_of(fill(released, one.cells())), "utf-8")

    def commands(self) -> list[list[str]]:
        line = [str(self.python), str(HERE / "_real_tools.py"), "otter", str(self.zip)]
        return [
            [*line, str(self.work / f"marks-{job}.json"), *map(str, self.paths[job :: self.jobs])]
            for job in range(self.jobs)
        ]

    def marks(self) -> dict[str, float]:
        found = {}
        for job in range(self.jobs):
            found |= json.loads((self.work / f"marks-{job}.json").read_text("utf-8"))
        return found


def seeded(out: Path, seed: int) -> None:
    """A gradebook whose seed is known."""
    out.mkdir(parents=True)
    with Gradebook(out / "gradebook.db") as book:
        book.setting("seed", str(seed))


def environment(python: Path) -> dict[str, str]:
    """This process's, with the programs that stand beside ``python`` first: kernels and helpers are found there."""
    paths = [str(python.parent), os.environ.get("PATH", "")]
    return {**os.environ, "PATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}


def quietly(line: list[object], folder: Path, python: Path) -> None:
    """Run a command that prepares something; raises with what it said."""
    done = subprocess.run(
        list(map(str, line)), cwd=folder, env=environment(python), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, line))} failed:\n{(done.stdout + done.stderr)[-3000:]}")
