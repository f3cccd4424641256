"""The source of nbgrader's assignment; ``make test ONLY=exports`` puts it into the hands of nbgrader itself."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import nbformat
import pytest

from mha_teach.release import nbgrader
from mha_teach.release.assignment import assignments, stub_source

ALL = assignments()
ONE = next(one for one in ALL if one.slug == "03_reshaping")


def without(text: str, begin: str, end: str, stub: str | None) -> str:
    """What nbgrader leaves of a cell: the lines between two marks go, ``stub`` takes their place."""
    kept, inside = [], False
    for line in text.split("\n"):
        if begin in line:
            inside = True
            kept += [stub] if stub is not None else []
        elif end in line:
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def cells(assignment, seed=5):
    return nbgrader.source_notebook(assignment, seed)["cells"]


def text(cell):
    return "".join(cell["source"])


@pytest.mark.parametrize("assignment", ALL, ids=lambda one: one.slug)
def test_the_notebook_is_valid_and_its_ids_differ(assignment):
    nbformat.validate(nbformat.from_dict(nbgrader.source_notebook(assignment, 5)))
    about = [cell["metadata"]["nbgrader"] for cell in cells(assignment) if "nbgrader" in cell["metadata"]]
    ids = [one["grade_id"] for one in about]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_\-]+", id) for id in ids)
    assert all(one["schema_version"] == 3 and ("points" in one) == one["grade"] for one in about)


@pytest.mark.parametrize("assignment", ALL, ids=lambda one: one.slug)
def test_points_add_up_to_marks_and_open_exercises_have_none(assignment):
    graded = [
        c["metadata"]["nbgrader"] for c in cells(assignment) if c["metadata"].get("nbgrader", {}).get("grade")
    ]
    assert sum(one["points"] for one in graded) == pytest.approx(assignment.marks)
    assert len(graded) == sum(len(exercise.points) for exercise in assignment.exercises)
    for exercise in (one for one in assignment.exercises if not one.points):
        (stub,) = [c for c in cells(assignment) if text(c).startswith(f"# exercise: {exercise.id}\n")]
        assert "nbgrader" not in stub["metadata"]


@pytest.mark.parametrize("assignment", ALL, ids=lambda one: one.slug)
def test_the_solution_goes_and_the_stub_stays(assignment):
    scored = {one.id: one for one in assignment.exercises if one.points}
    found = set()
    for cell in cells(assignment):
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            source = text(cell)
            ast.parse(source)
            exercise = scored[re.match(r"# exercise: (\S+)", source)[1]]
            left = without(source, "BEGIN SOLUTION", "END SOLUTION", "")
            assert left.rstrip("\n") == stub_source(exercise)
            assert exercise.solution.strip() in source
            found.add(exercise.id)
    assert found == set(scored)


def test_tests_are_locked_and_hidden():
    tests = [c for c in cells(ONE) if c["metadata"].get("nbgrader", {}).get("grade")]
    for cell in tests:
        assert cell["metadata"]["nbgrader"]["locked"]
        left = without(text(cell), "BEGIN HIDDEN TESTS", "END HIDDEN TESTS", None)
        assert left.startswith("# 03-")
        assert "require" not in left
        assert "seed=5" in text(cell)


def test_ids_are_stable():
    ids = nbgrader.grade_ids(ONE, ONE.exercises[0])
    assert ids == {
        "strides": "03_reshaping-addresses-test-strides",
        "address": "03_reshaping-addresses-test-address",
        "position": "03_reshaping-addresses-test-position",
    }


def test_the_seed_makes_the_bytes(tmp_path):
    first, again, other = (tmp_path / name for name in "abc")
    texts = [nbgrader.write(ONE, first, 5).read_bytes(), nbgrader.write(ONE, again, 5).read_bytes()]
    assert texts[0] == texts[1]
    assert nbgrader.write(ONE, other).read_bytes() != texts[0], "without a seed nobody can guess it"
    assert (first / "source/03_reshaping/03_reshaping.ipynb").is_file()


def test_the_configuration_is_python_that_nbgrader_reads(tmp_path):
    nbgrader.write(ONE, tmp_path, 5)

    class Anything:
        def __getattr__(self, name):
            made = Anything()
            object.__setattr__(self, name, made)
            return made

    config = Anything()
    text = (tmp_path / "nbgrader_config.py").read_text(encoding="utf-8")
    exec(text, {"get_config": lambda: config})  # noqa: S102 (our own text)
    assert config.ClearSolutions.code_stub == {"python": ""}
    assert config.ClearSolutions.begin_solution_delimeter == "BEGIN SOLUTION"
    assert "nbgrader generate_assignment" in (tmp_path / "README.txt").read_text(encoding="utf-8")


def test_the_tools_are_in_no_students_environment():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = json.dumps([project["dependencies"], project["optional-dependencies"]])
    lock = (root / "constraints.txt").read_text(encoding="utf-8")
    assert not re.search(r"nbgrader|otter", needs + lock)
