"""How processes come and go in the sandbox: one for each exercise, the old one gone before the new one begins."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from submitting import LIMITS, graded, notebook

from mha_teach.exercises import settings
from mha_teach.grading.sandbox import Sandbox

# What an answer finds out about its own process comes back as the message of an error.
LOOK = """
import ctypes, os
def soft_look_up(q, k, v):
    place = ctypes.c_void_p()
    ctypes.CDLL(None).prctl(40, ctypes.byref(place), 0, 0, 0)
    noted = ctypes.c_int.from_address(place.value).value
    raise ValueError(repr((os.getpid(), os.getppid(), os.getuid(), noted, os.listdir("."), os.listdir("/proc"))))
"""


@pytest.fixture
def twice(wrapped):
    """A sandbox as on systems where a fork can't lead into new namespaces at once."""
    with Sandbox(LIMITS, wrap=True, without=("clone",)) as made:
        yield made


def seen(sandbox: Sandbox) -> tuple:
    message = graded(sandbox, notebook({"00-mend": LOOK}))["00-mend"].points[0].message
    return ast.literal_eval(message.removeprefix("ValueError: ").partition(" (line")[0])


@pytest.mark.parametrize("way", ["wrapped", "twice"])
def test_an_exercise_is_alone_in_its_namespace(request, way):
    sandbox = request.getfixturevalue(way)
    if not sandbox.apart:
        pytest.skip("namespaces can't be nested here")
    own, parent, user, noted, here, processes = seen(sandbox)
    assert (own, parent, here, processes) == (1, 0, [], [])
    assert noted == own, "the C library takes another thread for this one"
    assert user == Path("/proc/self").stat().st_uid
    assert "clone" not in sandbox.missing and not sandbox.missing


def test_a_process_is_gone_before_the_next_one_begins(limited):
    own = limited._process.pid
    children = Path(f"/proc/{own}/task/{own}/children")
    for _ in range(3):
        number, line = limited.spawn()
        assert len(children.read_text().split()) == 1
        line.close()
        assert limited.end(number) is None  # nobody waits for it
    limited.finish_submission()
    assert children.read_text() == ""


def test_requests_that_arrive_together_are_answered_one_by_one(limited):
    first, line = limited.spawn()
    line.close()
    limited._say({"op": "end", "id": first, "wait": 0.0})
    limited._say({"op": "end", "id": 0, "wait": 0.0})
    second, line = limited.spawn()
    line.close()
    assert second != first and limited.end(second, wait=5.0) == 0


def test_settings_that_are_only_put_in_another_order_are_looked_at_one_by_one():
    one = {"a": 1, "b": []}
    assert settings._identical(one, dict(one))
    assert not settings._identical(one, {"b": one["b"], "a": 1})
    assert not settings._identical(one, {"a": 1, "b": []})
    assert not settings._identical(one, {"a": 1})
    assert not settings._identical({"a": 1}, one)
