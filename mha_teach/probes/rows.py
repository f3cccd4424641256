"""Do the rows of attention weights sum to one, and if not, what does?"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import torch

from mha_teach.shapes import Float, Tensor

WORDS = {
    "right": "All {rows} rows sum to 1.",
    "blind": "{blind} of {rows} rows hold only zeros: queries that may look at nothing.",
    "nan": "{nan} of {rows} rows hold NaN: look for a row that is fully masked, or for 0 · inf.",
    "wrong": "{wrong} of {rows} rows do not sum to 1: their sums run from {low:.3g} to {high:.3g}.",
    "axis": "The sums along axis {axis} are all 1: the softmax ran over that axis instead of the keys (axis -1).",
    "negative": "Some weights are negative, so no softmax made them.",
    "hint": "Without another cause, a mask or dropout came after the softmax.",
}


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over the keys. True in a condition when every row sums to 1, or to 0 for a query that sees nothing.

    ``sums``: (…, query). ``number``: the largest distance from 1 among the wrong rows, 0 when there are none, NaN when
    a row holds NaN. ``rows``: the indices of the wrong rows. ``axis``: another axis whose sums are all 1, or None.
    """

    sums: Float[Tensor, "*batch query"]
    number: float
    rows: tuple[tuple[int, ...], ...]
    axis: int | None
    words: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.rows

    def __str__(self) -> str:
        return "\n".join(self.words)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *rest = self.words
        return f"<div><p><strong>{escape(first)}</strong></p>{''.join(f'<p>{escape(w)}</p>' for w in rest)}</div>"


def _sums_to_one(weights: Tensor, axis: int, tolerance: float) -> bool:
    """Whether all sums along the axis are 1, or 0 where nothing was left to weigh."""
    sums = weights.sum(axis)
    return bool((((sums - 1).abs() <= tolerance) | (weights == 0).all(axis)).all())


def row_sums(weights: Float[Tensor, "*batch query key"], tolerance: float | None = None) -> RowSums:
    """``s_i = Σ_j A[…, i, j]``: 1 for a softmax over the keys, 0 for a query that may look at nothing.

    Finds a softmax over another axis, a mask or dropout after the softmax, NaN and negative weights, and says which.
    A mask after the softmax that is renormalised leaves sums of 1: it equals a mask before, and is no fault.
    ``tolerance`` of a sum, by default ``eps · max(8, √S)`` of the dtype. Raises ``TypeError`` where the weights are not
    floating point and ``ValueError`` below two axes. Taught in chapter 04.
    """
    if not isinstance(weights, Tensor) or not weights.is_floating_point():
        found = weights.dtype if isinstance(weights, Tensor) else type(weights).__name__
        raise TypeError(f"weights hold {found}; give the floating-point weights after the softmax")
    if weights.ndim < 2 or weights.numel() == 0:
        raise ValueError(f"weights have shape {tuple(weights.shape)}; they need (query, key), neither empty")
    if tolerance is None:
        tolerance = torch.finfo(weights.dtype).eps * max(8.0, weights.shape[-1] ** 0.5)
    exact = weights.detach().to("cpu", torch.float64)
    sums = exact.sum(-1)
    blind = (exact == 0).all(-1)
    wrong = ~blind & ~((sums - 1).abs() <= tolerance)  # NaN is wrong too
    nan = int(sums.isnan().sum())
    count = {"rows": sums.numel(), "blind": int(blind.sum()), "nan": nan, "wrong": int(wrong.sum())}
    finite = sums[wrong & ~sums.isnan()]
    axis = None
    if count["wrong"] > nan:
        others = [a for a in range(-2, -exact.ndim - 1, -1) if exact.shape[a] > 1]
        axis = next((a for a in others if _sums_to_one(exact, a, tolerance)), None)
    words = [] if count["wrong"] else [WORDS["right"] if not count["blind"] else WORDS["blind"]]
    words += [WORDS["nan"]] if nan else []
    if finite.numel():
        words += [WORDS["wrong"], WORDS["axis"] if axis is not None else WORDS["hint"]]
        count |= {"low": float(finite.min()), "high": float(finite.max()), "axis": axis}
    if bool((exact < 0).any()):
        words.append(WORDS["negative"])
    number = float("nan") if nan else float((finite - 1).abs().max()) if finite.numel() else 0.0
    rows = tuple(map(tuple, wrong.nonzero().tolist()))
    return RowSums(sums, number, rows, axis, tuple(w.format(**count) for w in words))
