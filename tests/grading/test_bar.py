"""How far the grading is: on a terminal, through a pipe, and how good the estimate is."""

from __future__ import annotations

import io
import os
import pty
import re

import pytest

from mha_teach.grading.progress import Bar


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def grade(stream, clock: Clock, first: float, each: float, count: int = 6) -> None:
    with Bar(count, stream, clock) as bar:
        for number in range(count):
            clock.now += each if number else first
            bar.step(f"student {number}")


def test_through_a_pipe_there_are_few_plain_lines():
    stream = io.StringIO()
    grade(stream, Clock(), 30, 6)
    assert stream.getvalue().splitlines() == [
        "grading 6 files",
        "graded 1 of 6 files, time left unknown yet",
        "graded 3 of 6 files, about 18 s left",  # the first took longer, since it waited for the sandbox
        "graded 5 of 6 files, about 6 s left",
        "graded 6 of 6 files in 60 s",
    ]


def test_on_a_terminal_one_line_is_rewritten():
    stream = Terminal()
    grade(stream, Clock(), 3, 50)
    drawn = stream.getvalue().split("\r\x1b[K")
    assert drawn[1] == f"grading 0/6 [{'.' * 24}] starting"
    assert drawn[4] == f"grading 3/6 [{'#' * 12}{'.' * 12}] about 2 min left  student 2"
    assert drawn[-1] == "graded 6 of 6 files in 4 min\n"


def test_an_error_leaves_a_line_of_its_own():
    stream = io.StringIO()
    with pytest.raises(RuntimeError), Bar(1, stream, Clock()):
        raise RuntimeError
    assert stream.getvalue() == "grading 1 file\ngraded 0 of 1 file in 0 s, then stopped\n"


def test_a_real_terminal_that_does_not_know_its_width():
    ours, theirs = pty.openpty()  # such a one has nought columns
    with os.fdopen(theirs, "w") as stream:
        grade(stream, Clock(), 1, 1, 3)
        seen = ""
        while "graded" not in seen:
            seen += os.read(ours, 9999).decode()
    os.close(ours)
    assert "grading 2/3" in seen and "about 1 s left" in seen
    assert max(map(len, re.split(r"[\r\n]+", seen))) < 90
