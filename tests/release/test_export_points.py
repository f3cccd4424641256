"""A test point as an assertion: it passes and fails as our check does, and says what is wrong without hidden numbers."""

from __future__ import annotations

import pytest

from mha_teach import exercises
from mha_teach.release import points
from mha_teach.release.assignment import marks_of
from mha_teach.release.points import marks_of_points, require

SCORED = [exercise for exercise in exercises.all() if exercise.points]
COUNT = exercises.get("05-count")
RIGHT = {"inner": 800, "parameters": 2457600, "attention": 2310}


@pytest.mark.parametrize("exercise", SCORED, ids=lambda one: one.id)
def test_points_share_the_marks_out(exercise):
    shares = marks_of_points(exercise)
    assert list(shares) == [point.name for point in exercise.points]
    assert sum(shares.values()) == pytest.approx(marks_of(exercise), abs=1e-12)


def test_weights_count():
    first, *others = COUNT.points
    heavy = exercises.Exercise(
        **{name: getattr(COUNT, name) for name in COUNT.__dataclass_fields__}
        | {"points": (exercises.Point(**{**vars(first), "weight": 3.0}), *others), "marks": 10}
    )
    assert marks_of_points(heavy) == {"inner width": 6.0, "parameters": 2.0, "attention weights": 2.0}


def test_a_right_answer_raises_nothing():
    for point in COUNT.points:
        require("05-count", point.name, RIGHT, seed=11)


def test_a_wrong_answer_fails_at_its_point_alone():
    wrong = RIGHT | {"inner": 768}
    with pytest.raises(AssertionError, match="(?s)inner width: .*back to d_model") as caught:
        require("05-count", "inner width", wrong, seed=11)
    assert "800" not in str(caught.value), "a hidden test doesn't tell the answer"
    require("05-count", "parameters", wrong, seed=11)


def test_a_missing_name_was_not_attempted():
    with pytest.raises(AssertionError, match="Not attempted"):
        require("05-count", "inner width", {}, seed=11)


def test_an_unknown_point_is_the_notebooks_fault():
    with pytest.raises(ValueError, match="05-count has no point 'width'; its points: inner width, param"):
        require("05-count", "width", RIGHT, seed=11)


def test_one_judgement_for_all_points_and_a_new_one_for_a_new_answer(monkeypatch):
    calls = []
    check = exercises.Exercise.check
    monkeypatch.setattr(
        exercises.Exercise, "check", lambda self, *a, seed: calls.append(seed) or check(self, *a, seed=seed)
    )
    points._last.clear()
    for point in COUNT.points:
        require("05-count", point.name, RIGHT, seed=13)
    assert calls == [13]
    with pytest.raises(AssertionError):
        require("05-count", "inner width", RIGHT | {"inner": 80}, seed=13)
    require("05-count", "inner width", RIGHT, seed=13)
    require("05-count", "inner width", RIGHT, seed=17)
    assert calls == [13, 13, 13, 17]
