"""What a student gets to read: each exercise, point by point, in the words of the check. No input, no expected number."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from mha_teach import exercises
from mha_teach.exercises.display import coded, plain
from mha_teach.grading.judging import ExerciseGrade
from mha_teach.grading.marks import Student
from mha_teach.grading.page import tag, text, write

SIGNS = {"passed": "✓", "failed": "✗", "error": "✗", "timeout": "✗", "not attempted": "·", "unreadable": "·"}
STATUS = {
    "right": "right",
    "wrong": "not yet right",
    "error": "stopped with an error",
    "timeout": "time was up",
    "not attempted": "not attempted",
    "open": "an open question, without a score",
    "unreadable": "could not be read",
}


def file_name(student: str) -> str:
    """A safe name for the student's page, the same each time and different for different students."""
    tail = hashlib.sha256(student.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', student).strip('-')[:40] or 'student'}-{tail}.html"


def write_feedback(folder: Path, student: Student) -> Path:
    """Write the page of one student into ``folder``."""
    of = sum(grade.marks for grade in student.grades.values() if grade.points)
    parts = [tag("p", text(f"{student.total:.4g} of {of:g} marks"))]
    if student.status != "graded":
        parts = [tag("p", text(f"No marks: {student.status}."), "warning")]
    for attempt in student.attempts:
        parts += [tag("p", text(f"{attempt.file}: {note.words}"), "note") for note in attempt.notes]
    parts += [tag("p", text(note.words), "note") for note in student.notes]
    parts += [_exercise(grade) for grade in student.grades.values()]
    path = folder / file_name(student.name)
    write(path, f"Feedback for {student.name}", parts)
    return path


def _exercise(grade: ExerciseGrade) -> str:
    known = grade.score is not None and grade.status != "unreadable"
    marks = f", {grade.score * grade.marks:.4g} of {grade.marks:g}" if known else ""
    parts = [tag("h2", text(f"{grade.exercise} {_title(grade.exercise)}"))]
    parts.append(
        tag("p", text(STATUS.get(grade.status, grade.status) + marks), grade.status.replace(" ", "-"))
    )
    parts += [tag("p", text(note.words), "note") for note in grade.notes]
    if grade.points and grade.status not in ("not attempted", "unreadable"):
        items = (
            tag(
                "li", text(f"{SIGNS[p.status]} {p.point}" + (f": {p.message}" if p.message else "")), p.status
            )
            for p in grade.points
        )
        parts.append(tag("ul", "".join(items)))
    if grade.diagnosis:
        parts.append(tag("p", text(f"This looks like: {grade.diagnosis}. {grade.words}")))
    if grade.hint:
        parts.append(tag("p", coded(text(f"Hint: {plain(grade.hint)}"))))
    return tag("section", "\n".join(parts))


def _title(id: str) -> str:
    try:
        return exercises.get(id).title
    except KeyError:  # a gradebook of another edition
        return ""
