"""Judge one submission: the student's functions compute in the sandbox, points and comparison stay here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mha_teach.exercises import Exercise, Verdict, run
from mha_teach.exercises.judge import judge
from mha_teach.grading.child import wire
from mha_teach.grading.reading import Note, note
from mha_teach.grading.remote import stranger
from mha_teach.grading.sandbox import Sandbox, SandboxError
from mha_teach.grading.session import Session, StudentError, student_error
from mha_teach.grading.submission import Answer, Submission
from mha_teach.grading.words import say

STATUSES = ("passed", "failed", "error", "timeout", "not attempted", "unreadable")
_STOPPED = {"cell error": "error", "top level": "timeout"}  # why a cell that was written defines nothing
_PLACE = re.compile(r" at (?:\w+ = [^\s,]+(?:, )?)+(?= )")  # where a formula was tried


@dataclass(frozen=True)
class PointGrade:
    """One test point: its status, its share of the marks, and the sentence that goes with it."""

    point: str
    status: str
    weight: float = 1.0
    message: str = ""


@dataclass(frozen=True)
class ExerciseGrade:
    """What came of one exercise, named by its id without a tag. ``marks`` is what it is worth, ``score`` the share of it, ``None`` where nothing is scored."""

    exercise: str
    status: str
    score: float | None
    marks: float
    points: tuple[PointGrade, ...] = ()
    diagnosis: str = ""
    words: str = ""
    hint: str = ""
    notes: tuple[Note, ...] = field(default=())


def grade(submission: Submission, sandbox: Sandbox, seed: int) -> list[ExerciseGrade]:
    """Judge every answer of a submission; one that breaks costs only its own points."""
    found = []
    for answer in submission.answers:
        try:
            found.append(_grade_one(answer, submission.code, sandbox, seed))
        except SandboxError:
            raise
        except Exception as error:  # noqa: BLE001  never a bare zero: the teacher is told
            words = note("judge", error=f"{type(error).__name__}: {error}"[:200])
            found.append(whole(answer.exercise, "error", words.words, (*answer.notes, words)))
    sandbox.finish_submission()
    return found


def whole(exercise: Exercise, status: str, message: str = "", notes: Iterable[Note] = ()) -> ExerciseGrade:
    """The same status for all points of an exercise."""
    points = tuple(PointGrade(point.name, status, point.weight, message) for point in exercise.points)
    return ExerciseGrade(
        exercise.base, status, 0.0 if points else None, _marks(exercise), points, notes=tuple(notes)
    )


def _marks(exercise: Exercise) -> float:
    return float(exercise.marks) if exercise.points else 0.0


def _grade_one(answer: Answer, code: list[str], sandbox: Sandbox, seed: int) -> ExerciseGrade:
    exercise, notes = answer.exercise, list(answer.notes)
    if answer.source is None:
        return whole(exercise, "not attempted", notes=notes)
    with Session(sandbox) as session:
        try:
            answers = _load(answer, code, session, sandbox.limits.seconds, notes)
        except run.TimeUp:
            return whole(exercise, "timeout", _time_up(sandbox), notes)
        except StudentError as error:
            words = f"{type(error).__name__}: {error}"
            return whole(exercise, "error", words, [*notes, note("ended", how=words)])
        # The session keeps the time; the check's own clock must not ring in the middle of a message.
        verdict = judge(replace(exercise, seconds=60 + 4 * sandbox.limits.seconds), answers, seed)
    if verdict.status == "not attempted" and (stopped := [n for n in notes if n.kind in _STOPPED]):
        return whole(exercise, _STOPPED[stopped[0].kind], stopped[0].words, notes)
    return _from_verdict(exercise, verdict, notes, _time_up(sandbox))


def _time_up(sandbox: Sandbox) -> str:
    return say("time up", seconds=sandbox.limits.seconds)


def _load(answer: Answer, code: list[str], session: Session, seconds: float, notes: list[Note]) -> tuple:
    """Run the cell over there; the values of the exercise's names, functions as :class:`Remote`."""
    exercise = answer.exercise
    cell = {"setup": exercise.setup, "stub": exercise.stub, "names": list(exercise.names)}
    others = [source for source in code if source != answer.source]
    head, blob = session.load(cell | {"answer": answer.source, "cells": others})
    if isinstance(head.get("error"), dict):
        error = student_error(head["error"])
        if "values" not in head:
            raise error
        notes.append(note("cell error", error=f"{type(error).__name__}: {error}"))
    if head.get("time") is True:
        notes.append(note("top level", seconds=session.loading))
    values, same = head.get("values"), head.get("same")
    values = values if isinstance(values, dict) else {}
    if missing := [name for name in exercise.names if name not in values]:
        notes.append(note("undefined", names=", ".join(missing)))
    untouched = [name for name in exercise.names if isinstance(same, list) and name in same]
    given = exercise.build(exercise.stub, "stub") if untouched else ()
    stubs = dict(zip(exercise.names, given if len(exercise.names) > 1 else (given,), strict=False))
    found = []
    for name in exercise.names:
        if name in untouched:
            found.append(stubs[name])
        elif name in values:
            tree = values[name]
            found.append(wire.unpack(tree, blob, lambda other, name=name: stranger(session, other, name)))
        else:
            found.append(...)
    return tuple(found)


def _from_verdict(exercise: Exercise, verdict: Verdict, notes: list[Note], time_up: str) -> ExerciseGrade:
    if verdict.status == "not attempted":
        return whole(exercise, "not attempted", notes=notes)
    points = []
    for point in verdict.points:
        status = point.status
        if status == "not run":  # it waits for another point, or comes after the one that ran out of time
            status = "failed" if point.waits else "timeout"
        sentence = time_up if status == "timeout" else _sentence(point)
        points.append(PointGrade(point.name, status, point.weight, sentence))
    return ExerciseGrade(
        exercise.base,
        verdict.status,
        verdict.score,
        _marks(exercise),
        tuple(points),
        verdict.diagnosis or "",
        verdict.words,
        verdict.hint,
        (*notes, *(Note("check", words) for words in verdict.notes)),
    )


def _sentence(point: object) -> str:
    """What went wrong, without the numbers that the judge expected or handed over: those stay with the judge."""
    difference = _PLACE.sub("", point.difference or "")
    if point.message.endswith((".", "!", "?")):
        difference = difference[:1].upper() + difference[1:]
    return " ".join(part for part in (point.message, difference) if part)
