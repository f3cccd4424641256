"""``attention.attend`` with as little fresh memory as will do: what ``MultiHeadAttention`` runs (chapter 05)."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from mha_teach.shapes import Float, Tensor


def attend_quickly(
    q: Float[Tensor, "*batch head query d_k"],
    k: Float[Tensor, "*batch head key d_k"],
    v: Float[Tensor, "*batch head key d_v"],
    mask: Tensor | None,
    dropout: float,
    need_weights: bool,
) -> tuple[Float[Tensor, "*batch head query d_v"], Float[Tensor, "*batch head query key"] | None]:
    """``attend`` with dropout on the weights, which are None unless asked for.

    Unasked, torch's fused kernel does the work. Asked, scores are reused: on a CPU fresh memory costs more than
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
    weights = _softmax(_scores(q, k, mask))
    weights = weights if blind is None else weights.masked_fill(blind, 0.0)
    if dropout:
        weights = F.dropout(weights, dropout)
    return weights @ v, weights


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


def _scores(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """``q kᵀ / √d_k + mask``, (*batch, head, query, key), in one product: scale and mask cost no walk of their own."""
    rows, columns = q.flatten(0, -3), k.flatten(0, -3).transpose(-2, -1)
    start = q.new_empty(1, 1, 1)
    if mask is not None:
        start = mask.expand(*q.shape[:-2], *mask.shape[-2:]).flatten(0, -3)
    scores = torch.baddbmm(start, rows, columns, beta=int(mask is not None), alpha=q.shape[-1] ** -0.5)
    return scores.view(*q.shape[:-1], k.shape[-2])


def _softmax(scores: Tensor) -> Tensor:
    """Softmax over the keys; without gradients it overwrites the scores."""
    if not torch.is_grad_enabled() and scores.device.type == "cpu" and not torch.compiler.is_compiling():
        try:
            return torch.softmax(scores, -1, out=scores)
        except RuntimeError:  # vmap and forward-mode derivatives know no out=
            pass
    return scores.softmax(-1)
