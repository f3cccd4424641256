"""``mha grade DIR``: grade a folder, show how far it is, write the gradebook, the tables and the pages."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from mha_teach.grading.batch import Plan, grade_all, waiting
from mha_teach.grading.feedback import write_feedback
from mha_teach.grading.gradebook import Gradebook
from mha_teach.grading.marks import Student, possible, write_canvas, write_plain
from mha_teach.grading.members import known, of_class, remembered
from mha_teach.grading.overview import write_overview
from mha_teach.grading.progress import Bar
from mha_teach.grading.sandbox import LOST, bubblewrap, needs_linux


class GradeError(RuntimeError):
    """Something that the teacher can mend; the text is one line."""


def run(folder: Path, out: Path | None, plan: Plan) -> list[Student]:
    """Grade what is new in ``folder``; everything that is written lies in ``out``. Returns the students."""
    if not plan.scheduler:  # else other machines do what needs it
        needs_linux()
    if not folder.is_dir():
        raise GradeError(f"{folder} is no folder: give the folder that holds what the class handed in")
    folder = folder.resolve()
    out = (out or folder.with_name(f"{folder.name}-grades")).resolve()
    if out == folder or folder in out.parents:
        raise GradeError(f"{out} lies inside the folder that is graded: give another --out")
    if plan.wrap is None and not plan.scheduler and not bubblewrap():
        warn(("bubblewrap",))
    (out / "feedback").mkdir(parents=True, exist_ok=True)
    with Gradebook(out / "gradebook.db") as book:
        expected = ",".join(plan.chapters)
        if (before := book.setting("chapters", expected)) != expected:
            raise GradeError(
                f"this gradebook is for chapters {before or '(all found)'}: give the same --chapters, or another --out"
            )
        plan = replace(plan, roster=remembered(book, known(plan.roster)))
        work, number = waiting(folder, book)
        if number == 0:
            raise GradeError(
                f"{folder} holds no file: put notebooks, zip files or a folder per student there"
            )
        if len(work) < number:
            print(f"{number - len(work)} of {number} files are in the gradebook already", file=sys.stderr)
        missing = tuple(filter(None, book.setting("missing", "").split(",")))
        if work:
            with Bar(len(work)) as bar:
                found = grade_all(work, book, plan, lambda attempt: bar.step(attempt.student))
            warn(tuple(name for name in found if name != "bubblewrap" or plan.wrap is not None))
            missing = tuple(dict.fromkeys((*missing, *found)))
            book.replace("missing", ",".join(missing))
        everyone = of_class(book.attempts(), plan.roster)
    write_all(out, everyone, missing, title(everyone))
    return everyone


def warn(missing: tuple[str, ...]) -> None:
    """Say loudly which protections are missing, and how to get the greatest of them."""
    for name in missing:
        print(f"WARNING: {name} is missing: {LOST[name]}.", file=sys.stderr)
    if "bubblewrap" in missing:
        print(
            "WARNING: only limits on time, memory and files hold, and a filter of system calls where there is one. Install "
            "bubblewrap (Debian: apt-get install bubblewrap), or grade on a machine that holds nothing else.",
            file=sys.stderr,
        )


def title(everyone: list[Student]) -> str:
    """Canvas's name for the assignment: another one for other chapters, or one week's import would replace another's."""
    return " ".join(("Attention", *sorted({id[:2] for id in possible(everyone)})))


def write_all(out: Path, everyone: list[Student], missing: tuple[str, ...], name: str = "Attention") -> None:
    """The tables and pages, from the gradebook alone."""
    write_plain(out / "grades.csv", everyone)
    write_canvas(out / "canvas.csv", everyone, name)
    for student in filter(lambda one: one.attempts, everyone):
        write_feedback(out / "feedback", student)
    write_overview(out / "overview.html", everyone, missing)


def default_jobs() -> int:
    """As many as there are processors, four at most."""
    return min(os.cpu_count() or 1, 4)
