"""Which outputs depend on inputs that a mask of your own forbids, and which permitted ones nobody reads."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from mha_teach.probes.harness import Harness
from mha_teach.probes.leaks import _axes, _length, _probe
from mha_teach.probes.report import Leak
from mha_teach.shapes import Bool, Tensor


def mask_leak(
    module: nn.Module | Callable,
    x: Tensor,
    allowed: Bool[Tensor, "output input"],
    *,
    position_axis: int | None = None,
    real: Bool[Tensor, "batch position"] | None = None,
    most: int = 24,
    tolerance: float | None = None,
    seed: int = 0,
    **options: object,
) -> Leak:
    """Does output i read input j where ``allowed[i, j]`` is False? For padding, windows, and any mask of your own.

    As `causal_leak`, by gradient and by perturbation, with the permitted pairs given: True = may depend. It is also
    the probe for a mask that forbids too much: ``leak.unread`` lists permitted pairs that show no dependence.
    ``real`` is False at filler, as in `causal_leak`. ``allowed`` speaks of one attention layer; through several, what i may read is what any path of pairs reaches.
    Raises ``TypeError`` where ``allowed`` isn't boolean and ``ValueError`` where it isn't (position, position).
    Taught in chapter 04.
    """
    harness = Harness(module, (x, None, None), options, seed, real)
    axes, axis_out = _axes(harness, position_axis)
    size = _length(harness, axes, axis_out, "position", 1)
    if not isinstance(allowed, Tensor) or allowed.dtype.is_floating_point or allowed.dtype.is_complex:
        raise TypeError("allowed holds no booleans: give True where output i may depend on input j")
    if tuple(allowed.shape) != (size, size):
        raise ValueError(
            f"allowed has shape {tuple(allowed.shape)} and there are {size} positions: it needs ({size}, {size})"
        )
    masks = {harness.names[0]: allowed.bool().cpu()}
    return _probe("mask", harness, axes, axis_out, masks, most, tolerance)
