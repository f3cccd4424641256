"""Exercise 06-previous-score (code)."""

from __future__ import annotations

import torch

from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point

_NAMES = ("weights", "real")


def _inputs(draw: Draw, lengths: tuple[int, ...], heads: int, n: int, dtype=torch.float32) -> tuple:
    real = torch.arange(n) < torch.tensor(lengths)[:, None]
    scores = draw.normal(len(lengths), heads, n, n, dtype=dtype)
    return scores.masked_fill(~real[:, None, None, :], -torch.inf).softmax(-1), real


PREVIOUS = Exercise(
    id="06-previous-score",
    title="The previous-token score",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="Write `previous_score(weights, real)` without using `specialisation`. `weights` is (sentence, head, query, key), `real` is (sentence, "
    "position), True at real tokens; padding stands at the end. Return (sentence, head): the weight that a query "
    "puts on the token right before it, averaged over the real queries of that sentence that have one.",
    stub="def previous_score(weights, real):\n    ...\n",
    solution="""\
def previous_score(weights, real):
    onto = weights.diagonal(offset=-1, dim1=-2, dim2=-1)  # (sentence, head, query from 1 on)
    asks = real[:, None, 1:]
    return (onto * asks).sum(-1) / asks.sum(-1)
""",
    points=(
        Point(
            "one sentence",
            "Entry (i, i − 1) is the weight of query i on the token before it.",
            lambda draw: _inputs(draw, (5,), 1, 5),
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "heads and sentences",
            "One number for each sentence and head.",
            lambda draw: _inputs(draw, (7, 7), 3, 7),
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "padding",
            "A query that is padding says nothing about the head, and sentences differ in length.",
            lambda draw: _inputs(draw, (5, 2, 7), 2, 7),
            arguments=_NAMES,
        ),
    ),
    hints=(
        "`weights.diagonal(offset=-1, dim1=-2, dim2=-1)` holds entries (1, 0), (2, 1), …",
        "How many queries of a sentence of m real tokens have a token before them?",
        "Sum over queries where `real[:, 1:]`, and divide by how many there are in that sentence.",
    ),
    mutants=(
        Mutant(
            "the next token",
            "one sentence",
            "The upper diagonal, entries (i, i + 1), is the next token. Queries are rows.",
            (("offset=-1", "offset=1"),),
        ),
        Mutant(
            "itself",
            "one sentence",
            "The main diagonal is a token looking at itself.",
            source="""\
def previous_score(weights, real):
    onto = weights.diagonal(dim1=-2, dim2=-1)[..., 1:]
    asks = real[:, None, 1:]
    return (onto * asks).sum(-1) / asks.sum(-1)
""",
        ),
        Mutant(
            "first query counted",
            "one sentence",
            "The first token has none before it, so m real tokens give m − 1 queries.",
            (("/ asks.sum(-1)", "/ real.sum(-1)[:, None]"),),
        ),
        Mutant(
            "padding averaged in",
            "padding",
            "Rows of padding are in the mean.",
            (("return (onto * asks).sum(-1) / asks.sum(-1)", "return onto.mean(-1)"),),
        ),
        Mutant(
            "divided by the longest",
            "padding",
            "Every sentence is divided by the length of the longest.",
            (("/ asks.sum(-1)", "/ onto.shape[-1]"),),
        ),
        Mutant(
            "pooled over sentences",
            "heads and sentences",
            "It pools the sentences; each has its own mean.",
            (
                (
                    "return (onto * asks).sum(-1) / asks.sum(-1)",
                    "pooled = (onto * asks).sum((0, 2)) / asks.sum()\n    return pooled.expand(len(real), -1)",
                ),
            ),
        ),
        Mutant(
            "heads averaged",
            "heads and sentences",
            "The heads are averaged away, which hides exactly what is asked for.",
            (("(onto * asks).sum(-1)", "(onto.mean(1, keepdim=True).expand_as(onto) * asks).sum(-1)"),),
        ),
        Mutant(
            "how often it wins",
            "one sentence",
            "That counts how often the previous token gets most weight, not how much it gets.",
            (
                (
                    "onto = weights.diagonal(offset=-1, dim1=-2, dim2=-1)",
                    "onto = (weights.argmax(-1)[..., 1:] == torch.arange(weights.shape[-1] - 1)).to(weights)",
                ),
            ),
        ),
    ),
    variants=(
        """\
from mha_teach import specialisation

def previous_score(weights, real):
    ids = torch.zeros_like(real, dtype=torch.long)
    return specialisation.role_score(weights, specialisation.role_targets(ids, real)["previous"])
""",
        """\
def previous_score(weights, real):
    rows = []
    for maps, mine in zip(weights, real):
        m = int(mine.sum())
        rows.append(torch.stack([sum(a[i, i - 1] for i in range(1, m)) / (m - 1) for a in maps]))
    return torch.stack(rows)
""",
        """\
def previous_score(weights, real):
    n = weights.shape[-1]
    target = torch.eye(n - 1).to(weights)
    target = torch.nn.functional.pad(target, (0, 1, 1, 0))  # (query, key)
    mass = torch.einsum("bhqk,qk,bq->bh", weights, target, real.to(weights))
    return mass / (real.sum(1) - 1).unsqueeze(1)
""",
    ),
    why="With padding in the mean a head scores lower on short sentences than on long ones, and the score measures lengths. "
    "A uniform head gets 1/m: hold yours against that.",
)
