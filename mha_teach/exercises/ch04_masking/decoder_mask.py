"""Code: the mask of a decoder with a cache, over a batch with filler on the left."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point

_SOLUTION = """\
def decoder_mask(lengths, query, key):
    place = torch.arange(key)                                         # (key,)
    causal = place <= torch.arange(key - query, key)[:, None]         # (query, key)
    real = place >= key - lengths[:, None]                            # (batch, key)
    return (causal & real[:, None, :])[:, None]                       # (batch, 1, query, key)
"""


def _point(name: str, message: str, inputs: Callable[[Draw], tuple]) -> Point:
    same_kind = partial(same, dtype=True)
    return Point(name, message, inputs, compare=same_kind, arguments=("lengths", "query", "key"))


def _square(draw: Draw) -> tuple:
    key = draw.pick((4, 5, 6, 7))
    return torch.tensor([key, key]), key, key


def _cached(draw: Draw) -> tuple:
    key = draw.pick((6, 7, 8, 9))
    return torch.tensor([key, key]), draw.pick((2, 3, 4)), key


def _filled(draw: Draw) -> tuple:
    key = draw.pick((5, 6, 7))
    return _lengths(draw, 2, key - 1), key, key


def _both(draw: Draw) -> tuple:
    query, key = draw.pick((2, 3)), draw.pick((7, 8, 9))
    return _lengths(draw, query + 1, key - 1), query, key


def _single(draw: Draw) -> tuple:
    key = draw.pick((5, 6, 7))
    return torch.cat([_lengths(draw, 2, key - 1)[:2], torch.tensor([key])]), 1, key


def _lengths(draw: Draw, low: int, high: int) -> torch.Tensor:
    """Three lengths, all different; the first is the longest, as the samples of a batch are often sorted."""
    options = list(range(low, high + 1))
    found = [options.pop(draw.pick(range(len(options)))) for _ in range(3)]
    return torch.tensor(sorted(found, reverse=True))


DECODER_MASK = Exercise(
    id="04-decoder-mask",
    title="A mask for decoding",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="A batch of sequences is being written. Each sample has `key` places so far, of which the last `query` are new; "
    "keys of the older ones lie in a cache. Sample b has `lengths[b]` real tokens at the **end** of its places, and filler "
    "before them. Write `decoder_mask(lengths, query, key)`: booleans of shape (batch, 1, query, key), True = may look, "
    "where a new token sees all real tokens up to and including itself. A new place that is filler sees nothing. `lengths` "
    "is a tensor of whole numbers. Build it yourself, without `mha_teach.masking`.",
    stub="def decoder_mask(lengths, query, key):\n    ...\n",
    solution=_SOLUTION,
    points=(
        _point(
            "all new, no filler",
            "Without cache and filler it is the causal triangle, for every sample.",
            _square,
        ),
        _point(
            "the cache is seen", "New token 0 stands at place key − query: it sees the whole cache.", _cached
        ),
        _point("filler", "Places before key − lengths[b] hold filler: no query may look there.", _filled),
        _point("cache and filler", "Both at once, and each sample has its own filler.", _both),
        _point("a single new token", "One new token sees every real place, itself included.", _single),
    ),
    hints=(
        "Give every place a number, `torch.arange(key)`. Which numbers do the new tokens have?",
        "`place <= torch.arange(key - query, key)[:, None]` is the causal part.",
        "The real places are `place >= key - lengths[:, None]`, (batch, key); it needs a query axis before the `&`.",
    ),
    mutants=(
        Mutant(
            "aligned at the start",
            "the cache is seen",
            "Counted from the start: the new tokens see the oldest keys only. They stand at the end.",
            source="""\
def decoder_mask(lengths, query, key):
    place = torch.arange(key)
    shift = 0 if (lengths == key).all() else key - query
    causal = place <= torch.arange(query)[:, None] + shift
    real = place >= key - lengths[:, None]
    return (causal & real[:, None, :])[:, None]
""",
        ),
        Mutant(
            "aligned at the start, always",
            "the cache is seen",
            "Counted from the start: the new tokens see the oldest keys only. They stand at the end.",
            (("torch.arange(key - query, key)", "torch.arange(query)"),),
        ),
        Mutant(
            "upside down",
            "all new, no filler",
            "True and False are swapped: here True = may look.",
            (("return (causal & real[:, None, :])", "return ~(causal & real[:, None, :])"),),
        ),
        Mutant(
            "not itself",
            "all new, no filler",
            "A token sees itself as well: ≤, not <.",
            (("place <= ", "place < "),),
        ),
        Mutant(
            "filler on the right",
            "filler",
            "That takes filler to stand at the end. Here the real tokens do.",
            (("place >= key - lengths[:, None]", "place < lengths[:, None]"),),
        ),
        Mutant(
            "filler forgotten",
            "filler",
            "Filler is looked at like any token.",
            (("causal & real[:, None, :]", "causal | (real[:, None, :] & False)"),),
        ),
        Mutant(
            "one filler place too many",
            "filler",
            "One place of filler is still seen: sample b has lengths[b] real tokens, not one more.",
            (("key - lengths[:, None]", "key - 1 - lengths[:, None]"),),
        ),
        Mutant(
            "filler along the queries",
            "filler",
            "The filler mask lies along the queries: filler asks nothing, but everyone reads it.",
            (("real[:, None, :]", "real[:, -query:, None]"),),
        ),
        Mutant(
            "the longest for all",
            "cache and filler",
            "Each sample has its own length; this takes the longest for all.",
            (("key - lengths[:, None]", "key - lengths.max().expand(len(lengths))[:, None]"),),
        ),
        Mutant(
            "no head axis",
            "all new, no filler",
            "Without the axis of size 1, the samples would be laid on the heads.",
            (("real[:, None, :])[:, None]", "real[:, None, :])"),),
        ),
        Mutant(
            "numbers",
            "all new, no filler",
            "0.0 and 1.0 would be added to scores and mask nothing. Return booleans.",
            (("[:, None, :])[:, None]", "[:, None, :])[:, None].float()"),),
        ),
        Mutant(
            "a short cut for one token",
            "a single new token",
            "One new token has no future, so it needs no causal mask. But filler is still there.",
            (
                (
                    "    place = ",
                    "    if query == 1:\n        return torch.ones(len(lengths), 1, 1, key, dtype=torch.bool)\n    place = ",
                ),
            ),
        ),
        Mutant(
            "one triangle for the batch",
            "all new, no filler",
            "Without cache and filler it returns a single triangle, (1, 1, query, key). There is one for each sample.",
            (
                (
                    "    place = ",
                    (
                        "    if query == key and (lengths == key).all():\n"
                        "        return torch.ones(1, 1, query, key).tril().bool()\n    place = "
                    ),
                ),
            ),
        ),
        Mutant(
            "filler sees itself",
            "filler",
            "It opens each new token's own place, so that no row is blind. But a new place that is filler sees nothing.",
            (
                (
                    "(causal & real[:, None, :])",
                    "(causal & real[:, None, :] | (place == torch.arange(key - query, key)[:, None]))",
                ),
            ),
        ),
        Mutant(
            "a window behind the cache",
            "cache and filler",
            "With a cache each new token looks back over lengths[b] places from its own. Filler ends at one place, the same for "
            "all queries of a sample.",
            (
                (
                    "    return (causal & real[:, None, :])",
                    (
                        "    first = torch.arange(key - query, key) + 1 - lengths[:, None]\n"
                        "    window = place >= first[:, :, None]\n"
                        "    return (causal & (real[:, None, :] if query == key else window))"
                    ),
                ),
            ),
        ),
    ),
    variants=(
        """\
def decoder_mask(lengths, query, key):
    mask = torch.zeros(len(lengths), 1, query, key, dtype=torch.bool)
    for b, length in enumerate(lengths.tolist()):
        for i in range(query):
            here = key - query + i
            mask[b, 0, i, key - length : here + 1] = True
    return mask
""",
        """\
def decoder_mask(lengths, query, key):
    causal = torch.ones(query, key).tril(key - query).bool()
    filler = torch.arange(key).expand(len(lengths), key) < (key - lengths).unsqueeze(-1)
    return causal[None, None].logical_and(~filler[:, None, None])
""",
        """\
def decoder_mask(lengths, query, key):
    whole = torch.tril(torch.ones(key, key, dtype=torch.bool))[key - query :]
    real = torch.stack([torch.arange(key) >= key - n for n in lengths])
    print("real", real.shape)
    return torch.einsum("qk,bk->bqk", whole.int(), real.int()).bool().unsqueeze(1)
""",
    ),
    why="Three conventions meet here: which end the diagonal is tied to, which side filler stands on, and which axis is the "
    "heads'. Every one of them gives a mask of the right shape when it is wrong. In the book's own words: "
    "`combine(causal(query, key, align='end'), padding(lengths, key, side='left'))[:, None]`.",
)
