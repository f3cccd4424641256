"""An answer that does nothing of what was asked gets next to nothing for it."""

from __future__ import annotations

import types
from dataclasses import replace

import pytest
import torch

from mha_teach import exercises
from mha_teach.exercises import Exercise


def first_tensor(arguments: tuple) -> torch.Tensor:
    return next((one for one in arguments if isinstance(one, torch.Tensor)), torch.zeros(2, 3))


NONSENSE = {
    "nothing": lambda *_, **__: None,
    "always True": lambda *_, **__: True,
    "always False": lambda *_, **__: False,
    "zero": lambda *_, **__: 0.0,
    "one": lambda *_, **__: 1,
    "an empty list": lambda *_, **__: [],
    "what came first": lambda *arguments, **_: arguments[0] if arguments else None,
    "what came last": lambda *arguments, **_: arguments[-1] if arguments else None,
    "zeros": lambda *arguments, **_: torch.zeros_like(first_tensor(arguments)),
    "ones": lambda *arguments, **_: torch.ones_like(first_tensor(arguments)),
    "the same twice": lambda *arguments, **_: (first_tensor(arguments),) * 2,
    "all that came": lambda *arguments, **_: arguments,
}


def written(exercise: Exercise) -> tuple:
    stub = exercise.build(exercise.stub, "stub")
    return stub if len(exercise.names) > 1 else (stub,)


FUNCTIONS = [
    exercise
    for exercise in exercises.all()
    if exercise.points and all(isinstance(one, types.FunctionType) for one in written(exercise))
]


def shares(exercise: Exercise) -> dict[str, float]:
    """What each kind of nonsense gets, as a share of all marks."""
    return {
        name: exercise.check(*[answer] * len(exercise.names)).score or 0.0
        for name, answer in NONSENSE.items()
    }


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.id)
def test_nonsense_gets_at_most_a_fifth(exercise):
    assert {name: share for name, share in shares(exercise).items() if share > 0.2} == {}


def test_the_guard_sees_points_that_nonsense_passes():
    exercise = exercises.get("03-fused-layouts")
    free = replace(exercise, points=tuple(replace(point, after="") for point in exercise.points))
    assert shares(free)["what came first"] == 0.4 and max(shares(exercise).values()) == 0
    assert len(FUNCTIONS) > 12


def test_a_point_that_waits_says_for_what():
    verdict = exercises.check("03-fused-layouts", lambda weight, num_heads: weight)
    assert verdict.score == 0 and verdict.diagnosis == "nothing moved"
    for shown in (str(verdict), verdict._repr_html_().replace("&#x27;", "'")):
        assert shown.count("(counts once 'five heads' passes)") == 2
