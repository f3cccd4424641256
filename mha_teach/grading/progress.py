"""How far the grading is: a bar that is rewritten on a terminal, and now and then a plain line where there is none."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

_WIDTH, _EVERY, _REDRAW = 24, 10.0, 0.1


class Bar:
    """A context manager; ``step`` after each file. ``clock`` is for tests.

    The first file waits for the sandbox, so the estimate rests on those after it.
    """

    def __init__(
        self, total: int, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total, self.done = total, 0
        self._stream, self._clock = stream or sys.stderr, clock
        self._live = self._stream.isatty()
        self._began = self._last = clock()
        self._first = 0.0  # when the first file was done

    def __enter__(self) -> Self:
        if self._live:
            self._draw("starting")
        else:
            self._line(f"grading {_files(self.total)}")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._live:
            self._stream.write("\r\x1b[K")
        took = _time(self._clock() - self._began)
        self._line(
            f"graded {self.done} of {_files(self.total)} in {took}" + (", then stopped" if kind else "")
        )

    def step(self, name: str) -> None:
        """One more file is in the gradebook; ``name`` is whose."""
        now = self._clock()
        self.done += 1
        self._first = self._first or now
        if now - self._last < (_REDRAW if self._live else _EVERY) or (
            self.done == self.total and not self._live
        ):
            return
        self._last = now
        if self._live:
            self._draw(f"{self.left(now)}  {name[:20]}")
        else:
            self._line(f"graded {self.done} of {_files(self.total)}, {self.left(now)}")

    def left(self, now: float) -> str:
        """The estimate in words."""
        if self.done < 2 or now <= self._first:
            return "time left unknown yet"
        return f"about {_time((now - self._first) / (self.done - 1) * (self.total - self.done))} left"

    def _draw(self, words: str) -> None:
        full = _WIDTH * self.done // max(self.total, 1)
        line = f"grading {self.done}/{self.total} [{'#' * full}{'.' * (_WIDTH - full)}] {words}"
        self._stream.write(f"\r\x1b[K{line[: self._columns() - 1]}")
        self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80  # some say nought
        except (OSError, ValueError):
            return 80

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
