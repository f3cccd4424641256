"""Exercise 02-gradients (?)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.ch02_scaling.common import qk
from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, part_of

_GRADIENTS = """\
def gradients(q, k, scale, upstream):
    p = (q @ k.mT * scale).softmax(-1)  # (..., query, key)
    to_scores = p * (upstream - (p * upstream).sum(-1, keepdim=True))  # (..., query, key)
    return to_scores, scale * to_scores @ k  # (..., query, d_k)
"""


_FOUR = ("q", "k", "scale", "upstream")


_GIVEN = ("∂L/∂s", "∂L/∂q")


def _chain(draw: Draw, scale: float, *lead: int, queries: int = 5) -> tuple:
    q, k = (t.double() for t in qk(draw, *lead, queries=queries, d_k=3))
    return q, k, scale, draw.normal(*lead, queries, 7, dtype=torch.float64)


def _saturated(draw: Draw) -> tuple:
    """The first query is so long that its scores are beyond what exp can take."""
    q, *others = _chain(draw, 1.0)
    return torch.cat([1e5 * q[:1], q[1:]]), *others


def _item(index: int):
    return lambda answer, *inputs: part_of(answer(*inputs), index, _GIVEN)


def _both(answer, *inputs) -> tuple:
    found = answer(*inputs)  # once: an answer may collect gradients in q
    return part_of(found, 0, _GIVEN), part_of(found, 1, _GIVEN)


GRADIENTS = Exercise(
    id="02-gradients",
    title="The factor in the chain rule",
    minutes=12,
    difficulty=3,
    marks=3,
    prompt="Write `gradients(q, k, scale, upstream)` by hand, without autograd. `upstream` is $\\partial L/\\partial p$ for "
    "the weights $p = \\mathrm{softmax}(s)$, $s = \\text{scale}\\cdot qk^\\top$. Return the pair $\\partial L/\\partial s$ "
    "(..., query, key) and $\\partial L/\\partial q$ (..., query, d_k).",
    stub="def gradients(q, k, scale, upstream):\n    ...\n",
    solution=_GRADIENTS,
    points=(
        Point(
            "to the scores",
            "Each score moves all weights of its row: ∂L/∂s_j = Σ_i g_i ∂p_i/∂s_j, with g the upstream gradient.",
            lambda draw: _chain(draw, 0.4, queries=1),
            measure=_item(0),
            arguments=_FOUR,
        ),
        Point(
            "to q, scale 1",
            "∂L/∂q = Σ_i ∂L/∂s_i · k_i when the scale is 1, also for a query whose softmax is saturated.",
            _saturated,
            measure=_item(1),
            arguments=_FOUR,
        ),
        Point(
            "to q, another scale",
            "s = scale · q·k, so the scale appears once more on the way back to q.",
            lambda draw: _chain(draw, 0.25),
            measure=_item(1),
            arguments=_FOUR,
        ),
        Point(
            "batch and heads",
            "Leading axes are carried along.",
            lambda draw: _chain(draw, 1.7, 2, 3),
            measure=_both,
            compare=partial(same, parts=_GIVEN),
            arguments=_FOUR,
        ),
    ),
    hints=(
        "$\\partial p_i/\\partial s_j = p_i(\\delta_{ij} - p_j)$. With $g$ for a row of `upstream`: times $g_i$, summed over $i$.",
        "The sum $\\sum_j p_j g_j$ is one number per row: `keepdim=True`.",
        "`to_q = scale * to_scores @ k`.",
    ),
    mutants=(
        Mutant(
            "scale left out of the chain rule",
            "to q, another scale",
            "The way back to q passes through the scale once more.",
            (("scale * to_scores @ k", "to_scores @ k"),),
        ),
        Mutant(
            "scale on the scores' gradient",
            "to the scores",
            "∂L/∂s is taken with respect to the scaled scores: no factor yet.",
            (("to_scores = p *", "to_scores = scale * p *"),),
        ),
        Mutant(
            "sigmoid's derivative",
            "to the scores",
            "p(1-p) is only the diagonal of the Jacobian. Each score moves all weights of its row.",
            (("p * (upstream - (p * upstream).sum(-1, keepdim=True))", "p * (1 - p) * upstream"),),
        ),
        Mutant(
            "mean not taken off",
            "to the scores",
            "Without the sum the row's gradient doesn't add up to 0, though a shift of all scores changes nothing.",
            ((" - (p * upstream).sum(-1, keepdim=True)", ""),),
        ),
        Mutant(
            "plain mean",
            "to the scores",
            "The mean must be weighted by p.",
            (("(p * upstream).sum(-1, keepdim=True)", "upstream.mean(-1, keepdim=True)"),),
        ),
        Mutant(
            "sum over queries",
            "to the scores",
            "It sums over the queries; each row has its own sum over the keys.",
            ((".sum(-1, keepdim=True)", ".sum(-2, keepdim=True)"),),
        ),
        Mutant(
            "unscaled softmax",
            "to the scores",
            "The weights were made from scaled scores.",
            (("(q @ k.mT * scale)", "(q @ k.mT)"),),
        ),
        Mutant(
            "scale at most 1",
            "batch and heads",
            "The factor is whatever the scale is, also above 1.",
            (("scale * to_scores @ k", "min(scale, 1.0) * to_scores @ k"),),
        ),
        Mutant(
            "divided by the scale",
            "to q, another scale",
            "It divides by the scale where the chain rule multiplies.",
            (("scale * to_scores @ k", "to_scores @ k / scale"),),
        ),
        Mutant(
            "every axis of length 1 squeezed",
            "to the scores",
            "`squeeze()` takes away every axis of length 1, that of a single query as well. `squeeze(-1)` takes one.",
            (
                (
                    "p * (upstream - (p * upstream).sum(-1, keepdim=True))",
                    "((p.diag_embed() - p[..., None] * p[..., None, :]) @ upstream[..., None]).squeeze()",
                ),
            ),
        ),
        Mutant(
            "exp written out",
            "to q, scale 1",
            "It takes the exponential of the scores as they are. In a saturated row that overflows, and 0/0 or ∞/∞ is nan.",
            (
                (
                    "p = (q @ k.mT * scale).softmax(-1)",
                    "e = (q @ k.mT * scale).exp()\n    p = e / e.sum(-1, keepdim=True)",
                ),
            ),
        ),
        Mutant(
            "scale at least 1",
            "to q, another scale",
            "It takes a scale below 1 for 1 on the way back to q, and 1/√d_k is below 1.",
            (("scale * to_scores @ k", "max(scale, 1.0) * to_scores @ k"),),
        ),
    ),
    variants=(
        """\
def gradients(q, k, scale, upstream):
    q = q.detach().clone().requires_grad_()
    s = scale * (q @ k.mT)
    s.retain_grad()
    (s.softmax(-1) * upstream).sum().backward()
    return s.grad, q.grad
""",
        """\
from mha_teach import scaling

def gradients(q, k, scale, upstream):
    p = torch.softmax(scale * q @ k.mT, -1)
    to_scores = torch.einsum("...ij,...i->...j", scaling.softmax_jacobian(p), upstream)
    to_q = torch.einsum("...kd,...k->...d", scaling.query_jacobian(p, k, scale), upstream)
    return to_scores, to_q
""",
        """\
def gradients(q, k, scale, upstream):
    s = scale * (q.requires_grad_() @ k.mT)
    s.retain_grad()
    (s.softmax(-1) * upstream).sum().backward()
    return s.grad, q.grad
""",
        """\
def gradients(q, k, scale, upstream):
    p = (q @ k.mT * scale).softmax(-1)
    weighted = p * upstream
    to_scores = weighted - p * weighted.sum(-1)[..., None]
    return [to_scores, torch.matmul(to_scores * scale, k)]
""",
    ),
    why="One number, two effects: in the forward pass a missing scale saturates p and shrinks ∂L/∂s; in the backward pass "
    "the same missing factor makes ∂L/∂q larger by √d_k. Which one wins depends on the row.",
)
