"""The wall itself: what crosses it, what it says is missing, and that every kind of exercise works through it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from submitting import LIMITS, RIGHT, graded, notebook

from mha_teach import exercises
from mha_teach.exercises import run
from mha_teach.grading.child import wire
from mha_teach.grading.sandbox import LOST, Sandbox
from mha_teach.grading.session import Ended, Session

# One of each kind of traffic: plain values, formulas, gradients, callbacks, whole modules, shared memory.
KINDS = [
    "00-by-hand",
    "06-saved",
    "04-masked-softmax",
    "06-knockouts",
    "05-ignored",
    "03-split-and-merge",
    "02-gradients",
]


@pytest.mark.parametrize("id", KINDS)
def test_every_kind_of_answer_is_judged_as_in_the_notebook(wrapped, id):
    exercise = exercises.get(id)
    sources = {"solution": exercise.solution, "stub": exercise.stub, "variant": exercise.variants[1]}
    sources |= {mutant.name: exercise.source_of(mutant) for mutant in exercise.mutants[:3]}
    for name, source in sources.items():
        answer = exercise.build(source, name)
        answers = answer if len(exercise.names) > 1 else (answer,)
        wanted = exercise.check(*answers, seed=20_011)
        got = graded(wrapped, notebook({id: source}))[id]
        assert (got.status, got.score, got.diagnosis or None) == (
            wanted.status,
            wanted.score,
            wanted.diagnosis,
        ), name


def test_a_tensor_that_is_given_twice_arrives_as_one():
    packer = wire.Packer(lambda other: wire.Opaque("other"), layout=True)
    x = torch.randn(2, 3)
    first, second = wire.unpack(packer.pack((x, x)), b"".join(packer.buffers), lambda other: other)
    assert first is second


def test_an_answer_may_use_the_notebooks_other_cells(sandbox):
    cells = [
        "import math as m\nwidth = 3\nimport numpy as np",
        "def root(x):\n    return m.sqrt(x) + 0 * width\n",
        "while True: pass",
        "%matplotlib inline\n!ls\nbroken(",
        "# exercise: 00-mend\n%%time\ndef soft_look_up(q, k, v):\n    return (q @ k.T / root(q.shape[1])).softmax(-1) @ v\n",
    ]
    assert graded(sandbox, notebook(cells))["00-mend"].status == "right"


def test_a_missing_name_is_the_students_error(sandbox):
    mine = graded(sandbox, notebook({"00-mend": "def soft_look_up(q, k, v):\n    return helper(q)\n"}))[
        "00-mend"
    ]
    assert mine.status == "error"
    assert mine.points[0].message == "NameError: name 'helper' is not defined (line 3: return helper(q))"


def test_a_name_that_is_not_defined_is_not_attempted_and_named(sandbox):
    mine = graded(sandbox, notebook({"00-mend": "def other(q):\n    return q\n"}))["00-mend"]
    assert mine.status == "not attempted" and [note.kind for note in mine.notes] == ["undefined"]


def test_a_cell_that_loops_before_it_defines_anything_ran_out_of_time(sandbox):
    mine = graded(sandbox, notebook({"00-mend": "while True:\n    pass\n"}))["00-mend"]
    assert (mine.status, {point.status for point in mine.points}) == ("timeout", {"timeout"})
    assert "still running" in mine.points[0].message


def test_protections_that_are_missing_are_named(limited):
    assert limited.missing[0] == "bubblewrap" and LOST["bubblewrap"] in limited.warning()


def test_behind_bubblewrap_nothing_is_missing_or_it_is_said(wrapped):
    assert set(wrapped.missing) <= {"namespaces", "filter"} and wrapped.warning().count(";") <= 1


def test_where_namespaces_can_not_be_nested_each_submission_gets_a_new_sandbox(wrapped):
    with Sandbox(LIMITS, wrap=True, without=("namespaces",)) as plain:
        before = plain._process.pid
        assert "namespaces" in plain.missing
        assert graded(plain, notebook({"00-mend": RIGHT["00-mend"]}))["00-mend"].status == "right"
        assert plain._process.pid != before


def test_without_the_filter_a_left_over_process_is_killed():
    leave = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        time.sleep(600.25)\n    os._exit(0)\n{RIGHT['00-mend']}"
    )
    with Sandbox(LIMITS, wrap=False, without=("filter",)) as open_:
        assert LOST["filter"] in open_.warning()
        assert graded(open_, notebook({"00-mend": leave}))["00-mend"].status == "right"
        own = open_._process.pid
        with open(f"/proc/{own}/task/{own}/children") as children:
            assert children.read() == ""


def test_the_sandbox_comes_back_when_it_is_killed(limited):
    limited._process.kill()
    limited._process.wait()
    assert graded(limited, notebook({"00-mend": RIGHT["00-mend"]}))["00-mend"].status == "right"


def test_it_ends_with_the_process_that_started_it(tmp_path):
    code = (
        "import os, sys\nfrom mha_teach.grading.sandbox import Sandbox\n"
        "print(Sandbox(wrap=False)._process.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    number, last = int(done.stdout), time.monotonic() + 10
    while _alive(number) and time.monotonic() < last:
        time.sleep(0.05)
    assert not _alive(number)


def _alive(number: int) -> bool:
    try:
        with open(f"/proc/{number}/stat") as stat:
            return stat.read().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(PLAIN)
def test_plain_values_come_back_as_they_were(value):
    packer = wire.Packer(lambda other: wire.Opaque("other"))
    tree = json.loads(json.dumps(packer.pack(value)))
    assert repr(wire.unpack(tree, b"".join(packer.buffers), lambda other: other)) == repr(value)


@pytest.mark.parametrize("dtype", wire.DTYPES.values())
@pytest.mark.parametrize("layout", [False, True])
def test_tensors_come_back_as_they_were(dtype, layout):
    for value in (
        torch.arange(30).reshape(2, 3, 5).to(dtype).transpose(0, 2),
        torch.zeros(0, 3).to(dtype),
        torch.ones(()).to(dtype),
    ):
        packer = wire.Packer(lambda other: wire.Opaque("other"), layout=layout)
        got = wire.unpack(packer.pack(value), b"".join(packer.buffers), lambda other: other)
        assert torch.equal(got, value) and got.dtype == dtype
        assert got.stride() == value.stride() or not layout


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        PLAIN | st.sampled_from(list("ntsidluaoe")), lambda inner: st.lists(inner, max_size=6), max_leaves=20
    ),
    st.binary(max_size=40),
)
def test_anything_else_is_refused_in_one_way(tree, blob):
    try:
        wire.unpack(tree, blob, lambda other: other)
    except wire.Unfit:
        pass


@pytest.mark.parametrize(
    "tree",
    [
        ["t", "float32", [3], 0, 400, {}],
        ["t", "float32", [2**39, 2**39], 0, 4, {}],
        ["t", "float32", [-1], 0, 4, {}],
        ["t", "float32", [3], -4, 4, {}],
        ["t", "object", [1], 0, 4, {}],
        ["t", "float32", [9], 0, 4, {"stride": [1], "offset": 0}],
        ["a", "|O", [1], 0, 8],
        ["i", "9" * 5000],
        ["f", "os.system"],
        ["d", [[["l", []], ["n"]]]],
        ["pickle", "gASV"],
        [[[[]]]],
        None,
    ],
)
def test_lies_about_sizes_and_kinds_are_refused(tree):
    with pytest.raises(wire.Unfit):
        wire.unpack(tree, bytes(8), lambda other: other)


def test_deep_trees_are_refused():
    tree = ["n"]
    for _ in range(100):
        tree = ["l", [tree]]
    with pytest.raises(wire.Unfit):
        wire.unpack(tree, b"", lambda other: other)


class Line:
    """A line on which the other side sends whatever it likes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def settimeout(self, seconds: float) -> None: ...

    def sendall(self, data: bytes) -> None: ...

    def close(self) -> None: ...

    def recv(self, size: int) -> bytes:
        found, self.data = self.data[:size], self.data[size:]
        return found


class Nobody:
    limits = LIMITS

    def end(self, number, wait=0.0):
        return 0


@pytest.mark.parametrize("seed", range(30))
def test_noise_on_the_line_is_an_error_of_the_student(seed):
    chance = random.Random(seed)
    noise = chance.randbytes(chance.randrange(64))
    if seed % 2:
        noise = wire.HEAD.pack(len(noise), 0) + noise
    session = Session(Nobody())
    session._line, session._deadline = Line(noise), time.monotonic() + 5
    with pytest.raises((Ended, run.TimeUp, Exception)) as caught:
        session.request({"op": "call"}, [])
    assert caught.type.__module__.startswith("mha_teach.")
