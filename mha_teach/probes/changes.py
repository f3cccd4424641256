"""What moves in the output when an input is replaced: the new numbers, and what counts as more than rounding."""

from __future__ import annotations

import torch

from mha_teach.probes.harness import Harness
from mha_teach.shapes import Float, Tensor

DRAWS = 4  # of token ids, where one swap may miss the one id that matters and no gradient helps
REPEATS = 4  # calls that are repeated before a change counts as a leak


def replacement(name: str, x: Tensor, generator: torch.Generator) -> Tensor:
    """Numbers of the same centre and three times the spread; for token ids, other ids of the same input."""
    if x.is_floating_point():
        known = x.detach().double()
        known = known[known.isfinite()]
        centre, spread = (float(known.mean()), float(known.std(correction=0))) if len(known) else (0.0, 1.0)
        drawn = torch.randn(x.shape, generator=generator, dtype=torch.float64) * 3 * (spread or 1.0)
        return (drawn + centre).to(x)
    known, place = x.unique(return_inverse=True)
    if len(known) < 2:
        raise ValueError(f"{name} holds only the id {int(known[0])}: give at least two different ids to swap")
    step = torch.randint(1, len(known), x.shape, generator=generator).to(x.device)
    return known[(place + step) % len(known)]


def within(x: Tensor, generator: torch.Generator) -> Tensor:
    """Numbers between the smallest and the largest of each feature: for a function that takes no others, as a log."""
    rows = x.detach().to("cpu", torch.float64).reshape(-1, x.shape[-1])
    low = rows.nan_to_num(torch.inf, torch.inf, torch.inf).amin(0).nan_to_num(0, 0, 0)
    high = rows.nan_to_num(-torch.inf, -torch.inf, -torch.inf).amax(0).nan_to_num(0, 0, 0)
    return (low + (high - low) * torch.rand(x.shape, generator=generator, dtype=torch.float64)).to(x)


def difference(a: Tensor, b: Tensor) -> Tensor:
    """|a − b|, where NaN equals NaN and a NaN that comes or goes is an infinite change."""
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, 0.0, (a - b).abs().nan_to_num(torch.inf, torch.inf))


def feature_sizes(base: Tensor, axis_out: int) -> Float[Tensor, "*one feature"]:
    """The largest finite number of each feature: along the last axis, or the one before where positions are last."""
    axis = -2 if axis_out % base.ndim == base.ndim - 1 else -1
    sizes = base.detach().abs().nan_to_num(0, 0, 0).to("cpu", torch.float64)
    sizes = sizes.movedim(axis, -1).flatten(0, -2).amax(0)
    return sizes if axis == -1 else sizes[:, None]


def units(sizes: Float[Tensor, "*one feature"]) -> Float[Tensor, "*one feature"]:
    """What a change is measured by: the largest size of all, or four median features' where few are larger.

    The largest alone would let a single huge constant, such as a closed column of logits, hide everything: what is
    larger than four medians is measured by its own size.
    """
    ordinary = min(4 * float(sizes.median()), float(sizes.max()))
    return sizes.clamp(min=max(ordinary, torch.finfo(torch.float64).tiny))


def relative(a: Tensor, b: Tensor, unit: Tensor) -> Float[Tensor, "*place"]:
    """|a − b| in units of each feature's size."""
    return difference(a, b).to("cpu", torch.float64) / unit


def chosen(size: int, most: int) -> list[int]:
    """At most ``most`` of ``size`` places, evenly."""
    return sorted({round(float(at)) for at in torch.linspace(0, size - 1, min(most, size))})


def along(x: Tensor, axis: int) -> Float[Tensor, "*place"]:
    """The largest size at each place of an axis."""
    return x.detach().abs().movedim(axis, 0).flatten(1).amax(1).to("cpu", torch.float64)


def _replaced(
    harness: Harness, at: int, axis: int, column: int, fresh: list[Tensor], base: Tensor
) -> tuple[list[Tensor], Tensor]:
    """The inputs with one slice replaced, and the output: by the first numbers that the function can take."""
    for numbers in fresh:
        last = numbers is fresh[-1]
        inputs = list(harness.inputs)
        inputs[at] = inputs[at].detach().clone()
        inputs[at].select(axis, column).copy_(numbers.select(axis, column))
        try:
            output = harness(inputs)
        except (RuntimeError, IndexError, KeyError, ValueError) as error:
            if not last:
                continue
            if isinstance(error, ValueError):  # its own words, or the harness's
                raise
            raise ValueError(
                f"the function fails when {harness.names[at]} is replaced at place {column} ({type(error).__name__}: "
                f"{error}): it takes few numbers. If they are ids, give them as integers, for they are then only swapped"
            ) from error
        if last or bool(output[base.isfinite()].isfinite().all()):  # NaN by leaving log's domain is no leak
            break
    return inputs, output


@torch.no_grad()
def changes_of(
    harness: Harness,
    axes: list[int],
    axis_out: int,
    allowed: dict[str, Tensor],
    base: Tensor,
    unit: Float[Tensor, "*one feature"],
    most: int,
    tolerance: float,
    noise: float,
) -> tuple[dict[str, Float[Tensor, "output input"]] | None, float]:
    """Largest change of each output when one slice of an input is replaced; and how far equal calls differ.

    Rounding counts as none: what is below ``tolerance``, or four times the noise, in units of each feature's size. A
    forbidden change counts when it comes again: the first few such calls are repeated, and the unchanged call at
    the end, so that rare noise and a state that drifts are no leak: then there are no changes but only noise.
    """
    repeats = REPEATS
    found = {name: torch.zeros(table.shape, dtype=torch.float64) for name, table in allowed.items()}
    sure = {name: table.clone() for name, table in found.items()}
    generator = harness.generator()
    for at, (name, x, axis) in enumerate(zip(harness.names, harness.inputs, axes, strict=True)):
        for _ in range(1 if x.is_floating_point() else DRAWS):
            fresh = [replacement(name, x, generator)]
            if x.is_floating_point():
                fresh.append(within(x, harness.generator()))
            for column in chosen(x.shape[axis], most):
                inputs, output = _replaced(harness, at, axis, column, fresh, base)
                ratio = relative(output, base, unit)
                moved = along(
                    torch.where(ratio > tolerance, difference(output, base).to(ratio), 0.0), axis_out
                )
                if repeats and bool((moved > 0)[~allowed[name][:, column]].any()):
                    noise = max(noise, float(relative(harness(inputs), output, unit).max()))
                    repeats -= 1
                found[name][:, column] = torch.maximum(found[name][:, column], moved)
                sure[name][:, column] = torch.maximum(sure[name][:, column], along(ratio, axis_out))
    noise = max(noise, float(relative(harness(), base, unit).max()))
    if noise > tolerance:
        return None, noise
    return {name: torch.where(sure[name] > 4 * noise, table, 0.0) for name, table in found.items()}, noise
