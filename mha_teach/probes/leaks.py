"""Which outputs depend on inputs that they must not see: along positions, and across samples."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from mha_teach.probes.harness import Harness
from mha_teach.probes.report import NOTES, Leak
from mha_teach.shapes import Bool, Float, Tensor


def causal_leak(
    module: nn.Module | Callable,
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    *,
    position_axis: int | None = None,
    offset: int = 0,
    most: int = 24,
    tolerance: float | None = None,
    seed: int = 0,
    **options: object,
) -> Leak:
    """Does an output read the future? Output i may depend on input j only where ``j ≤ i + offset``.

    By gradient: ``g[i, j] = max |∂(r · y_i)/∂x_j|`` with a random r, one backward pass per output position.
    By perturbation: ``p[i, j] = max |y_i(x_j replaced) − y_i(x)|``, one forward pass per input position; it also
    sees what has no gradient (detach, argmax, token ids).

    ``module`` gets (query), (query, key) or (query, key, value), and ``options`` by name (``attn_mask=…``); the
    first floating tensor with two axes of what it returns is the output. One query for a module that asks for
    three is self-attention. ``position_axis`` counts in inputs and output, by default −2 (position, width); for
    token ids (batch, position) the last axis. ``offset`` shifts keys and values only: S − L for a key cache.
    ``most``: positions tested at most, evenly chosen. ``tolerance``: in units of the largest output and
    gradient, by default the dtype's eps; float64 sees the faintest leaks.

    Dropout is held fixed, batch norm in training mode runs on running statistics, non-determinism is measured;
    each is told in ``notes`` and none counts as a leak. Parameters, their gradients and buffers stay as they are.
    Raises ``ValueError`` on fewer than two positions or lengths that don't fit, ``TypeError`` on what is no tensor.
    Taught in chapters 03 and 04.
    """
    harness = Harness(module, (query, key, value), options, seed)
    ids = [not x.is_floating_point() for x in harness.inputs]
    axes = [position_axis if position_axis is not None else (-1 if i else -2) for i in ids]
    axis_out = position_axis if position_axis is not None else -2
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
    samples by design; it is named in ``notes`` and doesn't count.
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


def _length(harness: Harness, axes: list[int], axis_out: int, what: str, least: int) -> int:
    """The output's size along the axis, which must be the first input's too."""
    with torch.no_grad():
        shape = harness().shape
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
    notes = []
    with torch.no_grad():
        base, again, other = harness(), harness(), harness(seed=harness.seed + 1)
    tolerance = torch.finfo(base.dtype).eps if tolerance is None else tolerance
    size = float(base.detach().abs().nan_to_num(0, 0).max())
    noise = float(_difference(base, again).max())
    steady = noise <= tolerance * size
    if harness.batch_norm:
        notes.append(NOTES["batch_norm"])
    if not steady:
        notes.append(NOTES["unsteady"].format(noise=noise / max(size, torch.finfo(torch.float64).tiny)))
    elif float(_difference(base, other).max()) > tolerance * size:
        kinds = harness.random_modules()
        notes.append(NOTES["random"].format(kinds=f" ({', '.join(kinds)})" if kinds else ""))
    broken = not bool(base.isfinite().all())
    if broken:
        notes.append(NOTES["not_finite"])
    if max(next(iter(allowed.values())).shape) > most:
        notes.append(NOTES["sampled"].format(most=most, size=max(next(iter(allowed.values())).shape)))

    gradient = None
    if not broken and any(x.is_floating_point() for x in harness.inputs):
        gradient, poisoned = _gradients(harness, axes, axis_out, allowed, most)
        if poisoned:
            notes.append(NOTES["nan_gradient"])
    if gradient is None and not broken:
        notes.append(NOTES["no_gradient"])
    changes = _changes(harness, axes, axis_out, allowed, base, most) if steady else None
    return Leak.of(
        kind, allowed, gradient, changes, tolerance, max(tolerance * size, 4 * noise), tuple(notes)
    )


def _chosen(size: int, most: int) -> list[int]:
    return sorted({round(float(at)) for at in torch.linspace(0, size - 1, min(most, size))})


def _gradients(
    harness: Harness, axes: list[int], axis_out: int, allowed: dict[str, Tensor], most: int
) -> tuple[dict[str, Float[Tensor, "output input"]] | None, bool]:
    """Largest gradient that reaches each input along its axis, per output; and whether any of it was NaN."""
    with torch.inference_mode(False), torch.enable_grad():  # whatever mode the caller is in
        leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in harness.inputs]
        output = harness(leaves)
    if not output.requires_grad:
        return None, False
    toward = torch.randn(output.shape, generator=torch.Generator().manual_seed(harness.seed)).to(output)
    asked = [at for at, leaf in enumerate(leaves) if leaf.requires_grad]
    found = {name: torch.zeros(table.shape, dtype=torch.float64) for name, table in allowed.items()}
    poisoned = False
    for row in _chosen(output.shape[axis_out], most):
        cotangent = torch.zeros_like(output)
        cotangent.select(axis_out, row).copy_(toward.select(axis_out, row))
        grads = torch.autograd.grad(
            output, [leaves[at] for at in asked], cotangent, retain_graph=True, allow_unused=True
        )
        for at, grad in zip(asked, grads, strict=True):
            if grad is not None:
                poisoned = poisoned or bool(grad.isnan().any())
                found[harness.names[at]][row] = _along(grad.nan_to_num(0.0), axes[at])
    return found, poisoned


def _changes(
    harness: Harness, axes: list[int], axis_out: int, allowed: dict[str, Tensor], base: Tensor, most: int
) -> dict[str, Float[Tensor, "output input"]]:
    """Largest change of each output when one slice of an input is replaced."""
    found = {name: torch.zeros(table.shape, dtype=torch.float64) for name, table in allowed.items()}
    generator = torch.Generator().manual_seed(harness.seed)
    for at, (name, x, axis) in enumerate(zip(harness.names, harness.inputs, axes, strict=True)):
        fresh = _replacement(name, x, generator)
        for column in _chosen(x.shape[axis], most):
            inputs = list(harness.inputs)
            inputs[at] = x.detach().clone()
            inputs[at].select(axis, column).copy_(fresh.select(axis, column))
            with torch.no_grad():
                found[name][:, column] = _along(_difference(harness(inputs), base), axis_out)
    return found


def _replacement(name: str, x: Tensor, generator: torch.Generator) -> Tensor:
    """Numbers of the same centre and three times the spread; for token ids, other ids of the same input."""
    if x.is_floating_point():
        spread = float(x.detach().double().std()) or 1.0
        drawn = torch.randn(x.shape, generator=generator, dtype=torch.float64) * 3 * spread
        return (drawn + float(x.detach().double().mean())).to(x)
    known, place = x.unique(return_inverse=True)
    if len(known) < 2:
        raise ValueError(f"{name} holds only the id {int(known[0])}: give at least two different ids to swap")
    step = torch.randint(1, len(known), x.shape, generator=generator).to(x.device)
    return known[(place + step) % len(known)]


def _difference(a: Tensor, b: Tensor) -> Tensor:
    """|a − b|, where NaN equals NaN and a NaN that comes or goes is an infinite change."""
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, 0.0, (a - b).abs().nan_to_num(torch.inf))


def _along(x: Tensor, axis: int) -> Float[Tensor, "*place"]:
    return x.detach().abs().movedim(axis, 0).flatten(1).amax(1).to("cpu", torch.float64)
