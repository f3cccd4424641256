"""Exercise 02-scaled-weights (?)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises.ch02_scaling.common import qk
from mha_teach.exercises.compare import same
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients

QK = ("q", "k")


_SCALED = """\
def scaled_weights(q, k):
    scores = q @ k.transpose(-2, -1)  # (..., query, key)
    return (scores / q.shape[-1] ** 0.5).softmax(-1)
"""


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
            qk,
            arguments=QK,
        ),
        Point(
            "another width",
            "The divisor has to follow the width of the vectors.",
            lambda draw: qk(draw, d_k=127),
            arguments=QK,
        ),
        Point(
            "batch and heads",
            "Leading axes are carried along; d_k is the last axis of q.",
            lambda draw: qk(draw, 2, 3, d_k=11),
            arguments=QK,
        ),
        Point(
            "rows sum to one",
            "Scale before the softmax. Each row must still sum to one afterwards, however large its scores are.",
            lambda draw: tuple(100 * x for x in qk(draw, 2, d_k=5)),
            measure=lambda answer, q, k: answer(q, k).sum(-1),
            arguments=QK,
        ),
        Point(
            "it still trains",
            "The gradients with respect to the queries and keys are wrong: does every step use torch's own functions?",
            lambda draw: tuple(x.requires_grad_() for x in qk(draw, 2, d_k=5)),
            measure=lambda answer, q, k: gradients(answer(q, k), [q, k]),
            compare=partial(same, parts=("the gradient of q", "the gradient of k")),
            arguments=QK,
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
        Mutant(
            "detached",
            "it still trains",
            "Values are right, but part of the graph is cut: the queries can't learn.",
            (("scores / q", "scores.detach() / q"),),
        ),
        Mutant(
            "keys taken as data",
            "it still trains",
            "`.data` hands the keys on without their graph: the keys can't learn.",
            (("k.transpose(-2, -1)", "k.data.transpose(-2, -1)"),),
        ),
        Mutant("no softmax", "rows sum to one", "These are scores, not weights.", ((".softmax(-1)", ""),)),
        Mutant(
            "the root of 3",
            "another width",
            "It divides by a number that is right for one width only.",
            (("q.shape[-1] ** 0.5", "3**0.5"),),
        ),
        Mutant(
            "at least 2",
            "one width",
            "It never divides by less than 2, but the root of a width of 2 or 3 is less.",
            (("q.shape[-1] ** 0.5", "max(q.shape[-1] ** 0.5, 2)"),),
        ),
        Mutant(
            "at most 64",
            "another width",
            "It counts no more than 64 numbers, the paper's width. Wider vectors need a larger divisor.",
            (("q.shape[-1] ** 0.5", "min(q.shape[-1], 64) ** 0.5"),),
        ),
        Mutant(
            "exp written out",
            "rows sum to one",
            "It takes the exponential of the scores as they are. Large ones overflow, and the row becomes nan; "
            "softmax takes the row's maximum off first.",
            (
                (
                    "return (scores / q.shape[-1] ** 0.5).softmax(-1)",
                    "e = (scores / q.shape[-1] ** 0.5).exp()\n    return e / e.sum(-1, keepdim=True)",
                ),
            ),
        ),
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
