"""How far a reader is: the last verdict on each exercise, kept in the kernel's memory and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import Literal

from mha_teach.exercises.model import Exercise
from mha_teach.exercises.verdict import Status, Verdict
from mha_teach.exercises.wording import say

State = Literal["right", "tried", "not yet"]

_MARK = {"right": "✓", "tried": "✗", "not yet": "·"}
_last: dict[
    str, Status
] = {}  # exercise id without a student's tag -> the last verdict; a restarted kernel forgets it


@dataclass(frozen=True)
class Progress:
    """The state of every exercise with a score, chapter by chapter; it displays itself as text and as HTML."""

    chapters: dict[str, tuple[tuple[str, str, State], ...]]  # chapter -> (id, title, state)

    def line(self, chapter: str) -> str:
        """``Chapter 03: 2 of 5 right, 1 tried.``"""
        states = [state for _, _, state in self.chapters[chapter]]
        right, tried = states.count("right"), states.count("tried")
        if right == len(states):
            return say("all right", chapter=chapter, all=len(states))
        more = say("tried", tried=tried) if tried else ""
        return say("progress", chapter=chapter, right=right, all=len(states), more=more)

    def __str__(self) -> str:
        lines = []
        for chapter, rows in self.chapters.items():
            lines.append(self.line(chapter))
            lines += [f"  {_MARK[state]} {id} {title}" for id, title, state in rows]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = []
        for chapter, rows in self.chapters.items():
            items = "".join(
                f'<li class="mha-point"><span aria-hidden="true">{_MARK[state]}</span> '
                f'{escape(id)} {escape(title)} <span class="mha-state">({say(f"state {state}")})</span></li>'
                for id, title, state in rows
            )
            parts.append(
                f'<p class="mha-headline"><strong>{escape(self.line(chapter))}</strong></p>'
                f'<ul class="mha-points">{items}</ul>'
            )
        return f'<div class="mha-verdict mha-progress">{"".join(parts)}</div>'


def chapter_of(id: str) -> str:
    """``05`` for ``05-count`` and for ``05-count@k7q2m9``."""
    return id.partition("-")[0]


def noted(verdict: Verdict, exercises: Iterable[Exercise]) -> Verdict:
    """The verdict, remembered, with its chapter's progress line; without it while nothing there has been tried."""
    id, chapter = verdict.exercise.partition("@")[0], chapter_of(verdict.exercise)
    _last[id] = verdict.status
    found = so_far([exercise for exercise in exercises if chapter_of(exercise.id) == chapter])
    tried = any(state != "not yet" for _, _, state in found.chapters.get(chapter, ()))
    return replace(verdict, progress=found.line(chapter)) if tried else verdict


def so_far(exercises: Iterable[Exercise], chapter: str | int = "") -> Progress:
    """The progress in one chapter (``"03"``, ``3`` or ``"03_reshaping"``), or in all; an unknown one is a ValueError."""
    rows: dict[str, tuple] = {}
    for exercise in exercises:
        if exercise.points:
            one = exercise.id.partition("@")[0], exercise.title, _state(exercise.id)
            rows[chapter_of(exercise.id)] = (*rows.get(chapter_of(exercise.id), ()), one)
    if chapter == "":
        return Progress(rows)
    wanted = str(chapter).partition("_")[0].zfill(2)
    if wanted not in rows:
        raise ValueError(say("no chapter", chapter=str(chapter), known=", ".join(rows)))
    return Progress({wanted: rows[wanted]})


def forget() -> None:
    """As after a restart of the kernel."""
    _last.clear()


def _state(id: str) -> State:
    status = _last.get(id.partition("@")[0], "not attempted")
    return {"right": "right", "not attempted": "not yet"}.get(status, "tried")
