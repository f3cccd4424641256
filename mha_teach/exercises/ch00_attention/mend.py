"""Exercise 00-mend (break)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.ch00_attention.common import QKV, qkv
from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients


def _all_keys_ask(draw: Draw) -> tuple:
    """Five far-apart keys, and the same five as queries: each finds itself, whatever axis the softmax takes.

    Its own score is 257, of which exp is too large for float32.
    """
    k = 24 * torch.eye(5)[torch.randperm(5, generator=draw.generator)]
    return k, k.clone(), draw.normal(5, 2)


def _self(draw: Draw) -> tuple:
    """As many queries as keys: the two axes of the scores can't be told apart by their length."""
    return tuple(draw.normal(7, width) for width in (3, 3, 2))


def _flat_query(draw: Draw) -> tuple:
    q, k, v = (x[0] for x in qkv(draw, 1, d_k=3))
    return torch.zeros_like(q), k, v


MEND = Exercise(
    id="00-mend",
    title="Two silent faults",
    kind="break",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="This function raises nothing, returns the right shape, and is wrong twice. Find both faults and mend them. "
    "One sample, no mask: `q` is `(query, d_k)`, `k` is `(key, d_k)`, `v` is `(key, d_v)`.",
    stub="""\
def soft_look_up(q, k, v):
    columns = k.reshape(k.shape[1], k.shape[0])  # (d_k, key)
    scores = q @ columns / q.shape[1] ** 0.5  # (query, key)
    weights = scores.softmax(0)
    return weights @ v
""",
    solution="""\
def soft_look_up(q, k, v):
    columns = k.transpose(0, 1)  # (d_k, key)
    scores = q @ columns / q.shape[1] ** 0.5  # (query, key)
    weights = scores.softmax(1)
    return weights @ v
""",
    why="`reshape` reads the numbers in the order in which they lie in memory and cuts new rows, so that each column mixes "
    "several keys; `transpose` swaps the axes. And the softmax must run over the keys, axis 1.",
    points=(
        Point(
            "which axis sums to one",
            "A query of zeros must get the plain mean of the values: its weights are alike and sum to one.",
            _flat_query,
            arguments=QKV,
        ),
        Point(
            "whose key it is",
            "Each query here equals one key and is far from the others, so it must get that key's value.",
            _all_keys_ask,
            arguments=QKV,
        ),
        Point(
            "ordinary numbers",
            "On ordinary numbers the output differs.",
            _self,
            arguments=QKV,
        ),
        Point(
            "another width",
            "The scale follows d_k, the width of a query.",
            lambda d: qkv(d, d_k=11),
            arguments=QKV,
        ),
        Point(
            "it still trains",
            "The gradients are wrong: does every step use torch's own functions?",
            lambda d: tuple(x.requires_grad_() for x in qkv(d, d_k=3)),
            measure=lambda answer, q, k, v: gradients(answer(q, k, v), [q, k, v]),
            compare=partial(same, parts=("the gradient of q", "the gradient of k", "the gradient of v")),
            arguments=QKV,
        ),
    ),
    hints=(
        "Print `weights.sum(0)` and `weights.sum(1)`. Which of the two should be ones?",
        "Print `k` and `columns` for a small `k`. Is the first column the first key?",
        "`k.transpose(0, 1)` swaps the axes, `reshape` only cuts the same list of numbers elsewhere.",
    ),
    mutants=(
        Mutant(
            "only the axis mended",
            "ordinary numbers",
            "The columns still mix numbers of several keys: reshape does not transpose.",
            (("k.transpose(0, 1)", "k.reshape(k.shape[1], k.shape[0])"),),
        ),
        Mutant(
            "only the columns mended",
            "which axis sums to one",
            "The softmax still runs over the queries.",
            (("softmax(1)", "softmax(0)"),),
        ),
        Mutant(
            "softmax over everything",
            "which axis sums to one",
            "All weights together sum to one; each row should.",
            (("scores.softmax(1)", "scores.flatten().softmax(0).view_as(scores)"),),
        ),
        Mutant(
            "rows divided afterwards",
            "ordinary numbers",
            "Rows sum to one again, but a softmax over the queries came first and has mixed them.",
            (
                (
                    "scores.softmax(1)",
                    "scores.softmax(0)\n    weights = weights / weights.sum(1, keepdim=True)",
                ),
            ),
        ),
        Mutant(
            "scale lost while mending",
            "ordinary numbers",
            "Both faults are mended, but the scale is gone.",
            ((" / q.shape[1] ** 0.5", ""),),
        ),
        Mutant(
            "scaled by the number of keys",
            "ordinary numbers",
            "Both faults are mended, but the scale counts keys instead of d_k.",
            (("q.shape[1] ** 0.5", "k.shape[0] ** 0.5"),),
        ),
        Mutant(
            "query of zeros taken for filler",
            "which axis sums to one",
            "It gives a query of zeros no weight at all, as if nobody asked. Equal scores still share all of it.",
            (("scores.softmax(1)", "scores.softmax(1) * q.any(1, keepdim=True)"),),
        ),
        Mutant(
            "exp without the largest score taken off",
            "whose key it is",
            "A score of 257 is too much for exp: it is infinite, and infinite over infinite is NaN. softmax(1) avoids that.",
            (("scores.softmax(1)", "scores.exp() / scores.exp().sum(1, keepdim=True)"),),
        ),
        Mutant(
            "axis found by its length",
            "ordinary numbers",
            "It takes the first axis that is as long as there are keys. With as many queries as keys that is the queries' axis.",
            (("softmax(1)", "softmax(scores.shape.index(len(k)))"),),
        ),
        Mutant(
            "the root of 3",
            "another width",
            "It divides by a number that is right for one width only.",
            (("q.shape[1] ** 0.5", "3 ** 0.5"),),
        ),
        Mutant(
            "mended outside of the graph",
            "it still trains",
            "Values are right, but the weights are cut out of the graph: queries and keys can't learn.",
            (("scores.softmax(1)", "scores.detach().softmax(1)"),),
        ),
        Mutant(
            "values in place of keys",
            "ordinary numbers",
            "The scores compare queries with something else than the keys.",
            (("k.transpose(0, 1)", "k.flip(0).transpose(0, 1)"),),
        ),
    ),
    variants=(
        "def soft_look_up(q, k, v):\n    return (q @ k.T / q.shape[1] ** 0.5).softmax(-1) @ v\n",
        "def soft_look_up(q, k, v):\n    return torch.stack([((k @ row) / len(row) ** 0.5).softmax(0) @ v for row in q])\n",
        "from mha_teach.attention import attend\n\ndef soft_look_up(q, k, v):\n    return attend(q, k, v)[0]\n",
    ),
)
