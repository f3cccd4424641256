"""Test points: each isolates one mechanism, and says in its own words what is wrong when it fails."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from mha_teach.exercises.compare import Difference, same
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
    the inputs for messages. ``alone`` says that some mutant fails at this point only, which a test demands.
    ``reveal`` shows the expected value; recall and derive points keep it to themselves.
    Where a cell defines several names, ``answer`` is the tuple of their values.
    """

    name: str
    message: str
    inputs: Callable[[Draw], tuple] = lambda draw: ()
    measure: Callable[..., object] = _call
    expected: object = None
    compare: Callable[[object, object], Difference | None] = same
    arguments: tuple[str, ...] = ()
    weight: float = 1.0
    alone: bool = True
    reveal: bool = True


def value(
    name: str, message: str, expected: object, atol: float = 1e-3, *, part: int | None = None, **options
) -> Point:
    """A recall point: the answer itself is a number, a word, or a list of them.

    Where the cell defines several names, ``part`` says which of them this point looks at.
    """

    def measure(answer: object) -> object:
        answer = answer if part is None else answer[part]
        many = isinstance(expected, (list, tuple)) and isinstance(
            answer, (list, tuple, torch.Tensor, np.ndarray)
        )
        return list(answer.tolist() if hasattr(answer, "tolist") else answer) if many else answer

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

    def measure(answer: object, where: list[dict[str, float]]) -> list[float]:
        answer = answer if part is None else answer[part]
        if isinstance(answer, str):
            return [evaluate(answer, point) for point in where]
        return [float(answer(**point)) for point in where] if callable(answer) else [answer] * len(where)

    compare = partial(same, atol=1e-9, rtol=1e-6, parts=[say("answer")] * draws)
    return Point(name, message, inputs, measure, **{"compare": compare, "reveal": False, **options})


_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log, "abs": abs, "min": min, "max": max}


def evaluate(text: str, names: dict[str, float]) -> float:
    """The value of a formula of ``+ - * / **``, brackets, ``sqrt exp log abs min max``, ``pi``, numbers and ``names``.

    The text is parsed, never run as code. Raises ``ValueError`` with the reason where it can't be read.
    """

    def walk(node: ast.AST) -> float:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
            case ast.Name(id=name):
                if name in names or name == "pi":
                    return float(names.get(name, math.pi))
                known = ", ".join(names)
                raise ValueError(f"the name {name!r} has no meaning here, the names are {known}")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](walk(left), walk(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -walk(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return walk(operand)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
                return float(_FUNCTIONS[name](*map(walk, args)))
        raise ValueError(f"{ast.unparse(node)[:40]!r} is not allowed in a formula")

    try:
        if len(text) > 500:
            raise ValueError("it is longer than 500 characters")
        number = walk(ast.parse(text.strip().replace("^", "**"), mode="eval").body)
        if isinstance(number, complex):
            raise ValueError("its value is not a real number")  # noqa: TRY004
        return number
    except (ValueError, ArithmeticError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        raise ValueError(say("expression", text=text[:80], why=why)) from None
