"""Attention with the batch as last axis: quick for many narrow heads and few positions.

One matrix product per (seed, sample, head) would be thousands of tiny ones, each mostly call overhead. Here every
multiplication runs over whole vector registers, and its large product lands in one work space that is used again.
"""

from __future__ import annotations

import math
import threading

import torch

from mha_teach.shapes import Float, Tensor

_space = threading.local()  # each thread of a sweep has its own


def attend_lanes(
    q: Float[Tensor, "seed head d_k query batch"],
    k: Float[Tensor, "seed head d_k key batch"],
    v: Float[Tensor, "seed head d_k key batch"],
    scale: float,
) -> tuple[Float[Tensor, "seed head d_k query batch"], Float[Tensor, "seed head query key batch"]]:
    """``softmax(q·k · scale)`` over the keys, and the mean of ``v`` by it: what ``attend`` gives (a test says so).

    Gradients flow through the output only, not through the returned weights.
    """
    return _Lanes.apply(q, k, v, scale)


def _product(a: Tensor, b: Tensor) -> Float[Tensor, "seed head d_k query key batch"]:
    """``a · b``, broadcast, in this thread's work space: read it before the next call."""
    shape = torch.broadcast_shapes(a.shape, b.shape)
    size = math.prod(shape)
    held = getattr(_space, "tensor", None)
    if held is None or held.numel() < size or held.dtype != a.dtype:
        held = _space.tensor = torch.empty(size, dtype=a.dtype)
    return torch.mul(a, b, out=held[:size].view(shape))


class _Lanes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        q = q * scale
        scores = _product(q[:, :, :, :, None], k[:, :, :, None]).sum(2)  # (seed, head, query, key, batch)
        weights = scores.softmax(3)
        out = _product(weights[:, :, None], v[:, :, :, None]).sum(4)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        ctx.mark_non_differentiable(weights)
        return out, weights

    @staticmethod
    def backward(ctx, slope: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q, k, v, weights = ctx.saved_tensors
        to_v = _product(weights[:, :, None], slope[:, :, :, :, None]).sum(3)
        to_weights = _product(slope[:, :, :, :, None], v[:, :, :, None]).sum(2)
        mean = (to_weights * weights).sum(3, keepdim=True)
        to_scores = to_weights.sub_(mean).mul_(weights)[:, :, None]  # the softmax's Jacobian (chapter 02)
        to_q = _product(to_scores, k[:, :, :, None]).sum(4).mul_(ctx.scale)
        to_k = _product(to_scores, q[:, :, :, :, None]).sum(3)
        return to_q, to_k, to_v, None
