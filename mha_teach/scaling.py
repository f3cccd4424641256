"""Why scores are divided by √d_k, where the reason fails, and what saturation does to gradients (chapter 02)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

from mha_teach.shapes import Float, Tensor

SCALES = ("none", "sqrt_d_k", "d_k", "sqrt_d_model")
INITS = ("torch default", "xavier", "xavier fused", "normal 0.02", "tied")
FP16_LIMIT = 65504.0  # the largest finite half-precision number


def score_scale(kind: str, d_k: int, d_model: int | None = None) -> float:
    """The factor that multiplies q·k: 1, 1/√d_k, 1/d_k or 1/√d_model.

    ``kind`` is one of ``SCALES``: ``"sqrt_d_k"`` from Vaswani et al. (2017), ``"d_k"`` from muP (Yang et al., 2022),
    ``"sqrt_d_model"`` a common mistake, which needs ``d_model``.
    Raises ValueError for an unknown kind, for a width below 1, and when ``d_model`` is missing.
    """
    if d_k < 1:
        raise ValueError(f"d_k is {d_k}, but a head needs a width of at least 1")
    if kind == "sqrt_d_model":
        if d_model is None or d_model < 1:
            raise ValueError(f"scale 'sqrt_d_model' needs d_model >= 1, got {d_model}; pass d_model=...")
        return d_model**-0.5
    if kind not in SCALES:
        raise ValueError(f"scale {kind!r} is unknown; choose one of {', '.join(SCALES)}")
    return {"none": 1.0, "sqrt_d_k": d_k**-0.5, "d_k": 1.0 / d_k}[kind]


def draw_qk(
    queries: int, keys: int, d_k: int, correlation: float = 0.0, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "query d_k"], Float[Tensor, "key d_k"]]:
    """Standard normal queries and keys; key j has ``correlation`` with query j, coordinate by coordinate.

    k_j = ρ q_j + √(1-ρ²) ε_j: mean 0 and variance 1 whatever ρ is, and only matched pairs (the diagonal of the
    scores) are dependent. Keys beyond the last query are independent of all.
    Raises ValueError when ρ lies outside [-1, 1].
    """
    if not -1.0 <= correlation <= 1.0:
        raise ValueError(f"correlation is {correlation}, but a correlation lies between -1 and 1")
    q = torch.randn(queries, d_k, generator=generator)
    k = torch.randn(keys, d_k, generator=generator)
    pairs = min(queries, keys)
    k[:pairs] = correlation * q[:pairs] + math.sqrt(1 - correlation**2) * k[:pairs]
    return q, k


class Moments(NamedTuple):
    """Mean and variance of a score."""

    mean: float
    variance: float


def predicted_moments(d_k: int, correlation: float = 0.0, sd_q: float = 1.0, sd_k: float = 1.0) -> Moments:
    """Mean ρ σ_q σ_k d_k and variance (1+ρ²) σ_q² σ_k² d_k of q·k for zero-mean normal q and k.

    Coordinates are independent of each other; ρ ties q_i to k_i. At ρ = 0, σ = 1: (0, d_k), normal or not.
    """
    power = sd_q * sd_k
    return Moments(correlation * power * d_k, (1 + correlation**2) * power**2 * d_k)


def score_variance(cov_q: Float[Tensor, "d_k d_k"], cov_k: Float[Tensor, "d_k d_k"]) -> Float[Tensor, ""]:
    """Var(q·k) = tr(Σ_q Σ_k): exact for zero-mean q and k independent of each other, whatever their shape.

    Identity covariances give d_k; coordinates that all agree (every entry of Σ is 1) give d_k².
    Raises ValueError when the two are not square and of one size.
    """
    if cov_q.shape != cov_k.shape or cov_q.ndim != 2 or cov_q.shape[0] != cov_q.shape[1]:
        raise ValueError(
            f"covariances have shapes {tuple(cov_q.shape)} and {tuple(cov_k.shape)}; both must be (d_k, d_k)"
        )
    return (cov_q * cov_k.T).sum()


def init_weights(
    init: str, d_model: int, d_out: int | None = None
) -> tuple[Float[Tensor, "d_out d_model"], Float[Tensor, "d_out d_model"]]:
    """(W_q, W_k) as a fresh torch layer would hold them; ``init`` is one of ``INITS``.

    ================ ======================== ======================================
    init             variance of one weight   variance of q_i for x of unit variance
    ================ ======================== ======================================
    torch default    1/(3 d_model)            1/3
    xavier           2/(d_model + d_out)      2 d_model/(d_model + d_out)
    xavier fused     2/(d_model + 3 d_out)    2 d_model/(d_model + 3 d_out)
    normal 0.02      0.0004                   0.0004 d_model
    tied             as xavier, W_k is W_q    2 d_model/(d_model + d_out)
    ================ ======================== ======================================

    ``d_out`` (all heads together) defaults to d_model. Draws from torch's global generator.
    Raises ValueError for an unknown init.
    """
    d_out = d_model if d_out is None else d_out
    if init == "xavier fused":
        return tuple(nn.init.xavier_uniform_(torch.empty(3 * d_out, d_model)).split(d_out)[:2])
    if init == "torch default":
        return tuple(nn.Linear(d_model, d_out, bias=False).weight.detach() for _ in range(2))
    if init == "xavier":
        return tuple(nn.init.xavier_uniform_(torch.empty(d_out, d_model)) for _ in range(2))
    if init == "normal 0.02":
        return tuple(torch.randn(d_out, d_model) * 0.02 for _ in range(2))
    if init == "tied":
        return (nn.init.xavier_uniform_(torch.empty(d_out, d_model)),) * 2
    raise ValueError(f"init {init!r} is unknown; choose one of {', '.join(INITS)}")


def softmax_jacobian(weights: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch key key"]:
    """∂p_i/∂s_j = p_i (δ_ij - p_j), for weights p = softmax(s). Symmetric; each row adds up to 0."""
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def query_jacobian(
    weights: Float[Tensor, "*batch query key"], k: Float[Tensor, "*batch key d_k"], scale: float
) -> Float[Tensor, "*batch query key d_k"]:
    """∂p_i/∂q = scale · p_i (k_i - Σ_j p_j k_j): the softmax Jacobian, times the keys, times the scale once more.

    So leaving the scale out makes this larger, not smaller, wherever the softmax has not yet saturated.
    """
    mean_key = (weights @ k).unsqueeze(-2)  # (*batch, query, 1, d_k)
    return scale * weights.unsqueeze(-1) * (k.unsqueeze(-3) - mean_key)


class Saturation(NamedTuple):
    """What each softmax row is worth; every field has shape (*batch, query)."""

    max_weight: Tensor
    entropy: Tensor  # nats; uniform weights over n keys have log n
    to_scores: Tensor  # Frobenius norm of ∂weights/∂scores
    to_query: Tensor  # Frobenius norm of ∂weights/∂q


def saturation(
    q: Float[Tensor, "*batch query d_k"], k: Float[Tensor, "*batch key d_k"], scale: float
) -> Saturation:
    """Largest weight, entropy (nats) and both Jacobian norms of every row of softmax(scale · q kᵀ).

    Norms of ``softmax_jacobian`` and ``query_jacobian`` without building them: ‖J‖² = Σ_i p_i² ‖e_i - p‖² and
    ‖∂p/∂q‖² = scale² Σ_i p_i² ‖k_i - Σ_j p_j k_j‖². Raises ValueError when q and k differ in d_k.
    """
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q has d_k {q.shape[-1]} but k has {k.shape[-1]}; a dot product needs one width")
    log_weights = (q @ k.transpose(-2, -1) * scale).log_softmax(-1)
    weights = log_weights.exp()  # (*batch, query, key)
    return Saturation(
        weights.amax(-1),
        -(weights * log_weights).sum(-1),
        (weights * _distance(weights, torch.eye(k.shape[-2]).to(weights))).norm(dim=-1),
        scale * (weights * _distance(weights @ k, k)).norm(dim=-1),
    )


def _distance(a: Tensor, b: Tensor) -> Tensor:
    # The fast matmul form cancels where a row has saturated, which is where we look.
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def dead_rows(weights: Float[Tensor, "*batch query key"], threshold: float = 1e-3) -> Float[Tensor, ""]:
    """Share of rows, between 0 and 1, whose largest weight exceeds 1 - ``threshold``.

    Moving a score by δ moves no weight of such a row by more than about threshold · δ.
    """
    return (weights.amax(-1) > 1 - threshold).to(weights.dtype).mean()


def overflow_scale(d_k: int, sigmas: float = 5.0, correlation: float = 0.0, scale: float = 1.0) -> float:
    """Standard deviation a of q and k at which a half-precision score reaches 65504.

    a² · scale · (ρ d_k + sigmas · √((1+ρ²) d_k)) = 65504. ``sigmas``: how many standard deviations the largest score
    lies above the mean; 5 is usual among a million. ``scale`` counts only if it multiplies q *before* the product.
    """
    mean, variance = predicted_moments(d_k, correlation)
    return math.sqrt(FP16_LIMIT / (scale * (mean + sigmas * math.sqrt(variance))))


def effective_scale(
    q: Float[Tensor, "*batch query d_k"],
    k: Float[Tensor, "*batch key d_k"],
    weights: Float[Tensor, "*batch query key"],
) -> Float[Tensor, ""]:
    """The factor that an attention really used, read off its weights: the probe for a wrong scale.

    log p_i = scale · q·k_i + a constant of the row, so the scale is the slope of log p against q·k, both centred in
    each row. Weights of exactly 0 (masked or underflowed) are left out. Take q and k so small that no row is one-hot.
    Raises ValueError when no row has two non-zero weights: then nothing can be read.
    """
    seen = weights > 0
    count = seen.sum(-1, keepdim=True).clamp(min=1)

    def centred(x: Tensor) -> Tensor:
        x = torch.where(seen, x, 0.0)
        return torch.where(seen, x - x.sum(-1, keepdim=True) / count, 0.0)

    raw, logs = centred(q @ k.transpose(-2, -1)), centred(weights.log())
    spread = (raw * raw).sum()
    if spread == 0:
        raise ValueError("no row has two non-zero weights with different scores; take smaller q and k")
    return (raw * logs).sum() / spread
