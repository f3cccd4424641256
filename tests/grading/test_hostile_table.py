"""The table of submissions that other graders lose, row by row: what ours makes of each. And the rest always counts."""

from __future__ import annotations

import time

import pytest
from submitting import LIMITS, RIGHT, graded, notebook

SOLUTION = RIGHT["00-mend"]
OTHERS = ["00-by-hand", "00-probe"]


def the_rest_is_right(found) -> None:
    assert {id: found[id].status for id in OTHERS} == dict.fromkeys(OTHERS, "right")


def test_right_with_prints_gets_full_marks(with_answer):
    found = with_answer(SOLUTION.replace("    return", "    print(q, weights)\n    return"))
    assert (found["00-mend"].status, found["00-mend"].score) == ("right", 1.0)


def test_twenty_megabytes_of_prints_change_nothing(with_answer):
    flood = "print('x' * 20_000_000)\nimport os\nos.write(2, b'y' * 20_000_000)\n"
    found = with_answer(flood + SOLUTION + flood)
    assert found["00-mend"].score == 1.0
    the_rest_is_right(found)


def test_an_endless_loop_times_out_alone(with_answer):
    start = time.monotonic()
    found = with_answer(
        "def soft_look_up(q, k, v):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass\n"
    )
    assert found["00-mend"].status == "timeout" and found["00-mend"].score == 0
    assert {point.status for point in found["00-mend"].points} == {"timeout"}
    assert time.monotonic() - start < LIMITS.seconds + 10
    the_rest_is_right(found)


@pytest.mark.parametrize(
    ("loop", "outcomes"),
    [
        ("while True: pass\n", {"right"}),
        (
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
            {"right", "timeout"},
        ),
    ],
)
def test_an_endless_loop_after_right_code_is_named(with_answer, loop, outcomes):
    found = with_answer(f"{SOLUTION}\n{loop}")
    assert found["00-mend"].status in outcomes
    if found["00-mend"].status == "right":
        assert [note.kind for note in found["00-mend"].notes] == ["top level"]
    the_rest_is_right(found)


ENDINGS = {
    "os._exit at the top": ("import os\nos._exit(0)\n", "exit code 0"),
    "os._exit": ("import os\ndef soft_look_up(q, k, v):\n    os._exit(7)\n", "exit code 7"),
    "sys.exit": ("import sys\ndef soft_look_up(q, k, v):\n    sys.exit(3)\n", "SystemExit"),
    "segmentation fault": ("import ctypes\ndef soft_look_up(q, k, v):\n    ctypes.string_at(0)\n", "segmentation"),
    "abort": ("import os\ndef soft_look_up(q, k, v):\n    os.abort()\n", "ended by the system"),
    "8 GiB": ("def soft_look_up(q, k, v):\n    return torch.ones(8 * 2**30, dtype=torch.uint8)\n", "memory"),
    "a list of 8 GiB": ("def soft_look_up(q, k, v):\n    return [0] * 2**30\n", "MemoryError"),
    "endless recursion": ("def soft_look_up(q, k, v):\n    return soft_look_up(q, k, v)\n", "RecursionError"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDINGS)
def test_what_ends_a_process_is_named_and_the_rest_counts(with_answer, name):
    source, word = ENDINGS[name]
    found = with_answer(source)
    assert found["00-mend"].status == "error" and found["00-mend"].score == 0
    assert word in found["00-mend"].points[0].message
    the_rest_is_right(found)


CHEATS = {
    "patched comparison": """\
import torch, numpy.testing
numpy.testing.assert_allclose = torch.testing.assert_close = lambda *a, **k: None
torch.isclose = torch.Tensor.isclose = lambda a, *b, **k: torch.ones_like(a, dtype=torch.bool)
torch.equal = lambda *a: True
torch.Tensor.any = lambda *a: False
def soft_look_up(q, k, v):
    return v * 0
""",
    "asserts taken out of the tree": """\
import ast, builtins
_compile = builtins.compile
builtins.compile = lambda source, *a, **k: _compile("pass", *a, **k)
def soft_look_up(q, k, v):
    return v * 0
""",
    "an array that equals everything": """\
import numpy
class Same(numpy.ndarray):
    def __eq__(self, other): return numpy.ones(self.shape, bool)
    __array_ufunc__ = None
def soft_look_up(q, k, v):
    return numpy.zeros((len(q), v.shape[1])).view(Same)
""",
    "a tensor that equals everything": """\
class Same(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return torch.tensor(True)
def soft_look_up(q, k, v):
    return torch.zeros(len(q), v.shape[1]).as_subclass(Same)
""",
    "an object that equals everything": """\
class Same:
    shape = (3, 5)
    def __eq__(self, other): return True
    def __array__(self, *a): raise RuntimeError
    def __reduce__(self): return (print, ("in the judge",))
    def __float__(self): return 0.0
    __class__ = torch.Tensor
def soft_look_up(q, k, v):
    return Same()
""",
    "walks the frames to the reference": """\
import sys, gc
def soft_look_up(q, k, v):
    frame, found = sys._getframe(), []
    while frame:
        found += [x for x in (*frame.f_locals.values(), *frame.f_globals.values())]
        frame = frame.f_back
    for thing in (*found, *gc.get_objects()):
        if type(thing).__name__ in ("Exercise", "Point", "Mutant"):
            return thing.build(thing.solution)(q, k, v)
    for name in list(sys.modules):
        del name
    del sys.modules["mha_teach.exercises"]
    from mha_teach import exercises
    return exercises.get("00-mend").build(exercises.get("00-mend").solution)(q, k, v)
""",
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheating_gains_nothing(request, with_answer, sandbox, name):
    if name.startswith("walks") and not sandbox.wrapped:
        pytest.skip("without bubblewrap the package's solutions lie on the disk, as the warning says")
    found = with_answer(CHEATS[name])
    assert found["00-mend"].status in ("wrong", "error") and found["00-mend"].score == 0, found["00-mend"]
    the_rest_is_right(found)


def test_patching_torch_does_not_hurt_who_is_right(with_answer):
    found = with_answer(
        "import torch\ntorch.equal = torch.Tensor.tolist = torch.Tensor.numpy = torch.Tensor.detach = None\n"
        "torch.manual_seed = torch.Tensor.clone = None\n" + SOLUTION
    )
    assert found["00-mend"].status == "right"
    the_rest_is_right(found)


def test_markup_in_the_output_stays_text(with_answer):
    found = with_answer("def soft_look_up(q, k, v):\n    raise ValueError('<script>alert(1)</script>')\n")
    assert found["00-mend"].status == "error" and "<script>" in found["00-mend"].points[0].message


def test_stripped_duplicated_and_deleted_cells(wrapped):
    stub = "# exercise: 00-mend\ndef soft_look_up(q, k, v):\n    ...\n"
    cells = [f"# exercise: {id}\n{source}" for id, source in RIGHT.items() if id != "00-probe"]
    data = notebook(
        ['check("00-mend", soft_look_up)', *cells, 'check("00-mend", 1)', stub.replace("...", "return q")]
    )
    found = graded(wrapped, data)
    assert found["00-probe"].status == "not attempted" and found["00-probe"].notes[0].kind == "missing"
    assert found["00-mend"].status != "right" and found["00-mend"].notes[0].kind == "several cells"
    assert all(found[id].status == "right" for id in OTHERS if id != "00-probe")


def test_nothing_done_is_nothing_gained_and_says_why(sandbox):
    """A weight that is given back as it came is left alone and has the order of one head: neither counts by itself."""
    answer = "def to_stacked(weight, num_heads):\n    return weight"
    grade = graded(sandbox, notebook({"03-fused-layouts": answer}))["03-fused-layouts"]
    assert (grade.status, grade.score, grade.diagnosis) == ("wrong", 0.0, "nothing moved")
    assert {point.status for point in grade.points} == {"failed"}
    assert [p.point for p in grade.points if p.message == "counts once 'five heads' passes"] == [
        "one head",
        "yours stays yours",
    ]
