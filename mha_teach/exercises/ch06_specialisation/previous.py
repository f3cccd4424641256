"""Exercise 06-previous-score (code)."""

from __future__ import annotations

import torch

from mha_teach.exercises.cases import varied, word
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point

_NAMES = ("weights", "real")


def _inputs(draw: Draw, lengths: tuple[int, ...], heads: int, n: int, dtype=torch.float32) -> tuple:
    real = torch.arange(n) < torch.tensor(lengths)[:, None]
    scores = draw.normal(len(lengths), heads, n, n, dtype=dtype)
    return scores.masked_fill(~real[:, None, None, :], -torch.inf).softmax(-1), real


def _cases() -> list[tuple]:
    return [(2,), (3,), (4,)]


def _previous(back: int) -> Exercise:
    """The token so many places before the query is asked for."""
    one = back == 1
    place = "right before it" if one else f"**{word(back)} places before it**"
    return Exercise(
        id="06-previous-score",
        title="The previous-token score",
        minutes=10,
        difficulty=2,
        marks=3,
        prompt="Write `previous_score(weights, real)` without using `specialisation`. `weights` is (sentence, head, query, key), `real` is (sentence, "
        "position), True at real tokens; padding stands at the end. Return (sentence, head): the weight that a query "
        f"puts on the token {place}, averaged over the real queries of that sentence that have one.",
        stub="def previous_score(weights, real):\n    ...\n",
        solution=f"""\
def previous_score(weights, real):
    onto = weights.diagonal(offset=-{back}, dim1=-2, dim2=-1)  # (sentence, head, query from {back} on)
    asks = real[:, None, {back}:]
    return (onto * asks).sum(-1) / asks.sum(-1)
""",
        points=(
            Point(
                "one sentence",
                f"Entry (i, i − {back}) is the weight of query i on the token {place}.",
                lambda draw: _inputs(draw, (5,), 1, 5),
                arguments=_NAMES,
            ),
            Point(
                "heads and sentences",
                "One number for each sentence and head.",
                lambda draw: _inputs(draw, (7, 7), 3, 7),
                arguments=_NAMES,
            ),
            Point(
                "padding",
                "A query that is padding says nothing about the head, and sentences differ in length.",
                lambda draw: _inputs(draw, (5, back + 1, 7), 2, 7),
                arguments=_NAMES,
            ),
        ),
        hints=(
            f"`weights.diagonal(offset=-{back}, dim1=-2, dim2=-1)` holds entries ({back}, 0), ({back + 1}, 1), …",
            "How many queries of a sentence of m real tokens have a token before them?"
            if one
            else f"How many queries of a sentence of m real tokens have a token {word(back)} places before them?",
            f"Sum over queries where `real[:, {back}:]`, and divide by how many there are in that sentence.",
        ),
        mutants=(
            Mutant(
                "the next token",
                "one sentence",
                f"The upper diagonal, entries (i, i + {back}), is the {'next token' if one else 'token as far ahead'}. Queries are rows.",
                ((f"offset=-{back}", f"offset={back}"),),
            ),
            Mutant(
                "itself",
                "one sentence",
                "The main diagonal is a token looking at itself.",
                source=f"""\
def previous_score(weights, real):
    onto = weights.diagonal(dim1=-2, dim2=-1)[..., {back}:]
    asks = real[:, None, {back}:]
    return (onto * asks).sum(-1) / asks.sum(-1)
""",
            ),
            Mutant(
                "first query counted",
                "one sentence",
                f"The first {'token has' if one else f'{word(back)} tokens have'} none {'before it' if one else 'so far back'}, so m real tokens "
                f"give m − {back} queries.",
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
                f"That counts how often the {'previous token' if one else 'token asked for'} gets most weight, not how much it gets.",
                (
                    (
                        f"onto = weights.diagonal(offset=-{back}, dim1=-2, dim2=-1)",
                        f"onto = (weights.argmax(-1)[..., {back}:] == torch.arange(weights.shape[-1] - {back})).to(weights)",
                    ),
                ),
            ),
            Mutant(
                "squeezed",
                "one sentence",
                "squeeze() takes away every axis of size 1. One sentence or one head is still an axis of the result.",
                (("/ asks.sum(-1)", "/ asks.sum(-1)).squeeze()"), ("return (onto", "return ((onto")),
            ),
            Mutant(
                "pooled where nothing is padding",
                "heads and sentences",
                "Its short cut for a batch without padding takes one mean over all sentences. Each has its own.",
                (
                    (
                        "    return (onto",
                        "    if real.all():\n        return onto.mean((0, 2)).expand(len(real), -1)\n    return (onto",
                    ),
                ),
            ),
        ),
        variants=(
            f"""\
def previous_score(weights, real):
    total, count = 0.0, 0
    for i in range({back}, weights.shape[-1]):
        total = total + weights[:, :, i, i - {back}] * real[:, i, None]
        count = count + real[:, i, None]
    return total / count
""",
            f"""\
def previous_score(weights, real):
    rows = []
    for maps, mine in zip(weights, real):
        m = int(mine.sum())
        rows.append(torch.stack([sum(a[i, i - {back}] for i in range({back}, m)) / (m - {back}) for a in maps]))
    return torch.stack(rows)
""",
            f"""\
def previous_score(weights, real):
    n = weights.shape[-1]
    target = torch.eye(n - {back}).to(weights)
    target = torch.nn.functional.pad(target, (0, {back}, {back}, 0))  # (query, key)
    mass = torch.einsum("bhqk,qk,bq->bh", weights, target, real.to(weights))
    return mass / (real.sum(1) - {back}).unsqueeze(1)
""",
        ),
        why="With padding in the mean a head scores lower on short sentences than on long ones, and the score measures lengths. "
        "A uniform head gets 1/m: hold yours against that.",
    )


PREVIOUS = varied(_previous, (1,), _cases)
