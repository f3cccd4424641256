"""Exercises of chapter 02: why √d_k, where the reason fails, what the factor does to gradients."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises import formula
from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression, gradients, part_of, value

NUMBERS = Exercise(
    id="02-numbers",
    kind="recall",
    title="Three scores",
    minutes=3,
    prompt="Three numbers, no code. **(a)** $d_k = 64$; the numbers in $q$ have standard deviation 2, those in $k$ have "
    "0.5; all have mean 0 and are independent. What is the **variance** of $q\\cdot k$? **(b)** A layer has "
    "$d_{model} = 512$ and 8 heads. By what number does torch **divide** the scores? **(c)** A vector of width 64, mean "
    "0, variance 1, meets **itself**: what is $q\\cdot q$ on average?",
    stub="variance = ...\ndivisor = ...\nitself = ...\n",
    solution="variance = 64\ndivisor = 8\nitself = 64\n",
    points=(
        value(
            "variance",
            "For independent numbers with mean 0, the variance of a product is the product of the variances. Then add up.",
            64,
            part=0,
        ),
        value(
            "divisor",
            "The sum that is scaled has d_k = d_model / h terms.",
            8,
            part=1,
        ),
        value("itself", "Add up 64 squares, each 1 on average.", 64, part=2),
    ),
    hints=(
        "For (a), what is the variance of a single product $q_1 k_1$?",
        "For (b), how wide is one head?",
        "For (c), $E[q_i^2]$ is the variance of $q_i$.",
    ),
    mutants=(
        Mutant(
            "deviations instead of variances",
            "variance",
            "For independent numbers with mean 0 the variances multiply: 2² · 0.5². A product has variance 1.",
            (("variance = 64", "variance = 128"),),
        ),
        Mutant(
            "standard deviation",
            "variance",
            "8 is the standard deviation. The variance is its square.",
            (("variance = 64", "variance = 8"),),
        ),
        Mutant(
            "one product",
            "variance",
            "That is a single product; q·k adds up d_k of them.",
            (("variance = 64", "variance = 1"),),
        ),
        Mutant(
            "the whole width",
            "divisor",
            "That is √d_model. A head's score has only d_k terms.",
            (("divisor = 8", "divisor = 512 ** 0.5"),),
        ),
        Mutant(
            "no root", "divisor", "That is d_k; torch takes its root.", (("divisor = 8", "divisor = 64"),)
        ),
        Mutant(
            "independent of itself",
            "itself",
            "A vector isn't independent of itself: every term is a square and none is negative.",
            (("itself = 64", "itself = 0"),),
        ),
        Mutant(
            "length",
            "itself",
            "8 is the length of the vector. Its product with itself is the square of that.",
            (("itself = 64", "itself = 8"),),
        ),
    ),
    variants=(
        "variance, divisor, itself = 64.0, 8.0, 64.0\n",
        "variance = 64 * 2**2 * 0.5**2\ndivisor = (512 / 8) ** 0.5\nitself = torch.ones(64).sum()\n",
        "d_k = 512 // 8\nvariance = torch.tensor(64)\ndivisor = d_k**0.5\nitself = d_k\n",
    ),
    why="(a) and (c) share one number but not one meaning: 64 is a variance there and a mean here. That is why "
    "1/√d_k fits keys that have nothing to do with the query, and 1/d_k fits keys that match it.",
)


def _special(name: str, message: str, d_k: float, m: float, expected: float) -> Point:
    return Point(
        name,
        message,
        measure=lambda answer: formula.at(answer, {"d_k": d_k, "m": m}),
        reveal=False,
        expected=expected,
        compare=partial(same, atol=1e-9, rtol=1e-6),
        alone=False,
    )


OFFSET = Exercise(
    id="02-offset",
    kind="derive",
    title="A mean that isn't zero",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="All numbers in $q$ and $k$ are independent with variance 1, but their **mean is $m$** instead of 0. Give "
    "$\\mathrm{Var}(q\\cdot k)$ as a formula in `d_k` and `m`, as text, such as `'d_k * m'`.",
    stub='variance = ""\n',
    solution='variance = "d_k * (1 + 2*m**2)"\n',
    points=(
        _special("mean zero", "With m = 0 the textbook's d_k must come out.", 11.0, 0.0, 11.0),
        _special(
            "one product",
            "For a single product, Var(qk) = E[q²] E[k²] - (E[q] E[k])².",
            1.0,
            3.0,  # at m = 2 twice the mean would pass for its square
            19.0,
        ),
        expression(
            "formula",
            "Work out one product first, then add up d_k independent ones.",
            {"d_k": (1.0, 64.0), "m": (0.1, 3.0)},
            alone=False,
        ),
    ),
    hints=(
        "$E[q_i^2]$ is variance plus mean squared.",
        "$\\mathrm{Var}(q_i k_i) = (1+m^2)^2 - m^4$.",
        "Expand the square; $m^4$ cancels.",
    ),
    mutants=(
        Mutant("mean ignored", "one product", "The mean widens the products.", (("(1 + 2*m**2)", "1"),)),
        Mutant(
            "second moment",
            "one product",
            "That is E[(qk)²]. The squared mean m⁴ is still to be taken off.",
            (("(1 + 2*m**2)", "(1 + m**2)**2"),),
        ),
        Mutant(
            "one of two",
            "one product",
            "That is the variance for a fixed q, averaged: what one softmax row sees. q varies too.",
            (("(1 + 2*m**2)", "(1 + m**2)"),),
        ),
        Mutant("not squared", "one product", "The mean enters squared.", (("2*m**2", "2*m"),)),
        Mutant(
            "width squared",
            "mean zero",
            "The products are independent, so their variances add up: d_k times, not d_k² times.",
            (("d_k * (1", "d_k**2 * (1"),),
        ),
        Mutant(
            "already divided",
            "mean zero",
            "That is the variance after dividing by √d_k.",
            (("d_k * (1", "(1"),),
        ),
    ),
    variants=(
        'variance = "d_k * ((1 + m**2)**2 - m**4)"\n',
        'variance = "d_k + 2 * d_k * m^2"\n',
        "def variance(d_k, m):\n    second = (1 + m * m) ** 2\n    return d_k * (second - m**4)\n",
    ),
    why="(1+m²)² - m⁴ = 1 + 2m². One row sees only 1 + m² of it, since q is fixed within a row; the rest shifts "
    "whole rows, and softmax doesn't notice shifts.",
)

_QK = ("q", "k")
_SCALED = """\
def scaled_weights(q, k):
    scores = q @ k.transpose(-2, -1)  # (..., query, key)
    return (scores / q.shape[-1] ** 0.5).softmax(-1)
"""


def _qk(draw: Draw, *lead: int, queries: int = 5, keys: int = 7, d_k: int = 3) -> tuple:
    return draw.normal(*lead, queries, d_k), draw.normal(*lead, keys, d_k)


WEIGHTS = Exercise(
    id="02-scaled-weights",
    title="Scaled weights",
    minutes=6,
    marks=2,
    prompt="Write `scaled_weights(q, k)`: the softmax weights of `q` (..., query, d_k) on `k` (..., key, d_k), scaled as "
    "in the paper, for any number of leading axes and any width.",
    stub="def scaled_weights(q, k):\n    ...\n",
    solution=_SCALED,
    points=(
        Point(
            "one width",
            "Divide the scores by √d_k, then take the softmax over keys.",
            _qk,
            arguments=_QK,
            alone=False,
        ),
        Point(
            "another width",
            "The divisor has to follow the width of the vectors.",
            lambda draw: _qk(draw, d_k=13),
            arguments=_QK,
            alone=False,
        ),
        Point(
            "batch and heads",
            "Leading axes are carried along; d_k is the last axis of q.",
            lambda draw: _qk(draw, 2, 3, d_k=11),
            arguments=_QK,
            alone=False,
        ),
        Point(
            "rows sum to one",
            "Scale before the softmax. Afterwards the rows no longer sum to one.",
            lambda draw: _qk(draw, 2, d_k=5),
            measure=lambda answer, q, k: answer(q, k).sum(-1),
            arguments=_QK,
            alone=False,
        ),
    ),
    hints=(
        "Which axis of `q` is d_k?",
        "`k.transpose(-2, -1)` works with any number of leading axes.",
        "`(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)`.",
    ),
    mutants=(
        Mutant("no scale", "one width", "Raw scores go into the softmax.", ((" / q.shape[-1] ** 0.5", ""),)),
        Mutant(
            "divided by d_k (or scaled twice)",
            "one width",
            "It divides by d_k: the root is missing, or √d_k was divided out twice.",
            ((" ** 0.5", ""),),
        ),
        Mutant(
            "multiplied",
            "one width",
            "It multiplies by √d_k, which makes the variance d_k² instead of 1.",
            (("scores / q", "scores * q"),),
        ),
        Mutant(
            "whole root",
            "one width",
            "It rounds the root down to a whole number, which is right only for 4, 9, 16 and so on.",
            (("q.shape[-1] ** 0.5", "int(q.shape[-1] ** 0.5)"),),
        ),
        Mutant(
            "root of the length",
            "one width",
            "It takes the number of queries for the width.",
            (("q.shape[-1] ** 0.5", "q.shape[-2] ** 0.5"),),
        ),
        Mutant(
            "root of the number of keys",
            "one width",
            "It takes the number of keys for the width.",
            (("q.shape[-1] ** 0.5", "k.shape[-2] ** 0.5"),),
        ),
        Mutant(
            "always 8",
            "another width",
            "8 is right for d_k = 64 only.",
            (("q.shape[-1] ** 0.5", "8"),),
        ),
        Mutant(
            "scaled after softmax",
            "rows sum to one",
            "The weights are divided, not the scores: rows sum to 1/√d_k and are as spiky as without any scale.",
            (("(scores / q.shape[-1] ** 0.5).softmax(-1)", "scores.softmax(-1) / q.shape[-1] ** 0.5"),),
        ),
        Mutant(
            "all heads' width",
            "batch and heads",
            "It divides by √(h · d_k), the width of all heads together.",
            (("q.shape[-1] ** 0.5", "(q.shape[-1] * (q.shape[1] if q.dim() == 4 else 1)) ** 0.5"),),
        ),
        Mutant(
            "axis counted from the left",
            "batch and heads",
            "`shape[1]` is d_k only where nothing leads; with a batch it is something else.",
            (("q.shape[-1] ** 0.5", "q.shape[1] ** 0.5"),),
        ),
        Mutant(
            "softmax over queries",
            "rows sum to one",
            "Columns sum to one.",
            ((".softmax(-1)", ".softmax(-2)"),),
        ),
        Mutant("no softmax", "rows sum to one", "These are scores, not weights.", ((".softmax(-1)", ""),)),
    ),
    variants=(
        """\
def scaled_weights(q, k):
    q = q * q.shape[-1] ** -0.5
    return torch.softmax(torch.einsum("...id,...jd->...ij", q, k), dim=-1)
""",
        """\
import math

def scaled_weights(q, k):
    print("d_k", q.size(-1))
    root = math.sqrt(math.sqrt(q.size(-1)))
    return torch.matmul(q / root, (k / root).mT).softmax(dim=-1)
""",
        """\
def scaled_weights(q, k):
    eye = torch.eye(k.shape[-2]).expand(*k.shape[:-2], -1, -1)
    return torch.nn.functional.scaled_dot_product_attention(q, k, eye)
""",
    ),
    why="Dividing q, dividing the scores, or giving each of q and k the fourth root of d_k is one and the same number. "
    "In half precision the first and the last are safer: the product itself stays small.",
)

_GRADIENTS = """\
def gradients(q, k, scale, upstream):
    p = (q @ k.mT * scale).softmax(-1)  # (..., query, key)
    to_scores = p * (upstream - (p * upstream).sum(-1, keepdim=True))  # (..., query, key)
    return to_scores, scale * to_scores @ k  # (..., query, d_k)
"""
_FOUR = ("q", "k", "scale", "upstream")
_GIVEN = ("∂L/∂s", "∂L/∂q")


def _chain(draw: Draw, scale: float, *lead: int) -> tuple:
    q, k = (t.double() for t in _qk(draw, *lead, d_k=3))
    return q, k, scale, draw.normal(*lead, 5, 7, dtype=torch.float64)


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
            lambda draw: _chain(draw, 0.4),
            measure=_item(0),
            arguments=_FOUR,
            alone=False,
        ),
        Point(
            "to q, scale 1",
            "∂L/∂q = Σ_i ∂L/∂s_i · k_i when the scale is 1.",
            lambda draw: _chain(draw, 1.0),
            measure=_item(1),
            arguments=_FOUR,
            alone=False,
        ),
        Point(
            "to q, another scale",
            "s = scale · q·k, so the scale appears once more on the way back to q.",
            lambda draw: _chain(draw, 0.25),
            measure=_item(1),
            arguments=_FOUR,
            alone=False,
        ),
        Point(
            "batch and heads",
            "Leading axes are carried along.",
            lambda draw: _chain(draw, 1.7, 2, 3),
            measure=_both,
            compare=partial(same, parts=_GIVEN),
            arguments=_FOUR,
            alone=False,
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

_BROKEN = """\
def head_weights(x, w_q, w_k, num_heads):
    n, d_model = x.shape
    q = (x @ w_q).view(n, num_heads, -1).transpose(0, 1)  # (head, query, d_k)
    k = (x @ w_k).view(n, num_heads, -1).transpose(0, 1)  # (head, key, d_k)
    scores = q @ k.mT / d_model ** 0.5
    return scores.softmax(-1) / q.shape[-1] ** 0.5  # (head, query, key)
"""
_REPAIRED = """\
def head_weights(x, w_q, w_k, num_heads):
    n, d_model = x.shape
    q = (x @ w_q).view(n, num_heads, -1).transpose(0, 1)  # (head, query, d_k)
    k = (x @ w_k).view(n, num_heads, -1).transpose(0, 1)  # (head, key, d_k)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.softmax(-1)  # (head, query, key)
"""


def _heads(draw: Draw, num_heads: int, d_k: int, d_model: int = 12, n: int = 5) -> tuple:
    x = draw.normal(n, d_model, dtype=torch.float64)
    w_q, w_k = (draw.normal(d_model, num_heads * d_k, dtype=torch.float64) / 2 for _ in range(2))
    return x, w_q, w_k, num_heads


_HEADS = ("x", "w_q", "w_k", "num_heads")


def _trained(answer, x, w_q, w_k, num_heads) -> tuple:
    """The gradients of the weights with respect to both matrices."""
    leaves = [w_q.requires_grad_(), w_k.requires_grad_()]
    return gradients(answer(x, *leaves, num_heads), leaves)


BROKEN = Exercise(
    id="02-broken-heads",
    kind="break",
    title="Two wrong scales",
    minutes=6,
    difficulty=2,
    marks=2,
    prompt="This layer runs, has the right shapes, and even trains. It holds **two** scales, and both are wrong. Repair "
    "it, so that it is right for any number of heads and any number of columns in `w_q` and `w_k`.",
    stub=_BROKEN,
    solution=_REPAIRED,
    points=(
        Point(
            "rows sum to one",
            "Weights of a row must sum to one.",
            lambda draw: _heads(draw, 3, 4),
            measure=lambda answer, *inputs: answer(*inputs).sum(-1),
            arguments=_HEADS,
            alone=False,
        ),
        Point(
            "many heads",
            "Each head's score is a sum of d_k products, not of d_model.",
            lambda draw: _heads(draw, 4, 3),
            arguments=_HEADS,
            alone=False,
        ),
        Point(
            "a wider inside",
            "Here h · d_k isn't d_model. The width of q's last axis is what counts.",
            lambda draw: _heads(draw, 3, 7),
            arguments=_HEADS,
            alone=False,
        ),
        Point(
            "one narrow head",
            "One head, narrower than the input.",
            lambda draw: _heads(draw, 1, 2),
            arguments=_HEADS,
            alone=False,
        ),
        Point(
            "it still trains",
            "Gradients reach both matrices.",
            lambda draw: _heads(draw, 3, 4),
            measure=_trained,
            compare=partial(same, parts=("the gradient to w_q", "the gradient to w_k")),
            arguments=_HEADS,
            alone=False,
        ),
    ),
    hints=(
        "Print `head_weights(...).sum(-1)`.",
        "How many products does `q @ k.mT` add up?",
        "Divide the scores by `q.shape[-1] ** 0.5`, and the weights by nothing.",
    ),
    mutants=(
        Mutant(
            "only the second repaired",
            "many heads",
            "The rows sum to one now, but the scores are still divided by √d_model.",
            (("q.shape[-1] ** 0.5", "d_model ** 0.5"),),
        ),
        Mutant(
            "only the first repaired",
            "rows sum to one",
            "The scores are right, but the weights are still divided.",
            source=_BROKEN.replace("d_model ** 0.5", "q.shape[-1] ** 0.5"),
        ),
        Mutant(
            "both before the softmax",
            "many heads",
            "Now both factors stand before the softmax, and together they are too small.",
            (("/ q.shape[-1] ** 0.5", "/ q.shape[-1] ** 0.5 / d_model ** 0.5"),),
        ),
        Mutant(
            "no scale left",
            "many heads",
            "Taking both out leaves raw scores.",
            ((" / q.shape[-1] ** 0.5", ""),),
        ),
        Mutant(
            "d_model divided by heads",
            "a wider inside",
            "d_model / h is d_k only where h · d_k = d_model.",
            (("q.shape[-1] ** 0.5", "(d_model / num_heads) ** 0.5"),),
        ),
        Mutant(
            "all heads together",
            "many heads",
            "That is the width of all heads together.",
            (("q.shape[-1] ** 0.5", "w_q.shape[-1] ** 0.5"),),
        ),
        Mutant("root missing", "many heads", "It divides by d_k, not by its root.", ((" ** 0.5", ""),)),
        Mutant(
            "detached",
            "it still trains",
            "The numbers are right, but no gradient leaves the layer.",
            (("return scores.softmax(-1)", "return scores.softmax(-1).detach()"),),
        ),
        Mutant(
            "root of the length",
            "many heads",
            "After the transpose the second axis is the sequence: that is √n.",
            (("q.shape[-1] ** 0.5", "q.shape[1] ** 0.5"),),
        ),
    ),
    variants=(
        """\
def head_weights(x, w_q, w_k, num_heads):
    rows = []
    for a, b in zip(w_q.chunk(num_heads, -1), w_k.chunk(num_heads, -1)):
        rows.append(((x @ a) @ (x @ b).T * a.shape[-1] ** -0.5).softmax(-1))
    return torch.stack(rows)
""",
        """\
def head_weights(x, w_q, w_k, num_heads):
    d_k = w_q.shape[1] // num_heads
    q, k = ((x @ w).unflatten(-1, (num_heads, d_k)) for w in (w_q, w_k))
    return torch.softmax(torch.einsum("ihd,jhd->hij", q, k) / d_k**0.5, dim=-1)
""",
        """\
from mha_teach.scaling import score_scale

def head_weights(x, w_q, w_k, num_heads):
    q = (x @ w_q).view(len(x), num_heads, -1).transpose(0, 1)
    k = (x @ w_k).view(len(x), num_heads, -1).transpose(0, 1)
    return (q * score_scale("sqrt_d_k", q.shape[-1]) @ k.mT).softmax(-1)
""",
    ),
    why="The row sums reveal the second scale at once. Nothing but a comparison at two numbers of heads reveals the first: "
    "with one head of full width √d_model is right.",
)

EXPLORE = Exercise(
    id="02-how-long",
    kind="explore",
    title="How long until it hurts?",
    minutes=10,
    difficulty=2,
    prompt="An open question. Softmax over more keys has more rivals for the largest score. Take unit-variance $q$ and $k$ "
    "with $d_k = 64$, scaled by $1/\\sqrt{d_k}$, and measure `scaling.saturation` for 4, 64, 1,024 keys. Then put "
    "one key in that matches its query: with `draw_qk(1, n, 64, correlation=0.5)` it is the first. How does its weight fall with the "
    "number of keys, and what would you change about the scale for long sequences? Write your findings down.",
    stub='notes = ""\n',
    solution='notes = "The matching key has a fixed score but ever more rivals, so its weight falls about as 1/keys; '
    'a scale that grows with log(keys) would hold it."\n',
    hints=(
        "The matching key scores about $\\rho\\sqrt{d_k}$ whatever the number of keys.",
        "The others' exponentials sum to about keys · $e^{1/2}$.",
        "The weight holds up where its score grows like $\\log(\\text{keys})$.",
    ),
    why="1/√d_k corrects for the width only. Some models therefore let the scale grow with the logarithm of the length.",
)

EXERCISES = [NUMBERS, OFFSET, WEIGHTS, GRADIENTS, BROKEN, EXPLORE]
