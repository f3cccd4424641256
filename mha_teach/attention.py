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
    """Scaled dot-product attention: ``weights = softmax(q kᵀ · scale + mask)``, ``output = weights v``.

    Each query scores every key; the softmax over the keys turns a row of scores into weights; the output is the
    weighted mean of the values. Returns ``(output, weights)``. Leading axes broadcast.

    ``mask`` broadcasts to ``(*batch, query, key)``. Boolean: True = may look. Float: added to the scores, in
    their unit. A query that may look at nothing gets zero weights, a zero output and zero gradients, never NaN.
    ``scale`` multiplies the scores; it defaults to 1/√d_k (chapter 02 says why).

    Raises ``ValueError`` where sizes don't fit and ``TypeError`` where numbers aren't floating point.
    Source: Vaswani et al. 2017, section 3.2.1; torch calls it ``F.scaled_dot_product_attention`` and returns no
    weights. Taught in chapter 00.
    """
    _check(q, k, v, mask)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q @ k.transpose(-2, -1) * scale  # (*batch, query, key)
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        scores = scores + mask.to(scores.dtype)
    blind = (scores == -torch.inf).all(-1, keepdim=True)  # 0/0 ahead
    weights = scores.masked_fill(blind, 0.0).softmax(-1)
    weights = weights.masked_fill(blind, 0.0)
    return weights @ v, weights


def _check(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    """Say which sizes don't fit, and what to do, before torch says it about a matmul."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.dim() < 2:
            raise ValueError(
                f"{name} has shape {tuple(x.shape)}; it needs rows: (position, width). One vector is {name}[None]."
            )
        if not x.is_floating_point():
            raise TypeError(f"{name} holds {x.dtype}; attention needs floating point: {name}.float().")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q has d_k = {q.shape[-1]} and k has d_k = {k.shape[-1]}; a dot product needs the same width. "
            "Project both to one d_k."
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"k has {k.shape[-2]} rows and v has {v.shape[-2]}; each key needs one value. "
            "Take both from the same positions."
        )
    if mask is None:
        return
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise TypeError(
            f"the mask holds {mask.dtype}, which could mean a switch or a number to add. "
            "Write mask.bool() for True = may look, or give a float mask to add."
        )
    scores = (*torch.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    padded = (1,) * (len(scores) - mask.dim()) + tuple(mask.shape)
    if len(padded) > len(scores) or any(m not in (1, s) for m, s in zip(padded, scores, strict=True)):
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)} and the scores (*batch, query, key) = {scores}; "
            "each axis of the mask must be 1 or the same size. Missing axes are added in front: "
            "a mask of keys per sample is mask[:, None, :]."
        )
