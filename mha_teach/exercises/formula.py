"""Formulas that a reader types: text that is parsed and never run as code, or a function."""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
from collections.abc import Callable

from mha_teach.exercises.compare import Misfit, describe
from mha_teach.exercises.wording import say

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "ln": math.log,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "abs": abs,
    "min": min,
    "max": max,
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_MODULES = ("math", "torch", "np", "numpy")

# What people paste from a page or type on a phone, and what it means here.
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("−–—", "-"),
        **dict.fromkeys("×·⋅∙", "*"),
        **dict.fromkeys("÷∕", "/"),
        "^": "**",
        "²": "**2",
        "³": "**3",
        "⁴": "**4",
        "½": "(1/2)",
        "¼": "(1/4)",
        "π": "pi",
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
    }
)


def evaluate(text: str, names: dict[str, float]) -> float:
    """The value of a formula of ``+ - * / ** ^``, brackets, ``sqrt exp log ln tanh sigmoid abs min max``, ``pi e`` and ``names``.

    Signs such as ``× · − ÷ ² √`` are read as they are meant, ``math.`` in front of a function and ``name =`` in
    front of it all are skipped. Raises :class:`Misfit`, a ``ValueError``, with the reason where it can't be read.
    """

    def walk(node: ast.AST) -> float:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
            case ast.Name(id=name):
                if name in names or name in _CONSTANTS:
                    return float(names.get(name, _CONSTANTS.get(name)))
                raise ValueError(say("name", name=name, known=", ".join(names) or say("no names")))
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULES:
                return walk(ast.Name(id=name))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](walk(left), walk(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -walk(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return walk(operand)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=module), attr=name), args=args, keywords=[]
            ) if module in _MODULES and name in _FUNCTIONS:
                return float(_FUNCTIONS[name](*map(walk, args)))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
                return float(_FUNCTIONS[name](*map(walk, args)))
            case ast.Call():
                raise ValueError(say("product", part=ast.unparse(node)[:40]))
        raise ValueError(say("part", part=ast.unparse(node)[:40]))

    try:
        if len(text) > 500:
            raise ValueError(say("long"))
        number = walk(ast.parse(_readable(text), mode="eval").body)
        if isinstance(number, complex):
            raise ValueError(say("complex"))  # noqa: TRY004
        return number
    except (ValueError, ArithmeticError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        told = {SyntaxError: "syntax", OverflowError: "overflow", ZeroDivisionError: "division"}
        why = next((say(key) for kind, key in told.items() if isinstance(error, kind)), error)
        raise Misfit(say("expression", text=text[:80], why=why)) from None


def at(answer: object, where: dict[str, float]) -> object:
    """The value of a formula, text or function of the names in ``where``, at that place; a number stands for itself."""
    if isinstance(answer, str):
        return evaluate(answer, where)
    return _called(answer, where) if callable(answer) else answer


def place(where: dict[str, float]) -> str:
    """The place in words: ``s = 2.134, n = 30``."""
    return ", ".join(f"{name} = {describe(number)}" for name, number in where.items())


def number(answer: object) -> object:
    """``"1/2"`` and ``"√64"`` as numbers; anything else, and text that is no number, as it is."""
    if not isinstance(answer, str):
        return answer
    try:
        return evaluate(answer, {})
    except Misfit:
        return answer


def _called(answer: Callable, where: dict[str, float]) -> object:
    try:
        signature = inspect.signature(answer)
    except (ValueError, TypeError):  # a function written in C
        return answer(*where.values())
    try:
        signature.bind(**where)
    except TypeError:
        if len(where) > 1:
            raise Misfit(say("names", names=", ".join(where))) from None
        return answer(*where.values())  # one argument: its name does not matter
    return answer(**where)


def _readable(text: str) -> str:
    text = re.sub(r"√\s*(?=\()", "sqrt", text.strip().strip("$`").strip())
    text = re.sub(r"√\s*([\w.]+)", r"sqrt(\1)", text).translate(_SIGNS)
    return re.sub(r"^\s*[^\W\d]\w*\s*=(?!=)\s*", "", text)
