"""From attempts to marks: one line for each student, and tables for a spreadsheet and for Canvas."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from mha_teach import exercises
from mha_teach.grading.gradebook import Attempt
from mha_teach.grading.judging import ExerciseGrade
from mha_teach.grading.reading import Note, note
from mha_teach.grading.words import say

_LATE = "_LATE_"  # in Canvas's names of files

FORMULA = re.compile(r"(^|[;|\t])(?=\s*[=+\-@＝＋－＠]|[\t\r])")  # where a field may begin as one


@dataclass
class Student:
    """Everything of one student: the best grade of each exercise, and the files that it came from."""

    name: str
    canvas: str = ""
    id: str = ""  # on the roster, if there is one
    login: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    grades: dict[str, ExerciseGrade] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    @property
    def total(self) -> float:
        """The marks in all."""
        return sum(grade.score * grade.marks for grade in self.grades.values() if grade.score is not None)

    @property
    def status(self) -> str:
        """ "graded", or what kept every file of this student from being graded."""
        if any(attempt.status == "graded" and attempt.grades for attempt in self.attempts):
            return "graded"
        if not self.attempts:
            return "not handed in"
        unread = any(attempt.status == "unreadable" for attempt in self.attempts)
        return "unreadable" if unread else "nothing of this assignment"


def named(attempts: list[Attempt]) -> Callable[[Attempt], str]:
    """What to call whoever handed in an attempt: two people of one name, whom Canvas tells apart, stay two."""
    numbers: dict[str, set[str]] = {}
    for attempt in attempts:
        numbers.setdefault(attempt.student, set()).update(filter(None, [attempt.canvas]))
    return lambda a: f"{a.student} ({a.canvas})" if a.canvas and len(numbers[a.student]) > 1 else a.student


def students(attempts: list[Attempt], name: Callable[[Attempt], str] | None = None) -> list[Student]:
    """The students, by name; where several files hold an exercise, the best grade counts and a note says so."""
    name = name or named(attempts)
    found: dict[str, Student] = {}
    for attempt in _without_tags(attempts):
        one = found.setdefault(name(attempt), Student(name(attempt)))
        one.canvas = one.canvas or attempt.canvas
        one.attempts.append(attempt)
        for grade in attempt.grades:
            best = one.grades.get(grade.exercise)
            if best is None or _rank(grade) > _rank(best):
                one.grades[grade.exercise] = grade
    for one in found.values():
        one.grades = {id: one.grades[id] for id in in_order(one.grades)}
        several: dict[int, list[str]] = {}
        for id in one.grades:
            holding = [a for a in one.attempts if any(_there(g, id) for g in a.grades)]
            several.setdefault(len(holding), []).append(id)
        late = [attempt.file for attempt in one.attempts if attempt.canvas and _LATE in attempt.file]
        one.notes += [note("late", file=file) for file in late]
        one.notes += [
            Note("several files", f"{', '.join(ids)}: {say('several files', count=count)}")
            for count, ids in several.items()
            if count > 1
        ]
    return list(found.values())


def _without_tags(attempts: list[Attempt]) -> list[Attempt]:
    """The attempts; where no notebook carries a tag, the class got none, and the notes that one is missing go."""
    kinds = [{note.kind for note in attempt.notes} for attempt in attempts if attempt.status == "graded"]
    if not all(kind & {"no tags", "another assignment", "no exercises"} for kind in kinds):
        return attempts
    return [replace(a, notes=tuple(told for told in a.notes if told.kind != "no tags")) for a in attempts]


def _there(grade: ExerciseGrade, id: str) -> bool:
    return grade.exercise == id and not any(note.kind == "missing" for note in grade.notes)


def _rank(grade: ExerciseGrade) -> tuple:
    order = ("unreadable", "not attempted", "timeout", "error", "wrong", "open", "right")
    place = order.index(grade.status) if grade.status in order else 0
    return grade.score or 0.0, place, _there(grade, grade.exercise)


def possible(everyone: list[Student]) -> dict[str, float]:
    """The exercises of the class, by id, with their marks."""
    found = {g.exercise: g.marks for one in everyone for g in one.grades.values() if g.points}
    return {id: found[id] for id in in_order(found)}


def in_order(ids: Iterable[str]) -> list[str]:
    """Exercises as the book has them; those of another edition come last."""
    places = {exercise.id: place for place, exercise in enumerate(exercises.all())}
    return sorted(ids, key=lambda id: (places.get(id, len(places)), id))


def write_plain(path: Path, everyone: list[Student]) -> None:
    """``student, status, total, of``, then for each exercise its marks and its status; never a bare nought."""
    marks, listed = possible(everyone), any(one.id for one in everyone)
    head = ["student", *(["id"] if listed else []), "status", "total", "of"]
    rows = [[*head, *(part for id in marks for part in (f"{id} ({marks[id]:g})", f"{id} status"))]]
    for one in everyone:
        total = f"{one.total:.4g}" if one.status == "graded" else ""
        row = [
            _safe(one.name),
            *([_safe(one.id)] if listed else []),
            one.status,
            total,
            f"{sum(marks.values()):g}",
        ]
        for id in marks:
            grade = one.grades.get(id)
            if grade and grade.status != "unreadable":
                row += [f"{grade.score * grade.marks:.4g}", grade.status]
            else:
                row += ["", grade.status if grade else one.status]
        rows.append(row)
    _write(path, rows)


def write_canvas(path: Path, everyone: list[Student], title: str) -> None:
    """The columns that Canvas imports. Who could not be graded gets an empty field, which Canvas leaves as it is."""
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]]
    rows.append(["    Points Possible", "", "", "", "", f"{sum(possible(everyone).values()):g}"])
    for one in everyone:
        total = f"{one.total:.4g}" if one.status == "graded" else ""
        rows.append(
            [_safe(one.name), one.canvas, "", _safe(one.login or ("" if one.canvas else one.id)), "", total]
        )
    _write(path, rows)


def _write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def _safe(text: str) -> str:
    """A name that no spreadsheet takes for a formula, also not one that splits lines at other signs than commas."""
    return FORMULA.sub(r"\1'", text)
