"""One exercise in many cases: the book's own numbers, and for each student others that are as sound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_ORDINALS = "zeroth first second third fourth fifth sixth seventh"


def varied(make: Callable[..., Exercise], own: tuple, cases: Callable[[], Sequence[tuple]]) -> Exercise:
    """The exercise ``make(*own)``; a student with a tag gets ``make(*case)`` with one of ``cases()``, never the book's own."""

    @cache
    def others() -> tuple[tuple, ...]:
        return tuple(case for case in cases() if case != own)

    def vary(draw: Draw) -> Exercise:
        return make(*draw.pick(others()))

    return replace(make(*own), vary=vary)


def apart(*numbers: object) -> bool:
    """Whether no two of these answers, right and wrong ones, would be taken for each other."""
    flat = [n if isinstance(n, (list, tuple)) else [n] for n in numbers]
    return not any(
        len(a) == len(b) and all(abs(x - y) < 0.02 for x, y in zip(a, b, strict=True))
        for i, a in enumerate(flat)
        for b in flat[:i]
    )


def word(number: int) -> str:
    """``seven``; numbers above sixteen in digits."""
    words = _WORDS.split()
    return words[number] if number < len(words) else str(number)


def ordinal(number: int) -> str:
    """``third``."""
    return _ORDINALS.split()[number]


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
