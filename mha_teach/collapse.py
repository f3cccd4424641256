"""One head is one softmax per position: what that rules out, and how to measure it (chapter 01)."""

from __future__ import annotations

import math

import torch

from mha_teach.attention import attend
from mha_teach.shapes import Float, Int, Tensor


def heads(
    x: Float[Tensor, "*batch query d_model"],
    memory: Float[Tensor, "*batch key d_model"],
    w_q: Float[Tensor, "head d_model d_k"],
    w_k: Float[Tensor, "head d_model d_k"],
    w_v: Float[Tensor, "head d_model d_v"],
) -> tuple[Float[Tensor, "*batch head query d_v"], Float[Tensor, "*batch head query key"]]:
    """Every head's own output and weights: ``A_h memory W_v[h]`` with ``A_h = softmax(x W_q[h] (memory W_k[h])ᵀ/√d_k)``.

    Each head reads the whole of ``x`` and of ``memory`` through its own matrices; nothing is sliced.
    Raises ``ValueError`` when the matrices disagree on the number of heads or on d_model (chapter 01, "In code").
    """
    width = x.shape[-1]
    for name, w in {"w_q": w_q, "w_k": w_k, "w_v": w_v}.items():
        if w.ndim != 3 or w.shape[0] != w_q.shape[0] or w.shape[1] != width:
            raise ValueError(
                f"{name} has shape {tuple(w.shape)}; expected (head, d_model, d_k) with "
                f"head={w_q.shape[0]} and d_model={width}: give each head its own (d_model, d_k) matrix"
            )
    x, memory = x.unsqueeze(-3), memory.unsqueeze(-3)  # (*batch, 1, position, d_model)
    return attend(x @ w_q, memory @ w_k, memory @ w_v)


def parameters(d_model: int, num_heads: int, d_k: int | None = None) -> int:
    """Weights of one attention layer without biases: ``4 · d_model · num_heads · d_k``.

    ``d_k`` defaults to ``d_model / num_heads``; then the count is ``4 · d_model²`` for every number of heads
    (chapter 01, "In symbols"). Raises ``ValueError`` when d_model can't be split evenly and no d_k is given.
    """
    if d_k is None:
        if d_model % num_heads:
            raise ValueError(
                f"d_model={d_model} does not split into num_heads={num_heads} equal parts: pass d_k yourself"
            )
        d_k = d_model // num_heads
    return 4 * d_model * num_heads * d_k


def role_confusion(
    weights: Float[Tensor, "*batch head query key"], targets: Int[Tensor, "*batch query role"]
) -> Float[Tensor, "*batch query"]:
    """How much the rows that serve the roles serve *other* roles at the same time: 0 never, ``1 − 1/roles`` fully.

    ``targets[..., i, r]`` is the key that query i needs for role r. Of all heads, the one with the largest weight
    on that key serves the role. Its *share* is that weight divided by the row's weight on all the query's targets::

        h(r) = argmax_h A[h, i, t_r]      share_r = A[h(r), i, t_r] / Σ_{t in {t_1 … t_R}} A[h(r), i, t]
        confusion_i = 1 − mean_r share_r

    Roles served by one head have shares that sum to at most 1, so with R different targets and H heads
    ``confusion ≥ 1 − min(H, R)/R``: for one head it is ``1 − 1/R`` whatever the head has learned. Roles with the
    same target don't compete. Weight on other keys (dilution) doesn't count. A row without any weight on the
    targets serves nobody: share 0. Raises ``ValueError`` when shapes disagree (chapter 01, "In symbols").
    """
    if weights.ndim < 3 or weights.shape[:-3] + weights.shape[-2:-1] != targets.shape[:-1]:
        raise ValueError(
            f"weights {tuple(weights.shape)} are (*batch, head, query, key) and targets {tuple(targets.shape)} must "
            "be (*batch, query, role) with the same batch and query sizes: give every query one key per role"
        )
    if targets.numel() and not 0 <= int(targets.min()) <= int(targets.max()) < weights.shape[-1]:
        raise ValueError(
            f"targets reach from {int(targets.min())} to {int(targets.max())}, but there are "
            f"{weights.shape[-1]} keys: count them from 0"
        )
    wanted = torch.zeros_like(weights[..., 0, :, :]).scatter(-1, targets, 1.0)  # (*batch, query, key)
    total = (weights * wanted.unsqueeze(-3)).sum(-1, keepdim=True)  # (*batch, head, query, 1)
    spot = targets.unsqueeze(-3).expand(*weights.shape[:-1], -1)
    mass = weights.gather(-1, spot)  # (*batch, head, query, role)
    share = torch.where(total > 0, mass / total.clamp_min(torch.finfo(mass.dtype).tiny), 0.0)
    server = mass.argmax(-3, keepdim=True)  # the head that looks hardest for the role
    return 1 - share.gather(-3, server).squeeze(-3).mean(-1)


def rank_one_distance(x: Float[Tensor, "*batch token d"]) -> Float[Tensor, "*batch"]:
    """How far the rows of a matrix are from being all the same: ``min_r ‖X − 1 rᵀ‖_F / ‖X‖_F``, from 0 to 1.

    ``1 rᵀ`` has the same row ``r`` at every token, so its rank is one. In the Frobenius norm the best ``r`` is the
    mean of the rows. 0: every token holds the same vector; 1: the mean row is zero. Dong, Cordonnier and Loukas
    (2021) measure the same residual in the norm ``√(‖·‖₁ ‖·‖_∞)``; the Frobenius norm has the exact minimiser.
    A zero matrix has distance 0. It's not the distance to *any* rank-one matrix, which may differ from row to row.
    """
    if x.ndim < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}; it needs two axes at least, (token, d)")
    residual = x - x.mean(-2, keepdim=True)
    size = x.norm(dim=(-2, -1))
    return torch.where(size > 0, residual.norm(dim=(-2, -1)) / size.clamp_min(torch.finfo(x.dtype).tiny), 0.0)


def distance_by_depth(
    x: Float[Tensor, "*batch token d_model"],
    depth: int,
    num_heads: int = 1,
    residual: bool = False,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*batch layer"]:
    """``rank_one_distance`` before and after each of ``depth`` random, untrained self-attention layers.

    The last axis has ``depth + 1`` entries, the first for ``x`` itself. Each layer draws fresh matrices with entries N(0, 1/d_model), so that it keeps the size of a vector on average;
    ``residual`` adds the layer's input to its output: ``x + attention(x)``. No MLP, no layer norm (chapter 01).
    """
    d_model = x.shape[-1]
    if d_model % num_heads:
        raise ValueError(
            f"d_model={d_model} does not split into num_heads={num_heads} equal parts: use a divisor"
        )
    d_k = d_model // num_heads
    distances = [rank_one_distance(x)]
    for _ in range(depth):
        w = torch.randn(4, num_heads, d_model, d_k, generator=generator, dtype=x.dtype).to(x)
        w = w / math.sqrt(d_model)
        found, _ = heads(x, x, w[0], w[1], w[2])  # (*batch, head, token, d_k)
        update = (found @ w[3].mT).sum(-3)  # each head writes back to all of d_model
        x = x + update if residual else update
        distances.append(rank_one_distance(x))
    return torch.stack(distances, -1)
