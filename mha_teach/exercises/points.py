"""Test points: each isolates one mechanism, and says in its own words what is wrong when it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from mha_teach.exercises import formula
from mha_teach.exercises.compare import Difference, Misfit, described, generated, same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.wording import say


def _call(answer: Callable, *arguments: object) -> object:
    return answer(*arguments)


@dataclass(frozen=True)
class Point:
    """One thing that a right answer does.

    ``inputs(draw)`` makes the arguments, a tuple; ``measure(answer, *arguments)`` makes the value that is
    compared (by default it calls the answer); ``expected`` is that value, or ``None`` for "whatever the
    solution gives"; ``compare(expected, got)`` returns ``None`` or a :class:`Difference`. ``arguments`` names
    the inputs for messages. ``reveal`` shows the expected value; recall and derive points keep it to themselves.
    ``shown`` lists the inputs. Where a cell defines several names, ``answer`` is the tuple of their values.
    A point that an answer passes by doing nothing names in ``after`` an earlier point, and counts only if that one passes.
    """

    name: str
    message: str
    inputs: Callable[[Draw], tuple] = lambda draw: ()
    measure: Callable[..., object] = _call
    expected: object = None
    compare: Callable[[object, object], Difference | None] = same
    arguments: tuple[str, ...] = ()
    weight: float = 1.0
    reveal: bool = True
    shown: bool = True
    after: str = ""


def value(
    name: str, message: str, expected: object, atol: float = 1e-3, *, part: int | None = None, **options
) -> Point:
    """A recall point: the answer itself is a number, a word, or a list of them.

    Where the cell defines several names, ``part`` says which of them this point looks at. Numbers may come as text.
    """

    def measure(answer: object) -> object:
        answer = answer if part is None else answer[part]
        if isinstance(expected, (list, tuple)):
            if isinstance(answer, (torch.Tensor, np.ndarray)):
                answer = answer.reshape(-1).tolist()
            return [formula.number(one) for one in answer] if isinstance(answer, (list, tuple)) else answer
        return answer if isinstance(expected, str) else formula.number(answer)

    compare = partial(same, atol=atol, rtol=0.0)
    return Point(
        name,
        message,
        expected=expected,
        **{"measure": measure, "compare": compare, "reveal": False, **options},
    )


def expression(
    name: str,
    message: str,
    ranges: dict[str, tuple[float, float]],
    draws: int = 7,
    *,
    part: int | None = None,
    **options,
) -> Point:
    """A derive point: the answer is a formula, as text (``"d_k * s**2"``) or as a function of the names in ``ranges``.

    It is compared with the solution's at ``draws`` random points; any equal formula is right.
    ``part`` as in :func:`value`.
    """

    def inputs(draw: Draw) -> tuple:
        return ([{n: draw.uniform(*ranges[n]) for n in ranges} for _ in range(draws)],)

    def measure(answer: object, where: list[dict[str, float]]) -> dict[str, object]:
        answer = answer if part is None else answer[part]
        return {formula.place(point): formula.at(answer, point) for point in where}

    compare = partial(same, atol=1e-9, rtol=1e-6)
    return Point(
        name, message, inputs, measure, **{"compare": compare, "reveal": False, "shown": False, **options}
    )


def part_of(found: object, index: int, names: tuple[str, ...]) -> object:
    """Part ``index`` of what an answer returned, which must be a tuple or list of the parts ``names``.

    Without this, an answer that forgets its ``return``, or returns one tensor, would fail with an error about
    indexing, or would have its first row taken for its first part.
    """
    if isinstance(found, (tuple, list)) and len(found) == len(names):
        return found[index]
    lacking = say("nothing") if found is None else generated(found)
    raise Misfit(
        say("pair", count=len(names), names=", ".join(names))
        + (f", but it {lacking}" if lacking else say("no pair", got=described(found)))
    )


def gradients(output: object, leaves: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The gradients of the sum of ``output`` squared; zeros for a leaf that nothing reaches."""
    if not isinstance(output, torch.Tensor) or not output.requires_grad:
        raise Misfit(say("no gradient"))
    return torch.autograd.grad(output.pow(2).sum(), leaves, allow_unused=True, materialize_grads=True)
