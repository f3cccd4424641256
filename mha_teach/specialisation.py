"""Heads that do different things: what each looks at, what is lost without it, and what chance gives (chapter 06)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch

from mha_teach.shapes import Bool, Float, Int, Tensor


def role_targets(
    ids: Int[Tensor, "*batch position"], real: Bool[Tensor, "*batch position"] | None = None
) -> dict[str, Bool[Tensor, "*batch query key"]]:
    """For each role the keys that a head with this role looks at: True at (i, j) where query i should look at key j.

    ``previous``: j = i − 1. ``next``: j = i + 1. ``first``: j = 0, for every query but the first. ``same token``: the
    same id elsewhere. ``induction``: j stands right behind an earlier copy of query i's token, as in "A B … A →"
    (Olsson et al. 2022). ``real`` is False at padding, which has no role on either side. Any other distance is
    ``torch.eye(n, dtype=bool).roll(distance, -1)`` without its wrap-round; chapter 06, "In symbols".
    """
    n, place = ids.shape[-1], torch.arange(ids.shape[-1], device=ids.device)
    ahead = place - place[:, None]  # (query, key): how far key lies ahead of query
    same = ids[..., None] == ids[..., None, :]
    behind = torch.zeros_like(same)
    behind[..., 1:] = same[..., :-1] & (ahead[:, :-1] < 0)  # key j is right behind a copy at j − 1
    first = (place == 0).expand(n, n) & (place[:, None] > 0)
    found = {"previous": ahead == -1, "next": ahead == 1, "first": first}
    found = {name: target.expand_as(same) for name, target in found.items()}
    found |= {"same token": same & (ahead != 0), "induction": behind}
    if real is None:
        return found
    if real.shape != ids.shape:
        raise ValueError(
            f"real has shape {tuple(real.shape)} and ids {tuple(ids.shape)}: one truth for each token."
        )
    return {name: target & real[..., None] & real[..., None, :] for name, target in found.items()}


def role_score(
    weights: Float[Tensor, "*batch head query key"], targets: Bool[Tensor, "*batch query key"]
) -> Float[Tensor, "*batch head"]:
    """How far a head plays a role: ``mean_i Σ_j A[i, j] T[i, j]`` over the queries i that have a target, 0 to 1.

    NaN where no query has a target (``nanmean`` over sentences skips it). Raises ``ValueError`` with both shapes when
    they don't fit. What no role at all would get: the same for :func:`uniform`. Chapter 06, "In symbols".
    """
    if weights.ndim < 3 or targets.shape != weights.shape[:-3] + weights.shape[-2:]:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, (*batch, head, query, key), and targets "
            f"{tuple(targets.shape)}; they must be (*batch, query, key) of the same sizes: expand them."
        )
    asks = targets.any(-1)  # (*batch, query)
    mass = (weights * targets.unsqueeze(-3)).sum(-1)  # (*batch, head, query)
    return mass.sum(-1) / asks.sum(-1).unsqueeze(-1)  # a query without target has mass 0


def uniform(allowed: Bool[Tensor, "*batch query key"]) -> Float[Tensor, "*batch 1 query key"]:
    """The weights of a head that spreads evenly over the allowed keys: the control that every role score is held against.

    ``A[i, j] = allowed[i, j] / Σ_k allowed[i, k]``; a query that may look at nothing gets zeros. Chapter 06.
    """
    share = allowed.to(torch.get_default_dtype())
    return (share / share.sum(-1, keepdim=True).clamp_min(1.0)).unsqueeze(-3)


def broadness(
    weights: Float[Tensor, "*batch head query key"], allowed: Bool[Tensor, "*batch query key"] | None = None
) -> Float[Tensor, "*batch head"]:
    """Entropy of a row over the entropy of a uniform one, ``−Σ_j A log A / log n``, averaged over queries; 0 to 1.

    ``n`` is the number of allowed keys of that query (all keys by default); queries with fewer than two have no
    choice and don't count, and NaN stands where no query has one. A uniform head gets 1. Chapter 06.
    """
    if allowed is None:
        allowed = torch.ones(weights.shape[:-3] + weights.shape[-2:], dtype=torch.bool, device=weights.device)
    keys = allowed.sum(-1)  # (*batch, query)
    counts = keys > 1
    share = torch.special.entr(weights).sum(-1) / keys.clamp_min(2).log().unsqueeze(
        -2
    )  # (*batch, head, query)
    return (share * counts.unsqueeze(-2)).sum(-1) / counts.sum(-1).unsqueeze(-1)


def map_cosine(weights: Float[Tensor, "*batch head query key"]) -> Float[Tensor, "*batch head head"]:
    """Cosine between the heads' maps, each read as one long vector: ``⟨A_i, A_j⟩ / (‖A_i‖ ‖A_j‖)``, 0 to 1.

    Two uniform maps have cosine 1 whatever their values do: alike is not redundant. Chapter 06, "Where it breaks".
    """
    flat = torch.nn.functional.normalize(weights.flatten(-2), dim=-1)
    return flat @ flat.mT


def gated(
    w_o: Float[Tensor, "*lane inner d_model"], gate: Float[Tensor, "*lane part"]
) -> Float[Tensor, "*lane inner d_model"]:
    """W_o with each head's rows multiplied by its gate, which is the same as multiplying the head's output.

    ``Σ_h g_h head_h W_o[h] = Σ_h head_h (g_h W_o[h])``. A gate of ``inner`` numbers closes single units. Raises
    ``ValueError`` where the gate's length does not divide the inner width. Chapter 06, "In symbols".
    """
    inner, parts = w_o.shape[-2], gate.shape[-1]
    if inner % parts:
        raise ValueError(
            f"the inner width {inner} does not split into {parts} gates: give one gate for each head, or for each unit."
        )
    return w_o * gate.repeat_interleave(inner // parts, -1).unsqueeze(-1)


def drop_gates(
    parts: int, closed: int, draws: int | None = None, generator: torch.Generator | None = None
) -> Float[Tensor, "draw parts"]:
    """Gates that close ``closed`` of ``parts`` heads (or units): every choice there is, or ``draws`` random ones.

    Raises ``ValueError`` when closed is not between 0 and parts, or when there are too many choices to list.
    """
    if not 0 <= closed <= parts:
        raise ValueError(f"closed = {closed} of parts = {parts}: close between 0 and all.")
    if draws is None:
        if (count := math.comb(parts, closed)) > 10_000:
            raise ValueError(
                f"{closed} of {parts} can be chosen in {count:,} ways: pass draws, the number to try."
            )
        picked = torch.tensor(list(itertools.combinations(range(parts), closed)), dtype=torch.long)
    else:
        picked = torch.rand(draws, parts, generator=generator).argsort(-1)[:, :closed]
    return torch.ones(len(picked), parts).scatter(-1, picked.view(len(picked), closed), 0.0)


def head_drop(
    score: Callable[[Tensor], Tensor], gates: Float[Tensor, "draw part"]
) -> Float[Tensor, "draw *lane relation"]:
    """What closing costs: ``score(gate) − score(all open)`` for each row of ``gates``. Chapter 06, "Experiment".

    ``score`` takes one gate and returns a number for each relation, with any axes before it (seeds, sentences).
    """
    whole = score(torch.ones_like(gates[0]))
    return torch.stack([score(gate) - whole for gate in gates])


def knockout_matrix(
    score: Callable[[Tensor], Tensor], num_heads: int
) -> Float[Tensor, "*lane head relation"]:
    """The change of each relation's score when one head is closed: row i, column r is ``score_r(without i) − score_r``.

    Negative numbers are losses. ``score`` as in :func:`head_drop`; source: Michel et al. 2019, chapter 06.
    """
    return head_drop(score, drop_gates(num_heads, 1)).movedim(0, -2)


def carriers(
    change: Float[Tensor, "*lane head relation"],
    scores: Float[Tensor, "*lane relation"],
    chance: float,
    share: float = 0.5,
) -> Bool[Tensor, "*lane head relation"]:
    """Which head carries which relation: closing it alone takes ``share`` of what the score had above chance.

    A relation without a carrier was never learned, or several heads do it and cover for one another. Heads have
    *specialised* where each relation has one carrier and no head carries two. Chapter 06, "In symbols".
    """
    if change.shape[:-2] + change.shape[-1:] != scores.shape:
        raise ValueError(
            f"change has shape {tuple(change.shape)}, (*lane, head, relation), and scores {tuple(scores.shape)}; "
            "they must be (*lane, relation): one score for each relation."
        )
    above = (scores - chance).unsqueeze(-2)
    return (above > 0) & (-change >= share * above)


def specialised(carried: Bool[Tensor, "*lane head relation"]) -> Bool[Tensor, "*lane"]:
    """Whether each relation has one carrier and no head carries two; ``carried`` comes from :func:`carriers`."""
    return (carried.sum(-2) == 1).all(-1) & (carried.sum(-1) <= 1).all(-1)


def subspace_overlap(
    w: Float[Tensor, "*lane d_model inner"], num_heads: int
) -> Float[Tensor, "*lane head head"]:
    """Mean squared cosine of the principal angles between the column spaces of two heads: 1 the same, 0 at right angles.

    ``w`` is W_Q, W_K or W_V, heads side by side. Random subspaces overlap by d_k / d_model.
    For what heads make of inputs that fill few directions, pass ``x @ w``, and random w's for control. Chapter 06.
    """
    if w.shape[-1] % num_heads or w.shape[-1] // num_heads > w.shape[-2]:
        raise ValueError(
            f"w is {w.shape[-1]} wide and num_heads = {num_heads}: heads need one width, of d_model = {w.shape[-2]} at most."
        )
    basis = torch.linalg.qr(
        w.unflatten(-1, (num_heads, -1)).transpose(-3, -2)
    ).Q  # (*lane, head, d_model, d_k)
    both = basis.unsqueeze(-3).mT @ basis.unsqueeze(-4)  # (*lane, head, head, d_k, d_k)
    return both.square().sum((-2, -1)) / basis.shape[-1]
