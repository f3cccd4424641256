"""Exercise 02-broken-heads (break)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients

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


def _large(draw: Draw) -> tuple:
    x, *others = _heads(draw, 3, 4)
    return 1000 * x, *others


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
            "Weights of a row must sum to one, however large its scores are.",
            _large,
            measure=lambda answer, *inputs: answer(*inputs).sum(-1),
            arguments=_HEADS,
        ),
        Point(
            "many heads",
            "Each head's score is a sum of d_k products, not of d_model.",
            lambda draw: _heads(draw, 5, 3, d_model=15),
            arguments=_HEADS,
        ),
        Point(
            "a wider inside",
            "Here h · d_k isn't d_model. The width of q's last axis is what counts.",
            lambda draw: _heads(draw, 3, 7),
            arguments=_HEADS,
        ),
        Point(
            "one narrow head",
            "One head, narrower than the input.",
            lambda draw: _heads(draw, 1, 2),
            arguments=_HEADS,
        ),
        Point(
            "it still trains",
            "Gradients reach both matrices.",
            lambda draw: _heads(draw, 3, 4),
            measure=_trained,
            compare=partial(same, parts=("the gradient to w_q", "the gradient to w_k")),
            arguments=_HEADS,
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
        Mutant(
            "exp written out",
            "rows sum to one",
            "The softmax by hand takes the exponential of scores as they are: large ones overflow, and the row is nan.",
            (("return scores.softmax(-1)", "e = scores.exp()\n    return e / e.sum(-1, keepdim=True)"),),
        ),
        Mutant(
            "the axis of heads guessed",
            "many heads",
            "It looks for the heads' axis by its length, and finds the positions where there are as many of them.",
            (
                (
                    "    scores =",
                    "    if n == num_heads:\n        q, k = q.transpose(0, 1), k.transpose(0, 1)\n    scores =",
                ),
            ),
        ),
        Mutant(
            "never wider than its share",
            "a wider inside",
            "It takes d_model / h for the width of a head where the head is wider than that.",
            (("q.shape[-1] ** 0.5", "min(q.shape[-1], d_model // num_heads) ** 0.5"),),
        ),
        Mutant(
            "one head takes all",
            "one narrow head",
            "With one head it divides by √d_model, which is right only if that head is as wide as the input.",
            (("q.shape[-1] ** 0.5", "(d_model if num_heads == 1 else q.shape[-1]) ** 0.5"),),
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
