"""Which outputs depend on inputs that they must not see: along positions, and across samples."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from mha_teach.probes.changes import along, changes_of, chosen, feature_sizes, relative, units
from mha_teach.probes.harness import Harness
from mha_teach.probes.report import NOTES, Leak
from mha_teach.shapes import Bool, Float, Tensor

FAINT = 16  # times eps: what shows no gradient and is below that may be rounding


def causal_leak(
    module: nn.Module | Callable,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    *,
    position_axis: int | None = None,
    offset: int = 0,
    real: Bool[Tensor, "batch position"] | None = None,
    most: int = 24,
    tolerance: float | None = None,
    seed: int = 0,
    **options: object,
) -> Leak:
    """Does an output read the future? Output i may depend on input j only where ``j ≤ i + offset``.

    By gradient: ``g[i, j] = max |∂(r · y_i)/∂x_j|`` with a random r, one backward pass per output position.
    By perturbation: ``p[i, j] = max |y_i(x_j replaced) − y_i(x)|``, one forward pass per input position (four for
    token ids); it also sees what has no gradient (detach, argmax, token ids). Floats are replaced by one draw alone,
    of three times their spread; where that brings an error, NaN or infinity (a log's domain), within their own range.
    Integer ids are replaced only by ids that the input holds: a gate on an id that is absent is not seen. Nor is what
    depends on the *length* of the input alone.

    ``module`` gets (query), (query, key) or (query, key, value), and ``options`` by name (``attn_mask=…``); the
    first floating tensor with two axes of what it returns is the output. One query for a module that asks for
    three is self-attention. ``position_axis`` counts in inputs and output, by default −2 (position, width); for
    token ids (batch, position) the last axis. ``offset`` shifts keys and values only: S − L for a key cache.
    ``real``, over the leading axes of the output, is False at filler, whose own outputs nobody reads: with filler
    on the left, many libraries let its blind rows look everywhere.
    ``most``: positions tested at most, evenly chosen. ``tolerance``, by default the dtype's eps: a gradient counts
    above it in units of the largest gradient, a change in units of the largest output. Features (the output's last
    axis) that are larger than four times the median one count by themselves, so that a huge column hides itself alone.
    float64 sees the faintest leaks.

    Dropout is held fixed, batch norm in training mode runs on its running statistics, non-determinism is measured;
    each is told in ``notes`` and none counts as a leak. Parameters, their gradients and buffers stay as they are.
    Raises ``ValueError`` on fewer than two positions, lengths that don't fit, ``most`` below 1, a ``tolerance`` that is
    negative or NaN, and a function that fails on all other numbers; ``TypeError`` on what is no tensor.
    Taught in chapters 03 and 04.
    """
    harness = Harness(module, (query, key, value), options, seed, real)
    axes, axis_out = _axes(harness, position_axis)
    length = _length(harness, axes, axis_out, "position", 2)
    allowed = {}
    for name, x, axis in zip(harness.names, harness.inputs, axes, strict=True):
        shift = 0 if name.startswith(("input", "query")) else offset
        rows, columns = torch.arange(length)[:, None], torch.arange(x.shape[axis])
        allowed[name] = columns <= rows + shift
    return _probe("causal", harness, axes, axis_out, allowed, most, tolerance)


def batch_leak(
    module: nn.Module | Callable,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    *,
    batch_axis: int = 0,
    most: int = 24,
    tolerance: float | None = None,
    seed: int = 0,
    **options: object,
) -> Leak:
    """Does a sample read another? Output sample a may depend on input sample b only where ``a = b``.

    As `causal_leak`, by gradient and by perturbation, along ``batch_axis`` of inputs and output. Give at least two
    samples: with one there is nothing to leak, and `split_swapped` looks right. Batch norm in training mode mixes
    samples by design; it is named in ``notes`` and doesn't count where it has running statistics for eval mode.
    Raises ``ValueError`` on fewer than two samples or sizes that differ. Taught in chapter 03.
    """
    harness = Harness(module, (query, key, value), options, seed)
    axes = [batch_axis] * len(harness.inputs)
    size = _length(harness, axes, batch_axis, "batch", 2)
    allowed = {}
    for name, x in zip(harness.names, harness.inputs, strict=True):
        if x.shape[batch_axis] != size:
            raise ValueError(
                f"the output has {size} samples and {name} has {x.shape[batch_axis]}: set batch_axis to the axis of samples"
            )
        allowed[name] = torch.eye(size, dtype=torch.bool)
    return _probe("batch", harness, axes, batch_axis, allowed, most, tolerance)


def _axes(harness: Harness, position_axis: int | None) -> tuple[list[int], int]:
    """The axis of positions in each input, and in the output."""
    if position_axis is not None:
        return [position_axis] * len(harness.inputs), position_axis
    return [-2 if x.is_floating_point() else -1 for x in harness.inputs], -2


def _length(harness: Harness, axes: list[int], axis_out: int, what: str, least: int) -> int:
    """The output's size along the axis, which must be the first input's too."""
    shape = harness.shape
    first = harness.inputs[0]
    for name, found, axis in ((harness.names[0], first.shape, axes[0]), ("the output", shape, axis_out)):
        if not -len(found) <= axis < len(found):
            raise ValueError(f"{name} has shape {tuple(found)} and no axis {axis}: set {what}_axis")
    size, given = shape[axis_out], first.shape[axes[0]]
    if size != given:
        raise ValueError(
            f"the output has size {size} along the {what} axis and {harness.names[0]} has {given} "
            f"(shapes {tuple(shape)} and {tuple(first.shape)}): set {what}_axis"
        )
    if size < least:
        raise ValueError(
            f"the {what} axis has size {size}: a leak needs at least {least}, give a larger input"
        )
    return size


def _probe(
    kind: str,
    harness: Harness,
    axes: list[int],
    axis_out: int,
    allowed: dict[str, Bool[Tensor, "output input"]],
    most: int,
    tolerance: float | None,
) -> Leak:
    if most < 1:
        raise ValueError(f"most is {most}: test at least one place")
    with torch.no_grad():
        base, again, other = harness(), harness(), harness(seed=harness.seed + 1)
    tolerance = torch.finfo(base.dtype).eps if tolerance is None else tolerance
    if not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance}: give 0 or more, or None for the dtype's eps")
    sizes = feature_sizes(base, axis_out)
    unit = units(sizes)  # changes below tolerance · unit are rounding
    noise = float(relative(base, again, unit).max())
    finite = int(base.isfinite().sum()) / base.numel()
    broken = finite < 1
    gradient, poisoned, unread = None, False, ""
    if not broken and any(x.is_floating_point() for x in harness.inputs):
        try:
            gradient, poisoned = _gradients(harness, axes, axis_out, allowed, most)
        except (
            RuntimeError,
            TypeError,
            ValueError,
            AttributeError,
        ) as error:  # NumPy inside, no derivative, …
            unread = f"{type(error).__name__}: {error}".split("\n")[0]
    changes = None
    if noise <= tolerance:
        changes, noise = changes_of(harness, axes, axis_out, allowed, base, unit, most, tolerance, noise)

    notes, places = [], max(next(iter(allowed.values())).shape)
    if F.batch_norm in harness.held:
        notes.append(NOTES["batch_norm"])
    if noise > tolerance:
        notes.append(NOTES["unsteady"].format(noise=noise))
    elif float(relative(base, other, unit).max()) > tolerance:
        kinds = harness.random_modules()
        notes.append(NOTES["random"].format(kinds=f" ({', '.join(kinds)})" if kinds else ""))
    least, ordinary = tolerance * unit, base.abs()[(base != 0) & base.isfinite()]
    blind = (least > sizes) & (sizes > 0)  # all of the feature is below its floor
    if ordinary.numel():
        blind |= least > float(ordinary.median())
    told = {
        "coarse": bool(blind.any()),
        "not_finite": broken,
        "sampled": places > most,
        "nan_gradient": poisoned,
        "unread": unread,
        "no_gradient": gradient is None and not broken and not unread,
    }
    words = {
        "most": most,
        "size": places,
        "error": unread,
        "largest": float(unit.max()),
        "least": float(least.max()),
    }
    words |= {"blind": int(blind.sum()), "features": blind.numel()}
    notes += [NOTES[name].format(**words) for name, met in told.items() if met]
    faint = FAINT * torch.finfo(base.dtype).eps
    return Leak.of(kind, allowed, gradient, changes, tolerance, faint, tuple(notes), finite)


def _gradients(
    harness: Harness, axes: list[int], axis_out: int, allowed: dict[str, Tensor], most: int
) -> tuple[dict[str, Float[Tensor, "output input"]] | None, bool]:
    """Largest gradient that reaches each input along its axis, per output; and whether any of it was NaN."""
    with torch.inference_mode(False), torch.enable_grad():  # whatever mode the caller is in
        leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in harness.inputs]
        output = harness(leaves)
    if not output.requires_grad:
        return None, False
    toward = torch.randn(output.shape, generator=harness.generator()).to(output)
    asked = [at for at, leaf in enumerate(leaves) if leaf.requires_grad]
    found = {name: torch.zeros(table.shape, dtype=torch.float64) for name, table in allowed.items()}
    poisoned = False
    for row in chosen(output.shape[axis_out], most):
        cotangent = torch.zeros_like(output)
        cotangent.select(axis_out, row).copy_(toward.select(axis_out, row))
        grads = torch.autograd.grad(
            output, [leaves[at] for at in asked], cotangent, retain_graph=True, allow_unused=True
        )
        for at, grad in zip(asked, grads, strict=True):
            if grad is not None:
                poisoned = poisoned or bool(grad.isnan().any())
                found[harness.names[at]][row] = along(grad.nan_to_num(0.0), axes[at])
    return found, poisoned
