"""Every registered exercise, of every chapter: right answers pass, wrong ones are rejected and named."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

import pytest

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
    failed = [point.name for point in verdict.points if point.status != "passed"]
    assert mutant.point in failed, f"rejected by {failed}\n{verdict}"
    assert verdict.diagnosis == mutant.name, f"\n{verdict}"
    assert mutant.words in str(verdict), f"\n{verdict}"


@each
def test_variants_are_right(exercise):
    assert len(exercise.variants) >= 3
    for index, source in enumerate(exercise.variants):
        verdict = exercise.check(*answers(exercise, source, f"variant {index}"))
        assert verdict.status == "right", f"variant {index}\n{verdict}"


@each
def test_each_point_has_a_mutant_that_it_alone_rejects(exercise):
    alone = set()
    for mutant in exercise.mutants:
        verdict = verdict_on(exercise.id, mutant.name)
        failed = [point.name for point in verdict.points if point.status != "passed"]
        if len(failed) == 1:
            alone.add(failed[0])
    wanted = {point.name for point in exercise.points if point.alone}
    assert wanted <= alone, f"no mutant fails only at {sorted(wanted - alone)}"


@each
def test_an_exercise_is_complete(exercise):
    assert exercise.prompt.strip() and exercise.title and all(hint.strip() for hint in exercise.hints)
    assert exercise.points and exercise.names
    assert len({point.name for point in exercise.points}) == len(exercise.points)
    assert len({mutant.name for mutant in exercise.mutants}) == len(exercise.mutants)
    assert {mutant.point for mutant in exercise.mutants} <= {point.name for point in exercise.points}
    if exercise.kind in ("code", "break"):
        builds_attention = exercise.names[0].startswith("attend")
        assert len(exercise.mutants) >= (12 if builds_attention else 6)


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


def test_the_whole_matrix(capsys):
    rejected = [not verdict_on(exercise.id, mutant.name) for exercise, mutant in pairs()]
    with capsys.disabled():
        rate = sum(rejected) / len(rejected)
        print(f"\n{len(ALL)} exercises, {len(rejected)} wrong answers, {rate:.0%} rejected")
    assert all(rejected)


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
