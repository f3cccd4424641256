"""Judge one answer: run every point, compare, and say which wrong answer it behaves like."""

from __future__ import annotations

import time
import types
from dataclasses import replace
from functools import lru_cache

import torch

from mha_teach.exercises import run
from mha_teach.exercises.compare import Difference, describe, described, same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point
from mha_teach.exercises.verdict import PointResult, Verdict
from mha_teach.exercises.wording import say


def judge(exercise: Exercise, answers: tuple, seed: int = 0) -> Verdict:
    """The verdict on ``answers``, one for each name of the exercise's stub."""
    if len(answers) != len(exercise.names):
        note = say("count", wanted=len(exercise.names), names=", ".join(exercise.names), got=len(answers))
        return Verdict(exercise.id, "wrong", 0.0, notes=(note,))
    if not attempted(exercise, answers):
        return Verdict(exercise.id, "not attempted", None if exercise.kind == "explore" else 0.0)
    if exercise.kind == "explore":
        return Verdict(exercise.id, "open")
    if sentence := _uncalled(exercise, answers):
        failed = (
            PointResult(point.name, "failed", sentence, weight=point.weight) for point in exercise.points
        )
        return Verdict(exercise.id, "wrong", 0.0, tuple(failed), hint=exercise.hints[0])
    answer, results, outcomes, left = exercise.pack(*answers), [], [], exercise.seconds
    for point in exercise.points:
        if outcomes and outcomes[-1].timeout:
            results.append(PointResult(point.name, "not run", weight=point.weight))
            continue
        start = time.monotonic()
        outcome = _observe(point, answer, exercise, seed, left)
        if not outcome.loaded:
            left = max(left - (time.monotonic() - start), 0.05)  # one limit for the whole check
        outcomes.append(outcome)
        results.append(_result(exercise, point, outcome, seed))
    results = _held(exercise, results)
    passed = sum(r.weight for r in results if r.status == "passed")
    score = passed / sum(r.weight for r in results)
    first = next((r.status for r in results if r.status != "passed"), "right")
    status = {"failed": "wrong"}.get(first, first)
    if any(outcome.timeout for outcome in outcomes):
        status = "timeout"
    mutant = None if status in ("right", "timeout") else _diagnose(exercise, results, outcomes, seed)
    return Verdict(
        exercise.id,
        status,
        score,
        tuple(results),
        mutant.name if mutant else None,
        mutant.words if mutant else "",
        "" if status == "right" else exercise.hints[score >= 0.5],  # the second step for who has half of it
        _notes(outcomes),
        exercise.seconds,
    )


def attempted(exercise: Exercise, answers: tuple) -> bool:
    """False where the answer is still what the stub defines: the same values, or functions with the same code."""
    stub = exercise.build(exercise.stub, "stub")
    given = stub if len(exercise.names) > 1 else (stub,)
    try:
        return not all(
            right is ... or right is None or _signature(left) == _signature(right)
            for left, right in zip(given, answers, strict=True)
        )
    except Exception:  # noqa: BLE001  an answer that can't even be looked at is no stub
        return True


def _uncalled(exercise: Exercise, answers: tuple) -> str:
    """What to say where a value stands under the name of a function: it was called, or its name was used again."""
    stub = exercise.build(exercise.stub, "stub")
    given = stub if len(exercise.names) > 1 else (stub,)
    for name, left, right in zip(exercise.names, given, answers, strict=True):
        if isinstance(left, (types.FunctionType, type)) and not callable(right):
            kind = say("class" if isinstance(left, type) else "function")
            return say("uncalled", name=name, got=described(right), expected=kind)
    return ""


def _signature(value: object) -> object:
    """Equal for two functions, classes or plain values exactly if they were written alike."""
    if isinstance(value, types.FunctionType):
        return _signature(value.__code__)
    if isinstance(value, types.CodeType):
        constants = value.co_consts[1:] if value.co_flags & 3 == 3 else value.co_consts
        doc = (
            ()
            if not value.co_consts or isinstance(value.co_consts[0], (str, type(None)))
            else value.co_consts[:1]
        )
        return value.co_code, value.co_names, value.co_varnames, *map(_signature, (*doc, *constants))
    if isinstance(value, type):
        return value.__name__, *(
            (n, _signature(f)) for n, f in vars(value).items() if isinstance(f, types.FunctionType)
        )
    if type(value) in (tuple, list) and len(value) < run.LONG:
        return type(value), *map(_signature, value)
    return (
        (type(value), repr(value)) if isinstance(value, (int, float, str, types.EllipsisType)) else id(value)
    )


def _observe(point: Point, answer: object, exercise: Exercise, seed: int, seconds: float) -> run.Outcome:
    inputs = tuple(point.inputs(Draw(seed, f"{exercise.id}/{point.name}")))
    return run.call(point.measure, answer, inputs, point.arguments, seconds)


@lru_cache(maxsize=4096)
def _reference(exercise_id: str, label: str, source: str, index: int, seed: int) -> run.Outcome:
    from mha_teach.exercises import get

    exercise = get(exercise_id)
    return _observe(exercise.points[index], exercise.build(source, label), exercise, seed, exercise.seconds)


def _result(exercise: Exercise, point: Point, outcome: run.Outcome, seed: int) -> PointResult:
    if outcome.timeout:
        message = say("timeout", seconds=exercise.seconds)
        return PointResult(point.name, "timeout", message, weight=point.weight)
    shown = _inputs(exercise, point, seed) if point.shown else ""
    if outcome.misfit:
        return PointResult(point.name, "failed", outcome.error, inputs=shown, weight=point.weight)
    if outcome.kind:
        return PointResult(
            point.name, "error", outcome.error, inputs=shown, line=outcome.line, weight=point.weight
        )
    found = _compare(exercise, point, outcome.value, seed)
    if found is None:
        return PointResult(point.name, "passed", weight=point.weight)
    if found.form:  # the mechanism can't be seen in what has another form altogether
        sentence = found.message[:1].upper() + found.message[1:]
        return PointResult(point.name, "failed", sentence, inputs=shown, weight=point.weight)
    return PointResult(
        point.name,
        "failed",
        point.message,
        found.message,
        found.expected if point.reveal else "",
        found.got,
        shown,
        weight=point.weight,
    )


def _held(exercise: Exercise, results: list[PointResult]) -> list[PointResult]:
    """The same results, without what was passed before the point came that it counts ``after``."""
    passed = {result.name for result in results if result.status == "passed"}
    return [
        replace(result, status="not run", message=say("held", point=point.after))
        if result.name in passed and point.after and point.after not in passed
        else result
        for point, result in zip(exercise.points, results, strict=True)
    ]


def _compare(exercise: Exercise, point: Point, value: object, seed: int) -> Difference | None:
    expected = point.expected
    if expected is None:
        reference = _reference(exercise.id, "solution", exercise.solution, exercise.points.index(point), seed)
        if reference.kind or reference.timeout:
            raise RuntimeError(f"{exercise.id}: the solution fails at {point.name!r}: {reference.error}")
        expected = reference.value
    try:
        return point.compare(expected, value)
    except Exception:  # noqa: BLE001  whatever was returned, the reader gets a sentence
        got = describe(value)
        return Difference(f"{say('answer')} {say('strange', got=got)}", "", got)


def _inputs(exercise: Exercise, point: Point, seed: int) -> str:
    arguments = tuple(point.inputs(Draw(seed, f"{exercise.id}/{point.name}")))
    names = [*point.arguments, *[""] * len(arguments)]
    return ", ".join(
        f"{name} {describe(value)}".strip()
        for name, value in zip(names, arguments, strict=False)
        if value is not None
    )


def _diagnose(
    exercise: Exercise, results: list[PointResult], outcomes: list[run.Outcome], seed: int
) -> Mutant | None:
    """The mutant that gives the same values at every point; else at every failing point; else at the first of them."""
    failing = [index for index, result in enumerate(results) if result.status != "passed"]
    passing = [index for index in range(len(results)) if index not in failing]
    first = exercise.points[failing[0]].name
    partly = slightly = None
    for mutant in exercise.mutants:
        source = exercise.source_of(mutant)

        def alike(index: int, mutant: Mutant = mutant, source: str = source) -> bool:
            return _alike(_reference(exercise.id, mutant.name, source, index, seed), outcomes[index])

        if not alike(failing[0]):
            continue
        if all(map(alike, failing)):
            if all(map(alike, passing)):
                return mutant
            if (
                mutant.point == first
            ):  # chance alone makes two numbers agree at a point that is not the mutant's
                partly = partly or mutant
        elif mutant.point == first:  # several faults at once: name the one that shows first
            slightly = slightly or mutant
    return partly or slightly


def _alike(left: run.Outcome, right: run.Outcome) -> bool:
    if left.kind or right.kind or left.timeout or right.timeout:
        words = (left.error, right.error) if left.misfit and right.misfit else ("", "")
        return (left.kind, left.timeout, words[0]) == (right.kind, right.timeout, words[1])
    try:
        return same(left.value, right.value, atol=1e-5, rtol=1e-4) is None
    except Exception:  # noqa: BLE001  values that same() can't compare
        return type(left.value) is type(right.value) and not isinstance(left.value, torch.Tensor)


def _notes(outcomes: list[run.Outcome]) -> tuple[str, ...]:
    changed = dict.fromkeys(name for outcome in outcomes for name in outcome.changed)
    settings = dict.fromkeys(name for outcome in outcomes for name in outcome.settings)
    printed = sum(outcome.printed for outcome in outcomes)
    displayed = sum(outcome.displayed for outcome in outcomes)
    notes = []
    if changed:
        notes.append(say("changed", names=", ".join(changed)))
    if settings:
        notes.append(say("global", names=", ".join(settings)))
    if printed > run.KEPT:
        notes.append(say("printed", count=printed))
    if displayed:
        notes.append(say("displayed", count=displayed))
    if not run.limited():
        notes.append(say("no limit"))
    return tuple(notes)
