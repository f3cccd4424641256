"""Attention in ten lines (chapter 00)."""

from __future__ import annotations

import torch

from mha_teach.shapes import Float, Tensor


def attend(
    q: Float[Tensor, "*batch query d_k"],
    k: Float[Tensor, "*batch key d_k"],
    v: Float[Tensor, "*batch key d_v"],
    mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]]:
    """Scaled dot-product attention: ``softmax(q kᵀ · scale + mask) v``.

    ``mask`` is boolean (True = may look) or float (added to the scores). ``scale`` defaults to 1/√d_k.
    A query that may look at nothing gets zero weights and a zero output, never NaN.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q @ k.transpose(-2, -1) * scale  # (*batch, query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    blind = (scores == -torch.inf).all(-1, keepdim=True)  # softmax of such a row would be 0/0
    weights = scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)
    return weights @ v, weights  # (*batch, query, d_v), (*batch, query, key)
