"""``attention.attend`` with as little fresh memory as will do: what ``MultiHeadAttention`` runs (chapter 05)."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from mha_teach.shapes import Float, Tensor

# Scores that are worked on at a time, 2 MiB of float32: measured best of 2**18 to 2**21 at 512 positions.
IN_CACHE = 2**19


def attend_quickly(
    q: Float[Tensor, "*batch head query d_k"],
    k: Float[Tensor, "*batch head key d_k"],
    v: Float[Tensor, "*batch head key d_v"],
    mask: Tensor | None,
    dropout: float,
    need_weights: bool,
) -> tuple[Float[Tensor, "*batch head query d_v"], Float[Tensor, "*batch head query key"] | None]:
    """``attend`` with dropout on the weights, which are None unless asked for. Without gradients it may overwrite q.

    Unasked, torch's fused kernel does the work. Asked, memory is used again: on a CPU fresh memory costs more than
    arithmetic. The mask fits the scores already (``masking.over_heads``). Taught in chapter 05.
    """
    blind = None
    if mask is not None:
        mask, blind = _open(mask)
    if not need_weights:
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        return (heads if blind is None else heads.masked_fill(blind, 0.0)), None
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.where(mask, q.new_zeros(()), -torch.inf)
    if mask is not None:
        mask = mask.expand(*q.shape[:-2], *mask.shape[-2:]).flatten(0, -3)
    if blind is None and not dropout and _may_overwrite(q) and q.shape[-1] == v.shape[-1]:
        found = _attend_in_groups(q, k, v, mask)
        if found is not None:
            return found
    scores = _scores(q.flatten(0, -3), k.flatten(0, -3).transpose(-2, -1), mask)
    weights = scores.softmax(-1).view(*q.shape[:-1], k.shape[-2])
    weights = weights if blind is None else weights.masked_fill(blind, 0.0)
    if dropout:
        weights = F.dropout(weights, dropout)
    return weights @ v, weights


def merge_quickly(
    heads: Float[Tensor, "*batch head query d_v"], spare: Tensor
) -> Float[Tensor, "*batch query head*d_v"]:
    """Heads side by side; without gradients in the memory of ``spare``, where they fit there. Taught in chapter 05."""
    rows = heads.transpose(-3, -2)
    fits = spare.shape == heads.shape and spare.dtype == heads.dtype
    if fits and _may_overwrite(spare) and not rows.is_contiguous():
        try:
            rows = spare.view(rows.shape).copy_(rows)
        except RuntimeError:  # what vmap splits doesn't fit into what it doesn't split
            pass
    return rows.flatten(-2)


def _open(mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """The mask with blind rows, which are 0/0, opened, and which rows those are; None where it is known that none is."""
    blind = (~mask.any(-1, True)) if mask.dtype == torch.bool else (mask == -torch.inf).all(-1, True)
    if mask.device.type == "cpu" and not torch.compiler.is_compiling():
        try:
            if not blind.any():
                return mask, None
        except RuntimeError:  # vmap over masks can't answer
            pass
    return (mask | blind if mask.dtype == torch.bool else mask.masked_fill(blind, 0.0)), blind


def _scores(rows: Tensor, columns: Tensor, mask: Tensor | None, out: Tensor | None = None) -> Tensor:
    """``q kᵀ / √d_k + mask``, (heads, query, key), in one product: scale and mask cost no walk of their own."""
    start = mask
    if mask is None:  # nothing is read of it
        start = rows.new_empty(1, 1, 1) if out is None else out
    return torch.baddbmm(
        start, rows, columns, beta=int(mask is not None), alpha=rows.shape[-1] ** -0.5, out=out
    )


def _may_overwrite(x: Tensor) -> bool:
    eager = not (torch.is_grad_enabled() or torch.compiler.is_compiling())
    return eager and x.device.type == "cpu" and x.is_contiguous()


def _attend_in_groups(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor] | None:
    """Some heads at a time, as many as the cache holds: weights overwrite scores there, and results the queries.

    None, and q as it was, where torch can't: vmap and forward-mode derivatives know no ``out=``. Torch may say so after
    it has written, so no heads at all are tried first.
    """
    rows, columns, values = q.flatten(0, -3), k.flatten(0, -3).transpose(-2, -1), v.flatten(0, -3)
    weights = q.new_empty(len(rows), q.shape[-2], k.shape[-2])
    size = max(1, IN_CACHE // max(1, q.shape[-2] * k.shape[-2]))
    for group in (slice(0, 0), *(slice(first, first + size) for first in range(0, len(rows), size))):
        scores = weights[group]
        try:
            _scores(rows[group], columns[group], None if mask is None else mask[group], out=scores)
            torch.softmax(scores, -1, out=scores)
            torch.bmm(scores, values[group], out=rows[group])
        except RuntimeError:
            if group.stop:  # part of q is gone
                raise
            return None
    return q, weights.view(*q.shape[:-1], k.shape[-2])
