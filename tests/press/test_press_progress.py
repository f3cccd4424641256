from __future__ import annotations

import io
import sys

import pytest

from mha_teach.press import progress as module
from mha_teach.press.problems import PressError
from mha_teach.press.progress import Progress
from mha_teach.press.project import version, wheel_name


@pytest.fixture
def screen(monkeypatch):
    """stderr as a terminal or not, and a clock that the test moves."""

    def make(live: bool) -> io.StringIO:
        stream = io.StringIO()
        stream.isatty = lambda: live
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return make


def test_on_a_terminal_one_line_is_rewritten(screen):
    stream = screen(True)
    with Progress("03_idea") as progress:
        progress.cell(1, 7)
        progress.cell(2, 7)
        progress.done("built")
    assert stream.getvalue().count("\n") == 1
    assert "\r\x1b[K03_idea  cell 2/7" in stream.getvalue()


def test_in_a_log_a_line_comes_at_most_every_five_seconds(screen, monkeypatch):
    stream = screen(False)
    clock = iter([0, 1, 2, 6, 7, 13])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    progress = Progress("03_idea")
    for at in range(1, 5):
        progress.cell(at, 7)
    progress.done("built")
    assert stream.getvalue() == "03_idea  cell 3/7\n03_idea  built  13 s\n"


def test_an_error_does_not_overwrite_the_line(screen):
    stream = screen(True)
    with pytest.raises(PressError), Progress("03_idea") as progress:
        progress.cell(1, 7)
        raise PressError("boom")
    assert stream.getvalue().endswith("\n")


def test_the_wheel_is_named_after_the_version(book):
    assert wheel_name(book.root) == "mha_teach-0.1.0-py3-none-any.whl"


def test_a_package_without_version_is_told(book):
    book.write("mha_teach/__init__.py", "")
    with pytest.raises(PressError, match="no line __version__"):
        version(book.root)
