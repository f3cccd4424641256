"""One small attention whose steps can each be replaced by a wrong one."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from mha_teach.reshaping import merge_heads, split_heads
from mha_teach.shapes import Bool, Float, Tensor


class Patient(nn.Module):
    """Sound multi-head attention, written so that a fault is one overridden method.

    ``forward(query, key=None, value=None, mask=None) -> (output, weights)``; ``mask`` boolean, True = may look,
    broadcasting to (batch, head, query, key). A query that may look at nothing gets zeros.
    """

    def __init__(self, d_model: int = 15, num_heads: int = 3, dropout: float = 0.0) -> None:
        super().__init__()
        self.d_model, self.num_heads, self.dropout = d_model, num_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"] | None = None,
        value: Float[Tensor, "batch key d_model"] | None = None,
        mask: Bool[Tensor, "*axes query key"] | None = None,
    ) -> tuple[Float[Tensor, "batch query d_model"], Float[Tensor, "batch head query key"]]:
        q, k, v = self.project(query, query if key is None else key, query if value is None else value)
        heads, weights = self.attend(q, k, v, mask)
        return self.w_o(self.merge(heads)), weights

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(batch, position, d_model) → three times (batch, head, position, d_k)."""
        return self.split(self.w_q(query)), self.split(self.w_k(key)), self.split(self.w_v(value))

    def split(self, x: Tensor) -> Tensor:
        return split_heads(x, self.num_heads)

    def merge(self, x: Tensor) -> Tensor:
        return merge_heads(x)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Scores, weights, weighted mean: (batch, head, query, d_k) in and out."""
        weights = self.weigh(q @ k.mT * self.scale(q, k), mask)
        return weights @ v, weights

    def scale(self, q: Tensor, k: Tensor) -> float:
        return q.shape[-1] ** -0.5

    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Mask, softmax, dropout, in this order."""
        return self.drop(self.soften(scores if mask is None else self.hide(scores, mask)))

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -torch.inf)

    def soften(self, scores: Tensor) -> Tensor:
        blind = (scores == -torch.inf).all(-1, keepdim=True)
        return scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)

    def drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.dropout, self.training)
