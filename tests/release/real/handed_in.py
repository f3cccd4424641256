"""What a made-up class hands in, and what our own check says of it. Runs in the book's environment."""

from __future__ import annotations

import json
from pathlib import Path

from mha_teach.exercises import Exercise
from mha_teach.release.assignment import Assignment, marks_of, with_id
from mha_teach.release.nbgrader import grade_ids
from mha_teach.release.points import marks_of_points

SEED = 20011  # of the hidden tests; the check in a notebook has 0


def answers(exercise: Exercise) -> list[tuple[str, str]]:
    """Name and source of the solution, the stub and all mutants."""
    known = [("solution", exercise.solution), ("stub", exercise.stub)]
    return known + [(f"mutant: {one.name}", exercise.source_of(one)) for one in exercise.mutants]


def submissions(assignment: Assignment) -> list[dict[str, tuple[str, str]]]:
    """Submission k holds answer k of every exercise; who has fewer answers begins again."""
    known = {one.id: answers(one) for one in assignment.exercises if one.points}
    return [
        {id: several[k % len(several)] for id, several in known.items()}
        for k in range(max(map(len, known.values())))
    ]


def expected(assignment: Assignment, seed: int = SEED) -> list[dict[str, dict]]:
    """For each submission and exercise: which points our check passes, and the marks in all."""
    found = []
    for submission in submissions(assignment):
        row = {}
        for exercise in (one for one in assignment.exercises if one.points):
            name, source = submission[exercise.id]
            answer = exercise.build(source)
            verdict = exercise.check(*(answer if len(exercise.names) > 1 else (answer,)), seed=seed)
            passed = {point.name for point in verdict.points if point.status == "passed"}
            points = {point.name: point.name in passed for point in exercise.points}
            marks = verdict.score * marks_of(exercise)
            row[exercise.id] = {"answer": name, "status": verdict.status, "points": points, "marks": marks}
        found.append(row)
    return found


def order(assignment: Assignment, folder: Path) -> Path:
    """Write down, for the runners, what each submission's cells hold; they know nothing of this package."""
    cells = [
        {
            id: with_id(one, submission[id][1])
            for id, one in ((e.id, e) for e in assignment.exercises if e.points)
        }
        for submission in submissions(assignment)
    ]
    path = folder / "order.json"
    path.write_text(json.dumps({"slug": assignment.slug, "submissions": cells}), encoding="utf-8")
    return path


def from_nbgrader(assignment: Assignment, grades: list[dict[str, float]]) -> list[dict[str, dict]]:
    """nbgrader's gradebook, cell by cell, in our form."""
    return [
        {
            one.id: _scored({name: grades_of[id] for name, id in grade_ids(assignment, one).items()}, one)
            for one in assignment.exercises
            if one.points
        }
        for grades_of in grades
    ]


def from_otter(assignment: Assignment, results: list[dict[str, dict]]) -> list[dict[str, dict]]:
    """otter's results, test case by test case, in our form; the marks are otter's own sum."""
    found = []
    for result in results:
        row = {}
        for one in (e for e in assignment.exercises if e.points):
            passed = dict(zip((p.name for p in one.points), result[one.id]["passed"], strict=True))
            row[one.id] = {"points": passed, "marks": result[one.id]["score"]}
        found.append(row)
    return found


def _scored(scores: dict[str, float], exercise: Exercise) -> dict:
    full = marks_of_points(exercise)
    return {
        "points": {name: abs(score - full[name]) < 1e-9 for name, score in scores.items()},
        "marks": sum(scores.values()),
    }


def differences(ours: list[dict[str, dict]], theirs: list[dict[str, dict]]) -> list[str]:
    """A line for every exercise of every submission whose marks or points aren't the same."""
    if len(ours) != len(theirs):
        return [f"{len(ours)} submissions were handed in, {len(theirs)} came back"]
    lines = []
    for k, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        for id, mine in left.items():
            other = right.get(id)
            if other is None:
                lines.append(f"submission {k}, {id} ({mine['answer']}): not graded")
            elif abs(mine["marks"] - other["marks"]) > 1e-6 or mine["points"] != other["points"]:
                parted = [
                    name for name, passed in mine["points"].items() if passed != other["points"].get(name)
                ]
                lines.append(
                    f"submission {k}, {id} ({mine['answer']}, {mine['status']}): ours {mine['marks']:.4f}, "
                    f"theirs {other['marks']:.4f}; points that differ: {', '.join(parted) or 'none'}"
                )
    return lines
