"""The source of otter's assignment; ``make test ONLY=exports`` puts it into the hands of otter itself."""

from __future__ import annotations

import ast
import re

import nbformat
import pytest

from mha_teach.release import otter
from mha_teach.release.assignment import assignments, stub_source
from mha_teach.release.packing import WHEEL

ALL = assignments()
ONE = next(one for one in ALL if one.slug == "03_reshaping")
# otter drops or replaces lines that end so, wherever they stand in a solution's cell
RESERVED = re.compile(r"# ?(SOLUTION|SEED|IGNORE)\s*$|# (BEGIN|END) (PROMPT|SOLUTION|IGNORE)\s*$")


def blocks(assignment, wheel=""):
    """The notebook as pairs (kind, text)."""
    cells = otter.source_notebook(assignment, 5, wheel)["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


@pytest.mark.parametrize("assignment", ALL, ids=lambda one: one.slug)
def test_the_notebook_is_valid_and_its_blocks_close(assignment):
    nbformat.validate(nbformat.from_dict(otter.source_notebook(assignment, 5)))
    open_blocks, questions = [], []
    for kind, text in blocks(assignment)[1:]:
        if kind != "raw":
            continue
        verb, block = re.match(r"# (BEGIN|END) (\w+)", text).groups()
        if verb == "BEGIN":
            open_blocks.append(block)
            questions += re.findall(r'^name: "(.+)"$', text, re.MULTILINE)
        else:
            assert open_blocks.pop() == block
    assert open_blocks == []
    assert questions == [one.id for one in assignment.exercises if one.points]


@pytest.mark.parametrize("assignment", ALL, ids=lambda one: one.slug)
def test_each_point_is_one_hidden_test_and_their_points_add_up(assignment):
    tests = [text for kind, text in blocks(assignment) if kind == "code" and "# BEGIN TEST CONFIG" in text]
    assert all("hidden: true" in text for text in tests)
    assert len(tests) == sum(len(one.points) for one in assignment.exercises)
    worth = [float(re.search(r"^points: (.+)$", text, re.MULTILINE)[1]) for text in tests]
    assert sum(worth) == pytest.approx(assignment.marks)
    for exercise in (one for one in assignment.exercises if one.points):
        own = [ast.parse(text).body for text in tests if f'require("{exercise.id}"' in text]
        assert all(isinstance(body[-1], ast.FunctionDef) and len(body) == 2 for body in own)
        assert len({body[-1].name for body in own}) == len(exercise.points), "one name would hide another"


@pytest.mark.parametrize("assignment", ALL, ids=lambda one: one.slug)
def test_the_solution_stands_between_marks_and_nothing_else_is_taken_for_one(assignment):
    for exercise in (one for one in assignment.exercises if one.points):
        (text,) = [
            t for k, t in blocks(assignment) if k == "code" and t.startswith(f"# exercise: {exercise.id}\n")
        ]
        stub, _, rest = text.partition(f"\n{otter.BEGIN}\n")
        assert stub == stub_source(exercise)
        assert rest == f"{exercise.solution.strip()}\n{otter.END}"
        assert not any(RESERVED.search(line) for line in stub.splitlines() + rest.splitlines()[:-1])


def test_reserved_lines_are_noticed():
    assert RESERVED.search("x = 3  # SOLUTION")
    assert RESERVED.search("seed = 1 # SEED")
    assert not RESERVED.search("x = 3  # the solution")


def test_no_cell_needs_otter():
    config = blocks(ONE)[0][1]
    for line in ("init_cell: false", "check_all_cell: false", "export_cell: false", "ok_format: false"):
        assert line in config
    assert not any("import otter" in text or "grader." in text for _, text in blocks(ONE))


def test_the_wheel_goes_along_where_it_is(tmp_path):
    path = otter.write(ONE, tmp_path / "without", 5)
    assert "/autograder" not in path.read_text(encoding="utf-8")
    (tmp_path / WHEEL).write_bytes(b"")
    path = otter.write(ONE, tmp_path, 5)
    assert f"/autograder/source/files/{WHEEL}" in path.read_text(encoding="utf-8")
    assert "otter assign" in (tmp_path / "README.txt").read_text(encoding="utf-8")


def test_the_seed_makes_the_bytes(tmp_path):
    texts = [otter.write(ONE, tmp_path / name, 5).read_bytes() for name in "ab"]
    assert texts[0] == texts[1]
    assert otter.write(ONE, tmp_path / "c").read_bytes() != texts[0]
