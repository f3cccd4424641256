"""One test point as an assertion: what the test cells of nbgrader and otter call, in the student's own process.

Marks are the same as :meth:`Exercise.check` gives with the same seed, because that is what runs. Whoever writes the
notebook can also write into this process, which is how those tools work; ``mha grade`` keeps its judge outside.
"""

from __future__ import annotations

from collections.abc import Mapping

from mha_teach import exercises
from mha_teach.exercises import Exercise, PointResult, Verdict
from mha_teach.exercises.wording import say
from mha_teach.release.assignment import marks_of

_last: dict[tuple[str, int], tuple[tuple, Verdict]] = {}


def require(id: str, point: str, names: Mapping[str, object], seed: int) -> None:
    """Raise AssertionError unless the answer to exercise ``id`` passes ``point``.

    ``names`` is where the answer stands, usually ``globals()``; a name that is missing was not attempted. All points
    of an exercise are judged at the first call, and again only when its answer is another one.
    """
    exercise = exercises.get(id)
    if point not in {one.name for one in exercise.points}:
        known = ", ".join(one.name for one in exercise.points) or "none"
        raise ValueError(f"{id} has no point {point!r}; its points: {known}")
    verdict = _verdict(exercise, tuple(names.get(name, ...) for name in exercise.names), seed)
    found = next((one for one in verdict.points if one.name == point), None)
    if found is None or found.status != "passed":
        raise AssertionError(_sentence(verdict, found))


def marks_of_points(exercise: Exercise) -> dict[str, float]:
    """The marks of each point: those of the exercise, shared out by weight."""
    total = sum(point.weight for point in exercise.points)
    return {point.name: marks_of(exercise) * point.weight / total for point in exercise.points}


def _verdict(exercise: Exercise, answers: tuple, seed: int) -> Verdict:
    """The verdict on these very objects; an answer that was made anew is judged anew."""
    before, verdict = _last.get((exercise.id, seed), ((), None))
    if verdict is None or not all(a is b for a, b in zip(before, answers, strict=True)):
        verdict = exercise.check(*answers, seed=seed)
        _last[exercise.id, seed] = answers, verdict
    return verdict


def _sentence(verdict: Verdict, point: PointResult | None) -> str:
    """What is wrong, without the numbers of a hidden test."""
    if point is None:
        return " ".join([say(verdict.status, seconds=verdict.seconds), *verdict.notes])
    said = " ".join(part for part in (point.message, point.difference, point.line) if part)
    looks = (
        say("diagnosis", name=verdict.diagnosis, words=verdict.words).rstrip() if verdict.diagnosis else ""
    )
    return "\n".join(part for part in (f"{point.name}: {said or say(point.status)}", looks) if part)
