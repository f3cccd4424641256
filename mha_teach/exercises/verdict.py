"""What a check found, as data; it displays itself as plain text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Status = Literal["not attempted", "right", "wrong", "error", "timeout", "open"]
PointStatus = Literal["passed", "failed", "error", "timeout", "not run"]


@dataclass(frozen=True)
class PointResult:
    """One test point's outcome; ``message`` says what is wrong, ``difference`` where exactly."""

    name: str
    status: PointStatus
    message: str = ""
    difference: str = ""
    expected: str = ""
    got: str = ""
    inputs: str = ""
    line: str = ""
    weight: float = 1.0

    @property
    def waits(self) -> bool:
        """It was passed, but counts only once an earlier point passes; ``message`` says which."""
        return self.status == "not run" and bool(self.message)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check. ``score`` is the share of points passed (by weight), ``None`` if there is none.

    ``diagnosis`` is the name of the mutant that the answer behaves like, or ``None``; ``words`` explains it.
    ``progress`` is the chapter's line, where ``check`` was called in a notebook.
    """

    exercise: str
    status: Status
    score: float | None = None
    points: tuple[PointResult, ...] = ()
    diagnosis: str | None = None
    words: str = ""
    hint: str = ""
    notes: tuple[str, ...] = field(default=())
    seconds: float = 0.0
    progress: str = ""

    def __bool__(self) -> bool:
        return self.status == "right"

    def __str__(self) -> str:
        from mha_teach.exercises.display import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from mha_teach.exercises.display import html

        return html(self)
