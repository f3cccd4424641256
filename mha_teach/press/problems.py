"""What the press says when something is wrong: one line that names the place and the cure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One thing to mend: ``book/01_collapse.md:123: what is wrong: what to do``."""

    file: str
    line: int
    wrong: str
    cure: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.wrong}: {self.cure}"


class PressError(Exception):
    """A mistake of the author or the machine, told in one line and without a traceback."""

    def __init__(self, what: str | Finding) -> None:
        super().__init__(str(what))
        self.finding = what if isinstance(what, Finding) else None
