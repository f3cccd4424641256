"""Every registered exercise, of every chapter: right answers pass, wrong ones are rejected and named."""

from __future__ import annotations

import dataclasses
import re
import time
from functools import cache
from pathlib import Path

import pytest
import torch
from rejecting import failed

from mha_teach import exercises
from mha_teach.exercises import judge

ALL = exercises.all()
JUDGED = [exercise for exercise in ALL if exercise.kind != "explore"]
BOOK = Path(__file__).parents[2] / "book"
MARKER = re.compile(r"^<!-- exercise: (\S+) -->$", re.MULTILINE)

each = pytest.mark.parametrize("exercise", JUDGED, ids=lambda exercise: exercise.id)


def answers(exercise: exercises.Exercise, source: str, label: str) -> tuple:
    answer = exercise.build(source, label)
    return answer if len(exercise.names) > 1 else (answer,)


@cache
def verdict_on(id: str, name: str) -> exercises.Verdict:
    exercise = exercises.get(id)
    mutant = next(mutant for mutant in exercise.mutants if mutant.name == name)
    return exercise.check(*answers(exercise, exercise.source_of(mutant), name))


@each
def test_the_solution_is_right(exercise):
    verdict = exercise.check(*answers(exercise, exercise.solution, "solution"))
    assert verdict.status == "right" and verdict.score == 1, f"\n{verdict}"
    assert not verdict.notes, verdict.notes


@each
def test_the_solution_is_right_on_other_numbers(exercise):
    for seed in (1, 2):
        verdict = exercise.check(*answers(exercise, exercise.solution, "solution"), seed=seed)
        assert verdict.status == "right", f"\n{verdict}"


@pytest.mark.parametrize("exercise", ALL, ids=lambda exercise: exercise.id)
def test_the_stub_is_not_attempted(exercise):
    verdict = exercise.check(*answers(exercise, exercise.stub, "stub"))
    assert verdict.status == "not attempted", f"\n{verdict}"


def pairs():
    return [(exercise, mutant) for exercise in JUDGED for mutant in exercise.mutants]


@pytest.mark.parametrize(("exercise", "mutant"), pairs(), ids=lambda x: getattr(x, "id", None) or x.name)
def test_a_mutant_is_rejected_by_its_point_and_named(exercise, mutant):
    verdict = verdict_on(exercise.id, mutant.name)
    assert verdict.status in ("wrong", "error", "timeout"), f"\n{verdict}"
    assert mutant.point in failed(verdict), f"\n{verdict}"
    assert verdict.diagnosis == mutant.name, f"\n{verdict}"
    assert mutant.words in str(verdict), f"\n{verdict}"


@each
def test_variants_are_right(exercise):
    assert len(exercise.variants) >= 3
    for index, source in enumerate(exercise.variants):
        verdict = exercise.check(*answers(exercise, source, f"variant {index}"))
        assert verdict.status == "right", f"variant {index}\n{verdict}"


def rejections(exercise: exercises.Exercise) -> dict[str, frozenset[str]]:
    """For each wrong answer, the points that it fails."""
    found = {}
    for mutant in exercise.mutants:
        found[mutant.name] = frozenset(failed(verdict_on(exercise.id, mutant.name)))
    return found


def complaints(exercise: exercises.Exercise) -> list[str]:
    """What the proof of the points lacks."""
    alone = {name for names in rejections(exercise).values() if len(names) == 1 for name in names}
    return [f"no mutant fails only at {point.name!r}" for point in exercise.points if point.name not in alone]


@each
def test_each_point_has_a_mutant_that_it_alone_rejects(exercise):
    assert complaints(exercise) == []


def test_the_proof_of_points_can_fail():
    exercise = exercises.get("00-mend")
    first, *_ = exercise.points
    found = rejections(exercise)
    fewer = tuple(mutant for mutant in exercise.mutants if found[mutant.name] != {first.name})
    poor = dataclasses.replace(exercise, mutants=fewer)
    assert complaints(poor) == [f"no mutant fails only at {first.name!r}"]
    twice = dataclasses.replace(exercise, points=(*exercise.points, dataclasses.replace(first, name="twice")))
    assert complaints(twice) == ["no mutant fails only at 'twice'"]


@each
def test_every_point_can_reject_alone(exercise, monkeypatch):
    """A right answer that goes wrong at one point is rejected there and nowhere else: no point accepts everything."""
    observe, spoiled = judge._observe, ""

    def spoil(point, answer, *rest):
        outcome = observe(point, answer, *rest)
        return dataclasses.replace(outcome, value=other(outcome.value)) if point.name == spoiled else outcome

    given = answers(exercise, exercise.solution, "solution")
    assert exercise.check(*given).status == "right"  # and its values are remembered as those to compare with
    monkeypatch.setattr(judge, "_observe", spoil)
    monkeypatch.setattr(judge, "_diagnose", lambda *_: None)
    for point in exercise.points:
        spoiled = point.name
        assert failed(exercise.check(*given)) == [point.name]


def other(value: object) -> object:
    """A value of the same form that is not the same."""
    if isinstance(value, dict):
        return {key: other(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(other, value))
    if isinstance(value, torch.Tensor):
        return ~value if value.dtype == torch.bool else value + 1
    return f"not {value}" if isinstance(value, str) else not value if isinstance(value, bool) else value + 1


@each
def test_an_exercise_is_complete(exercise):
    assert exercise.prompt.strip() and exercise.title and all(hint.strip() for hint in exercise.hints)
    assert exercise.points and exercise.names
    assert len({point.name for point in exercise.points}) == len(exercise.points)
    assert len({mutant.name for mutant in exercise.mutants}) == len(exercise.mutants)
    names = [point.name for point in exercise.points]
    assert {mutant.point for mutant in exercise.mutants} <= {*names}
    assert all(not point.after or point.after in names[:k] for k, point in enumerate(exercise.points))
    assert exercise.difficulty in (1, 2, 3) and exercise.minutes > 0 and exercise.marks > 0
    assert exercise.why.strip(), "the solutions page says why"
    if exercise.kind in ("code", "break"):
        softmax = exercise.kind == "code" and "softmax(" in exercise.solution
        builds_attention = softmax and exercise.id != "02-gradients"  # whose softmax is only differentiated
        assert len(exercise.mutants) >= (12 if builds_attention else 6)


def test_there_are_exercises_of_every_kind_in_every_chapter():
    assert len(ALL) >= 32 and {exercise.kind for exercise in ALL} == {
        "recall",
        "derive",
        "code",
        "break",
        "explore",
    }
    for name in exercises._chapters():
        assert len(exercises._load(name)) >= 4


@each
def test_a_check_takes_less_than_a_second(exercise):
    given = answers(exercise, exercise.source_of(exercise.mutants[-1]), "mutant")
    seconds = []
    for _ in range(3):  # CPU seconds, the best of three: the machine may be busy
        judge._reference.cache_clear()
        start = time.process_time()
        exercise.check(*given)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1.0


def test_the_whole_matrix(record_property):
    """The rate is printed at the end of the run, by tests/conftest.py."""
    rejected = [not verdict_on(exercise.id, mutant.name) for exercise, mutant in pairs()]
    rate = sum(rejected) / len(rejected)
    counted = f"{sum(rejected)} of {len(rejected)} wrong answers rejected ({rate:.1%})"
    record_property("summary", f"{len(JUDGED)} exercises with a score: {counted}")
    assert rate == 1.0


def test_ids_are_unique_and_begin_with_their_chapter():
    assert len({exercise.id for exercise in ALL}) == len(ALL)
    for name in exercises._chapters():
        for exercise in exercises._load(name):
            assert exercise.id.startswith(f"{name[2:4]}-")


def test_the_chapters_show_exactly_the_registered_exercises():
    shown = [
        found
        for path in sorted(BOOK.glob("[0-9][0-9]_*.md"))
        for found in MARKER.findall(path.read_text("utf-8"))
    ]
    written = {path.name[:2] for path in BOOK.glob("[0-9][0-9]_*.md")}
    registered = [exercise.id for exercise in ALL if exercise.id[:2] in written]
    assert sorted(shown) == sorted(registered)
