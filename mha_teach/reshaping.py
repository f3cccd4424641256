"""Split, transpose, merge: how heads share one tensor, and five ways to get it wrong in silence (chapter 03)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from mha_teach.shapes import Float, Int, Tensor

LABELS = ("batch", "role", "position", "head", "dim")


def split_heads(
    x: Float[Tensor, "*batch position width"], num_heads: int
) -> Float[Tensor, "*batch head position d_k"]:
    """``out[…, h, i, c] = x[…, i, h · d_k + c]``: head h owns d_k neighbouring columns of every position.

    A view: no number is copied. Raises ``ValueError`` where the width doesn't split (chapter 03, "In symbols").
    """
    _check_split(x, num_heads)
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge_heads(x: Float[Tensor, "*batch head position d_k"]) -> Float[Tensor, "*batch position width"]:
    """``out[…, i, h · d_k + c] = x[…, h, i, c]``: undoes `split_heads`, number by number.

    Copies where the strides forbid a view. Raises ``ValueError`` below three axes (chapter 03, "In symbols").
    """
    _check_merge(x)
    return x.transpose(-3, -2).flatten(-2)


def split_by_view(
    x: Float[Tensor, "*batch position width"], num_heads: int
) -> Float[Tensor, "*batch head position d_k"]:
    """Wrong: ``x.view(B, h, n, d_k)`` without a transpose cuts the numbers where they lie in memory.

    Symptom: the shape is right and training works, yet a "head" holds pieces of n/h neighbouring positions, and a
    causal mask forbids the wrong pairs: the present reads the future. With one head it is right.
    Cure: `split_heads` (view to (…, n, h, d_k), then transpose). Found by `probes.causal_leak` where heads are merged
    by transposing back (chapter 03); merged by a view too, nobody reads the future, but other heads' positions of
    the past are missing: ``leak.unread`` lists them.
    """
    _check_split(x, num_heads)
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def split_swapped(
    x: Float[Tensor, "batch position width"], num_heads: int
) -> Float[Tensor, "batch head position d_k"]:
    """Wrong: ``x.view(n, B, h, d_k).permute(1, 2, 0, 3)`` reads batch-first numbers as if positions came first.

    Symptom: samples read each other, so the answer for one sample changes with its neighbours. With a batch of
    one it is right, so generation looks fine. Cure: ``x.view(B, n, h, d_k).transpose(1, 2)``, or
    ``batch_first=True`` in torch. Found by `probes.batch_leak`, and by `probes.causal_leak`, since samples mix along
    positions (chapter 03).
    """
    _check_split(x, num_heads)
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}; the swap needs three axes: (batch, position, width)")
    batch, position, width = x.shape
    return x.reshape(position, batch, num_heads, width // num_heads).permute(1, 2, 0, 3)


def split_untransposed(
    x: Float[Tensor, "*batch position width"], num_heads: int
) -> Float[Tensor, "*batch position head d_k"]:
    """Wrong: ``x.view(B, n, h, d_k)`` goes into attention as it is, and is merged with `merge_untransposed`.

    Symptom: the scores are (…, n, h, h): at each position heads attend to heads, and no position reads another.
    The output's shape is right; only an (n, n) mask may complain. Cure: ``.transpose(-3, -2)`` after the view.
    Found by `probes.causal_leak`, which reports that nothing is read at all (``silent``) (chapter 03).
    """
    _check_split(x, num_heads)
    return x.unflatten(-1, (num_heads, -1))


def merge_untransposed(
    x: Float[Tensor, "*batch head position d_k"], positions: int | None = None
) -> Float[Tensor, "*batch position width"]:
    """Wrong: ``out.reshape(B, n, h · d_k)`` straight from (B, h, n, d_k); ``positions`` is n, by default the third size.

    Symptom: an output row holds one head's answers for several positions, so row 0 reads later positions.
    Neither ``reshape`` nor ``view`` complains, since a matmul's result is contiguous. Cure: `merge_heads`.
    Found by `probes.causal_leak` (chapter 03).
    """
    _check_merge(x)
    positions = x.shape[-2] if positions is None else positions
    if x.shape[-3] * x.shape[-2] % positions:
        raise ValueError(
            f"x has shape {tuple(x.shape)}: its {x.shape[-3]} × {x.shape[-2]} rows don't fill {positions} positions; "
            "pass the n of (batch, n, width)"
        )
    return x.reshape(*x.shape[:-3], positions, -1)


def split_interleaved(
    qkv: Float[Tensor, "*batch position width3"], num_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Wrong for columns laid out [Q | K | V]: reads them as (h, 3, d_k), each head with its own q, k, v side by side.

    Symptom: trained from scratch nothing is lost, for the columns are only named differently; with weights of
    the other layout, queries, keys and values are mixed and the model speaks nonsense. With one head it is right.
    Cure: ``[split_heads(part, h) for part in qkv.chunk(3, -1)]``. No leak probe sees it, since nothing leaks:
    found by `trace_origin` with ``roles=3`` and by comparing outputs on copied weights (chapter 03).
    """
    _check_split(qkv, 3 * num_heads)
    q, k, v = qkv.unflatten(-1, (num_heads, 3, -1)).unbind(-2)  # each (*batch, position, head, d_k)
    return q.transpose(-3, -2), k.transpose(-3, -2), v.transpose(-3, -2)


@dataclass(frozen=True, eq=False)
class Origin:
    """Where each number of an output came from: one whole-number tensor per label, in the output's shape."""

    batch: Int[Tensor, "*out"]
    role: Int[Tensor, "*out"]
    position: Int[Tensor, "*out"]
    head: Int[Tensor, "*out"]
    dim: Int[Tensor, "*out"]

    def at(self, *index: int) -> str:
        """The number at ``index``, in words."""
        return ", ".join(f"{name} {int(getattr(self, name)[index])}" for name in LABELS if name != "role")

    def misplaced(self, axes: str = "batch head position dim") -> dict[str, float]:
        """For each named axis of the output, the share of numbers that lie at an index unlike their own label.

        All 0.0: the path is right. ``axes`` names batch, role, position, head, dim, or ``_`` for an axis to skip;
        raises ``ValueError`` for other names or another number of axes.
        """
        names = axes.split()
        if len(names) != self.batch.ndim or set(names) - {*LABELS, "_"}:
            raise ValueError(
                f"axes={axes!r} must name the {self.batch.ndim} axes of the output {tuple(self.batch.shape)}: "
                f"each one of {', '.join(LABELS)}, or _ to skip"
            )
        return {name: self._off(name, at) for at, name in enumerate(names) if name != "_"}

    def _off(self, name: str, axis: int) -> float:
        label = getattr(self, name).movedim(axis, -1)
        return float((label != torch.arange(label.shape[-1])).double().mean())


def trace_origin(
    function: Callable[[Tensor], Tensor | tuple[Tensor, ...]],
    batch: int = 2,
    position: int = 3,
    head: int = 2,
    dim: int = 2,
    *,
    roles: int = 1,
    split: bool = False,
) -> Origin | tuple[Origin, ...]:
    """Send numbered labels through ``function`` and read where each came out.

    The input is (batch, position, roles · head · dim), or (batch, head, position, dim) when ``split``. The function
    may only move numbers (view, transpose, chunk, flip, …); a tuple of outputs gives a tuple of `Origin`.
    Two unlike numberings go through, falling where the other rises, so that arithmetic is noticed.
    Raises ``ValueError`` where the function computes, ``TypeError`` where it returns no tensor (chapter 03).
    """
    sizes = (batch, roles, position, head, dim)
    if min(sizes) < 1 or (split and roles > 1):
        raise ValueError(
            f"sizes {dict(zip(LABELS, sizes, strict=True))} must be positive, and roles 1 when split"
        )
    grid = torch.arange(torch.Size(sizes).numel()).view(sizes)  # in the order of LABELS
    start = (grid[:, 0].transpose(1, 2) if split else grid.transpose(1, 2).flatten(2)).contiguous()
    first, second = function(start), function(-(start**2) - 7)
    if isinstance(first, (tuple, list)):
        return tuple(_origin(a, b, sizes) for a, b in zip(first, second, strict=True))
    return _origin(first, second, sizes)


def _origin(first: Tensor, second: Tensor, sizes: tuple[int, ...]) -> Origin:
    if not isinstance(first, Tensor):
        raise TypeError(
            f"the function returned {type(first).__name__}; it must return a tensor or a tuple of them"
        )
    ids = first.long()
    if first.shape != second.shape or not torch.equal(second.long(), -(ids**2) - 7):
        raise ValueError(
            f"the function computes new numbers (output {tuple(first.shape)}): trace only its views and transposes, "
            "without matmul, softmax, sums or padding"
        )
    return Origin(*(label.reshape(ids.shape) for label in torch.unravel_index(ids, sizes)))


def _check_split(x: Tensor, parts: int) -> None:
    if x.ndim < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}; it needs two axes at least: (position, width)")
    if parts < 1 or x.shape[-1] % parts:
        raise ValueError(
            f"a width of {x.shape[-1]} does not split into {parts} equal parts: choose num_heads that divides it"
        )


def _check_merge(x: Tensor) -> None:
    if x.ndim < 3:
        raise ValueError(f"x has shape {tuple(x.shape)}; it needs three axes at least: (head, position, d_k)")
