"""Say what the press is at: one line per chapter, rewritten in place on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self


class Progress:
    """Progress of one chapter on stderr. Off a terminal, a line at most every five seconds."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.live = sys.stderr.isatty()
        self.began = self.last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind and self.live:
            sys.stderr.write("\n")

    def cell(self, at: int, count: int) -> None:
        """Cell ``at`` of ``count`` begins."""
        now = time.monotonic()
        if self.live:
            sys.stderr.write(f"\r\x1b[K{self.title}  cell {at}/{count}  {now - self.began:.0f} s")
            sys.stderr.flush()
        elif now - self.last > 5:
            self.last = now
            print(f"{self.title}  cell {at}/{count}", file=sys.stderr, flush=True)

    def say(self, line: str) -> None:
        """A remark that stays on the screen."""
        print(f"{chr(13) + chr(27) + '[K' if self.live else ''}{line}", file=sys.stderr)

    def done(self, how: str) -> None:
        """The chapter is finished."""
        took = time.monotonic() - self.began
        self.say(f"{self.title}  {how}" + (f"  {took:.0f} s" if took > 2 else ""))
