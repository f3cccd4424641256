"""Exercises with instant feedback: ``check("01-two-roles", my_answer)``.

A chapter's file ``chNN_idea.py``, or folder ``chNN_idea/`` with one file an exercise, holds a list ``EXERCISES``; a new
one is found by its name alone.

How to write one (the folder ``ch00_attention`` has one of each kind):

- ``prompt`` and ``hints`` are markdown; all code is text. ``stub`` is what the cell holds at first, with ``...``
  where the reader writes; an answer that is still the stub counts as not attempted. For ``kind="break"``
  the stub is the broken function. ``setup`` is what the chapter's cells have imported before.
- A :class:`Point` tests one mechanism: ``Point("scale", "what is wrong when it fails", lambda draw: (draw.normal(3, 5),))``.
  It calls the answer, and compares with what the solution gives. Use ``measure`` for gradients or for anything
  that is not one call, ``functools.partial(same, atol=...)`` for another tolerance. Messages are plain text, no TeX.
- An answer that returns several things goes through ``points.part_of``, a gradient through ``points.gradients``, a
  formula that is looked at in one place through ``formula.at``: they say in a sentence what is missing.
- ``value(name, message, expected)`` is the point of a recall exercise, ``expression(name, message, ranges)`` that of
  a formula given as text.
- A :class:`Mutant` is a wrong answer that people give: ``edits`` of the solution or a ``source`` in full, the
  ``point`` that must reject it, and the ``words`` that the diagnosis says. Every point needs a mutant that fails
  at this point only. ``variants`` are at least three right answers in other words.
- ``vary`` gives each student of a class other numbers: ``get("05-count@k7q2m9")`` is the exercise of whoever has the
  tag ``k7q2m9``, and ``tag(student_id, secret)`` makes such a tag. Write a function that makes the exercise from its
  numbers, and let ``cases.varied(make, own, cases)`` call it with the book's own, or for a tag with one of ``cases()``.
  List only what is sound: no two answers and wrong answers alike, no division that leaves a rest, none that the book's
  answer solves. What stands in a figure or is worked from a cell stays as it is. Change such a list only between two
  classes: whoever has a notebook already would be judged by other numbers.
- ``tests/exercises`` proves all of that for every exercise; no test needs to be written for a new one.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

from mha_teach.exercises.compare import Difference, Misfit, describe, same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.formula import evaluate
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression, value
from mha_teach.exercises.record import Progress, noted, so_far
from mha_teach.exercises.tags import is_tag, tag
from mha_teach.exercises.verdict import PointResult, Verdict
from mha_teach.exercises.wording import say

__all__ = [
    "Difference",
    "Draw",
    "Exercise",
    "Misfit",
    "Mutant",
    "Point",
    "PointResult",
    "Progress",
    "Verdict",
    "all",
    "check",
    "describe",
    "evaluate",
    "expression",
    "get",
    "is_tag",
    "progress",
    "same",
    "tag",
    "value",
]


def all() -> list[Exercise]:
    """Every exercise of every chapter, in the order of the chapters' files and of their lists."""
    return [exercise for name in _chapters() for exercise in _load(name)]


def get(id: str) -> Exercise:
    """The exercise with this id, ``"05-count"``, or as one student has it, ``"05-count@k7q2m9"``.

    Raises ``KeyError`` that names the exercises of the same chapter, or says how a tag is written.
    """
    id, at, own = id.partition("@")
    near = _near(id)
    found = next((exercise for exercise in near if exercise.id == id), None)
    if found is None:
        known = [exercise.id for exercise in near or all()]
        raise KeyError(say("unknown", id=id, known=", ".join(known)))
    if not at:
        return found
    try:
        return _tagged(id, own)
    except ValueError as error:
        raise KeyError(str(error)) from None


def check(id: str, *answers: object) -> Verdict:
    """Judge the answer to the exercise ``id``; the last expression of a cell shows the verdict."""
    return noted(get(id).check(*answers), _near(id))


def progress(chapter: str | int = "") -> Progress:
    """How far the reader is in a chapter, ``progress("03")``, or in all; a restarted kernel begins anew."""
    return so_far(all(), chapter)


def _near(id: str) -> list[Exercise]:
    return [exercise for name in _chapters() if name.startswith(f"ch{id[:2]}_") for exercise in _load(name)]


def _chapters() -> list[str]:
    return sorted({path.stem for path in Path(__file__).parent.glob("ch[0-9][0-9]_*")})


@lru_cache(maxsize=2048)
def _tagged(id: str, own: str) -> Exercise:
    return get(id).with_tag(own)


@cache
def _load(name: str) -> tuple[Exercise, ...]:
    return tuple(import_module(f"{__name__}.{name}").EXERCISES)
