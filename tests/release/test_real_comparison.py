"""The comparison with the real tools can fail: it finds one changed score among all."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mha_teach.release.assignment import assignments
from mha_teach.release.nbgrader import grade_ids
from mha_teach.release.points import marks_of_points

sys.path.insert(0, str(Path(__file__).with_name("real")))
import handed_in
from run_nbgrader import fill

(WHOLE,) = assignments(["03"])
ONE = replace(WHOLE, exercises=WHOLE.exercises[:2])  # all that a comparison needs, and quick to judge


@pytest.fixture(scope="module")
def ours():
    return handed_in.expected(ONE)


def as_nbgrader(ours):
    """The gradebook of an nbgrader that agrees with us."""
    return [
        {
            grade_ids(ONE, one)[name]: marks if row[one.id]["points"][name] else 0.0
            for one in ONE.exercises
            if one.points
            for name, marks in marks_of_points(one).items()
        }
        for row in ours
    ]


def as_otter(ours):
    """The results of an otter that agrees with us."""
    return [
        {id: {"score": found["marks"], "passed": list(found["points"].values())} for id, found in row.items()}
        for row in ours
    ]


def test_the_made_up_class_hands_in_every_known_answer(ours):
    scored = [one for one in ONE.exercises if one.points]
    for one in scored:
        assert {row[one.id]["answer"] for row in ours} == {name for name, _ in handed_in.answers(one)}
    assert [row["status"] for row in ours[0].values()] == ["right"] * len(scored)
    assert [row["status"] for row in ours[1].values()] == ["not attempted"] * len(scored)
    assert all(
        row[one.id]["status"] in ("wrong", "error")
        for row in ours
        for one in scored
        if row[one.id]["answer"].startswith("mutant")
    )


@pytest.mark.parametrize(
    ("read", "made"), [(handed_in.from_nbgrader, as_nbgrader), (handed_in.from_otter, as_otter)]
)
def test_equal_scores_are_equal(ours, read, made):
    assert handed_in.differences(ours, read(ONE, made(ours))) == []


def test_one_changed_score_is_found(ours):
    grades = as_nbgrader(ours)
    grades[7]["03_reshaping-strides-test-late"] += 0.25
    (line,) = handed_in.differences(ours, handed_in.from_nbgrader(ONE, grades))
    assert line.startswith("submission 7, 03-strides (")
    results = as_otter(ours)
    results[0]["03-strides"]["score"] -= 0.01
    (line,) = handed_in.differences(ours, handed_in.from_otter(ONE, results))
    assert "ours 2.0000, theirs 1.9900; points that differ: none" in line


def test_other_points_for_the_same_marks_are_found(ours):
    results = as_otter(ours)
    results[0]["03-strides"]["passed"][1] = False
    (line,) = handed_in.differences(ours, handed_in.from_otter(ONE, results))
    assert line.endswith("ours 2.0000, theirs 2.0000; points that differ: swapped")


def test_a_lost_submission_or_exercise_is_found(ours):
    theirs = copy.deepcopy(ours)
    assert handed_in.differences(ours, theirs[:-1]) == [
        f"{len(ours)} submissions were handed in, {len(ours) - 1} came back"
    ]
    del theirs[3]["03-strides"]
    assert "not graded" in handed_in.differences(ours, theirs)[0]


def test_filling_needs_every_cell():
    notebook = {"cells": [{"cell_type": "code", "source": ["# exercise: 03-strides\n", "merged = ''\n"]}]}
    fill(notebook, {"03-strides": "# exercise: 03-strides\nmerged = 'n'\n"})
    assert "".join(notebook["cells"][0]["source"]).endswith("merged = 'n'\n")
    with pytest.raises(SystemExit, match="no cell for 03-addresses"):
        fill(notebook, {"03-addresses": ""})
