"""Compare what was expected with what came, and say the difference in one sentence."""

from __future__ import annotations

import math
import types
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

import numpy as np
import torch

from mha_teach.exercises.wording import say


class Misfit(ValueError):
    """An answer that has no form to be compared; its text is a whole sentence for the reader."""


@dataclass(frozen=True)
class Difference:
    """Why two values aren't the same: one sentence and the smallest counter-example as text."""

    message: str
    expected: str
    got: str
    form: bool = False  # it is not the sort of thing that was asked for


def same(
    expected: object,
    got: object,
    atol: float = 1e-5,
    rtol: float = 1e-5,
    *,
    parts: Sequence[str] = (),
    dtype: bool = False,
    name: str | None = None,
) -> Difference | None:
    """``None`` if ``got`` equals ``expected``, else the first :class:`Difference`.

    Tensors are compared by shape, then by value with ``atol + rtol·|expected|``, in float64; by dtype too
    where ``dtype`` is set. Tuples, lists and dicts are compared part by part; ``parts`` names the parts.
    Numbers may come as ``int``, ``float``, or anything with a single element. Strings ignore case and margins.
    """
    name = name or say("answer")
    if isinstance(expected, torch.Tensor):
        return _same_tensor(expected, got, atol, rtol, dtype, name)
    if isinstance(expected, (tuple, list)):
        if not isinstance(got, (tuple, list)):
            return _kind(expected, got, name)
        if len(expected) != len(got):
            message = say("length", got=len(got), expected=len(expected))
            return Difference(f"{name} {message}", str(len(expected)), str(len(got)))
        for index, (left, right) in enumerate(zip(expected, got, strict=True)):
            label = parts[index] if index < len(parts) else f"{name}[{index}]"
            if found := same(left, right, atol, rtol, dtype=dtype, name=label):
                return found
        return None
    if isinstance(expected, dict):
        if not isinstance(got, dict) or expected.keys() != got.keys():
            return _kind(expected, got, name)
        found = (
            same(expected[k], got[k], atol, rtol, dtype=dtype, name=f"{name} {say('at')} {k}")
            for k in expected
        )
        return next((difference for difference in found if difference), None)
    if isinstance(expected, (bool, str)) or expected is None:
        if isinstance(expected, bool) and isinstance(got, (torch.Tensor, np.generic, np.ndarray)):
            got = _plain(got)
        if type(got) is not type(expected):
            return _kind(expected, got, name)
        equal = _tidy(got) == _tidy(expected) if isinstance(expected, str) else got == expected
        return None if equal else Difference(f"{name} {say('choice')}", describe(expected), describe(got))
    if isinstance(expected, Real):
        return _same_number(float(expected), got, atol, rtol, name)
    raise TypeError(f"same() compares tensors, numbers, strings and containers of them, not {type(expected)}")


def describe(value: object) -> str:
    """A short description of any value that never runs the value's own code."""
    if issubclass(type(value), torch.Tensor):
        try:
            if value.numel() == 1 and value.dim() == 0 and not value.is_complex() and not value.is_meta:
                return _number(value.item())
            return f"tensor of shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}{_oddity(value)}"
        except (RuntimeError, NotImplementedError):  # nested ones have no shape
            return say("odd tensor")
    if value is ...:
        return "`...`"  # what the stub holds, left as it was
    if type(value) is np.ndarray:
        return f"a numpy array of shape {value.shape}"
    if type(value) in (bool, int, type(None)):
        return str(value)[:60] if type(value) is not int or abs(value) < 10**60 else say("huge")
    if type(value) is float:
        return _number(value)
    if type(value) is str:
        return repr(value[:60]) + ("…" if len(value) > 60 else "")
    if type(value) in (tuple, list):
        inner = ", ".join(describe(item) if type(item) not in (tuple, list) else "…" for item in value[:4])
        return f"{type(value).__name__} of {len(value)} ({inner}{', …' if len(value) > 4 else ''})"
    return f"an object of type {type_name(value)}"


def described(value: object) -> str:
    """The same with its article, for the middle of a sentence."""
    found = describe(value)
    return f"a {found}" if found.startswith(("tensor ", "list ", "tuple ")) else found


def generated(value: object) -> str:
    """What to say about a generator; empty for anything else."""
    if type(value) is not types.GeneratorType:
        return ""
    return say("expression of a generator" if value.gi_code.co_name == "<genexpr>" else "generator")


def type_name(value: object) -> str:
    """The name of the value's class, even where the class lies about it."""
    return type.__dict__["__name__"].__get__(type(value))[:60]


def _oddity(tensor: torch.Tensor) -> str:
    """What stands in the way of reading a tensor's numbers, in words."""
    if tensor.is_meta:
        return ", " + say("meta")
    return ", " + say("sparse") if tensor.layout is not torch.strided else ""


def _same_tensor(expected, got, atol, rtol, dtype, name):
    if not isinstance(got, torch.Tensor):
        if expected.dim() == 0 and not dtype:  # a Python number is as good
            return _same_number(float(expected), got, atol, rtol, name)
        return _kind(expected, got, name)
    got = got.detach().as_subclass(torch.Tensor)
    if got.is_complex() or got.is_quantized or got.is_nested or _oddity(got):
        return _kind(expected, got, name)
    got, expected = got.cpu(), expected.detach().cpu()
    if got.shape != expected.shape:
        shapes = tuple(expected.shape), tuple(got.shape)
        return Difference(f"{name} {say('shape', expected=shapes[0], got=shapes[1])}", *map(str, shapes))
    if dtype and got.dtype != expected.dtype:
        kinds = [str(x.dtype).removeprefix("torch.") for x in (expected, got)]
        return Difference(f"{name} {say('dtype', expected=kinds[0], got=kinds[1])}", *kinds)
    left, right = expected.double(), got.double()
    wrong = ~torch.isclose(right, left, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return None
    gap = torch.where(wrong, (right - left).abs().nan_to_num(nan=torch.inf, posinf=torch.inf), -1.0)
    # numpy's, because torch's own loads sympy at its first use: two seconds for the first wrong answer
    index = tuple(map(int, np.unravel_index(int(gap.argmax()), gap.shape)))
    if right[index].isnan():
        message = say("nan")
    elif _coarse(expected, got):
        kinds = [str(x.dtype).removeprefix("torch.") for x in (expected, got)]
        message = say("coarse", expected=kinds[0], got=kinds[1])
    else:
        message = say("value", index=list(index)) if index else say("number")
    return Difference(f"{name} {message}", *_numbers(left[index].item(), right[index].item()))


def _same_number(expected, got, atol, rtol, name):
    value = _plain(got)
    if isinstance(value, bool) or not isinstance(value, Real):
        return _kind(expected, got, name)
    try:
        value = float(value)
    except (OverflowError, ValueError, TypeError):
        return _kind(expected, got, name)
    if value == expected or abs(value - expected) <= atol + rtol * abs(expected) < math.inf:
        return None
    message = say("nan" if math.isnan(value) else "number")
    return Difference(f"{name} {message}", *_numbers(expected, value))


def _plain(value):
    if isinstance(value, torch.Tensor) and value.numel() == 1 and not _oddity(value):
        return value.detach().as_subclass(torch.Tensor).item()
    if type(value) is Decimal:
        return float(value)
    if isinstance(value, (np.generic, np.ndarray)) and np.size(value) == 1:
        return np.asarray(value).item()
    return value


def _kind(expected, got, name):
    message = say("nothing") if got is None else generated(got)
    message = message or say("type", got=described(got), expected=_sort(expected))
    return Difference(f"{name} {message}", _sort(expected), describe(got), form=True)


def _sort(expected):
    """What sort of value is wanted, without giving the value away."""
    if isinstance(expected, torch.Tensor):
        return f"a tensor of shape {tuple(expected.shape)}"
    if isinstance(expected, (tuple, list)):
        return f"a {type(expected).__name__} of {len(expected)}"
    return {bool: "True or False", str: "a text", dict: "a dict", type(None): "None"}.get(
        type(expected), "a number"
    )


def _coarse(expected: torch.Tensor, got: torch.Tensor) -> bool:
    """Whether the numbers are right but for the rounding of their dtype."""
    if not expected.is_floating_point():
        return False
    gap = (got.double() - expected.double()).abs()
    if not got.is_floating_point():
        return bool((gap < 1).all())
    eps = torch.finfo(got.dtype).eps
    return eps > torch.finfo(expected.dtype).eps and bool(
        (gap <= 16 * eps * (1 + expected.double().abs())).all()
    )


def _numbers(left: float, right: float) -> tuple[str, str]:
    """Two numbers that differ, with as many digits as it takes to see it."""
    found = _number(left), _number(right)
    for digits in (6, 9, 17):
        if found[0] != found[1]:
            break
        found = f"{left:.{digits}g}", f"{right:.{digits}g}"
    return found


def _tidy(text: str) -> str:
    return " ".join(text.split()).casefold()


def _number(value: float) -> str:
    return str(value) if isinstance(value, (bool, int)) else f"{value:.4g}"
