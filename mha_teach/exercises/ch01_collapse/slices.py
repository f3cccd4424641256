"""Exercise 01-slices (break)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients, part_of

_BROKEN = """\
def look_up(x, memory, w_q, w_k, w_v):
    size = x.shape[-1] // len(w_q)                       # each head gets its slice of the input
    outputs, rows = [], []
    for h in range(len(w_q)):
        own = slice(h * size, (h + 1) * size)
        q = x[..., own] @ w_q[h, own]                    # (query, d_k)
        k = memory[..., own] @ w_k[h, own]               # (key, d_k)
        v = memory[..., own] @ w_v[h, own]               # (key, d_v)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        outputs.append(weights @ v)
        rows.append(weights)
    return torch.stack(outputs), torch.stack(rows)       # (head, query, d_v), (head, query, key)
"""


_FIXED = """\
def look_up(x, memory, w_q, w_k, w_v):
    outputs, rows = [], []
    for h in range(len(w_q)):
        q = x @ w_q[h]                                   # (query, d_k)
        k = memory @ w_k[h]                              # (key, d_k)
        v = memory @ w_v[h]                              # (key, d_v)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        outputs.append(weights @ v)
        rows.append(weights)
    return torch.stack(outputs), torch.stack(rows)       # (head, query, d_v), (head, query, key)
"""


def _layer(draw: Draw, heads: int, query: int, key: int, d_k: int, d_v: int, width: int = 12) -> tuple:
    return (
        draw.normal(query, width, dtype=torch.float64),
        draw.normal(key, width, dtype=torch.float64),
        *(draw.normal(heads, width, d, dtype=torch.float64) / width**0.5 for d in (d_k, d_k, d_v)),
    )


_ARGS = ("x", "memory", "w_q", "w_k", "w_v")


_PAIR = ("outputs", "weights")


def _part(index: int):
    return lambda answer, *inputs: part_of(answer(*inputs), index, _PAIR)


def _trained(answer, x, memory, *matrices) -> tuple:
    """The gradients of the outputs with respect to the three matrices."""
    leaves = [matrix.requires_grad_() for matrix in matrices]
    return gradients(part_of(answer(x, memory, *leaves), 0, _PAIR), leaves)


def _noticed(answer, x, memory, w_q, w_k, w_v) -> list[bool]:
    """For each of the d_model numbers: do all heads' outputs change when it changes in the memory?"""
    before, noticed = part_of(answer(x, memory, w_q, w_k, w_v), 0, _PAIR), []
    for dim in range(memory.shape[-1]):
        other = memory.clone()
        other[:, dim] += 1.0
        change = (answer(x, other, w_q, w_k, w_v)[0] - before).abs().amax((-1, -2))
        noticed.append(bool((change > 1e-9).all()))
    return noticed


SLICES = Exercise(
    id="01-slices",
    kind="break",
    title="Heads that see slices",
    minutes=8,
    difficulty=2,
    marks=3,
    prompt="This layer runs, has the right shapes, and trains. But each head reads only *its slice* of the input. "
    "Repair it: every head reads all of `x` and all of `memory` through its own full matrix `(d_model, d_k)`. "
    "Return the outputs (head, query, d_v) and the weights (head, query, key).",
    stub=_BROKEN,
    solution=_FIXED,
    points=(
        Point(
            "a single key",
            "With one key the weights are 1, so only the values' way is tested: all of `memory` through `w_v[h]`.",
            inputs=lambda draw: _layer(draw, 3, 5, 1, 4, 3),
            measure=_part(0),
            arguments=_ARGS,
        ),
        Point(
            "weights",
            "Scores come from all of `x` and all of `memory`, over √d_k, softmax over the keys.",
            inputs=lambda draw: _layer(draw, 3, 5, 7, 4, 2),
            measure=_part(1),
            arguments=_ARGS,
        ),
        Point(
            "outputs",
            "Each head mixes its own values with its own weights.",
            inputs=lambda draw: _layer(draw, 3, 5, 7, 4, 11),
            measure=_part(0),
            arguments=_ARGS,
        ),
        Point(
            "every number is read",
            "Change one number of the input and every head must notice.",
            inputs=lambda draw: _layer(draw, 4, 3, 5, 3, 2, width=16),
            measure=lambda answer, *inputs: _noticed(answer, *inputs),
            expected=[True] * 16,
            arguments=_ARGS,
        ),
        Point(
            "a width that does not divide",
            "Five heads over twelve numbers: nothing needs to divide when nothing is sliced.",
            inputs=lambda draw: _layer(draw, 5, 3, 7, 3, 2),
            measure=_part(0),
            arguments=_ARGS,
        ),
        Point(
            "two widths",
            "The scale is √d_k: it follows the width of the head's queries. Here d_model is another, too.",
            inputs=lambda draw: _layer(draw, 2, 3, 5, 11, 3, width=17),
            measure=_part(1),
            arguments=_ARGS,
        ),
        Point(
            "it still trains",
            "Gradients reach all three matrices of every head.",
            inputs=lambda draw: _layer(draw, 3, 5, 7, 4, 2),
            measure=_trained,
            compare=partial(
                same, parts=("the gradient to w_q", "the gradient to w_k", "the gradient to w_v")
            ),
            arguments=_ARGS,
        ),
    ),
    hints=(
        "What would a head need to read number 11 of the input?",
        "`x[..., own] @ w_q[h, own]` leaves out most rows of `w_q[h]`.",
        "`x @ w_q[h]`, `memory @ w_k[h]`, `memory @ w_v[h]`.",
    ),
    mutants=(
        Mutant(
            "only the queries repaired",
            "a single key",
            "Keys and values still come from slices.",
            source=_BROKEN.replace("x[..., own] @ w_q[h, own]", "x @ w_q[h]"),
        ),
        Mutant(
            "values still sliced",
            "a single key",
            "The values still come from a slice of the memory.",
            source=_BROKEN.replace("x[..., own] @ w_q[h, own]", "x @ w_q[h]").replace(
                "memory[..., own] @ w_k[h, own]", "memory @ w_k[h]"
            ),
        ),
        Mutant(
            "one head's matrix for all",
            "outputs",
            "Every head uses the first head's matrices, so all rows are the same.",
            (("x @ w_q[h]", "x @ w_q[0]"), ("memory @ w_k[h]", "memory @ w_k[0]")),
        ),
        Mutant(
            "one softmax for all heads",
            "weights",
            "The scores are averaged over heads first: then there is one row again, and the heads are for nothing.",
            source="""\
def look_up(x, memory, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).mT / w_q.shape[-1] ** 0.5
    weights = scores.mean(0, keepdim=True).softmax(-1).expand(len(w_q), -1, -1)
    return weights @ (memory @ w_v), weights
""",
        ),
        Mutant(
            "softmax over heads",
            "weights",
            "The softmax runs over the heads: they compete for a key, and a row no longer sums to 1.",
            source="""\
def look_up(x, memory, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).mT / w_q.shape[-1] ** 0.5
    weights = scores.softmax(0)
    return weights @ (memory @ w_v), weights
""",
        ),
        Mutant(
            "softmax over queries",
            "weights",
            "Columns sum to 1 instead of rows.",
            ((".softmax(-1)", ".softmax(-2)"),),
        ),
        Mutant(
            "no scale", "weights", "The scores are not divided by √d_k.", ((" / q.shape[-1] ** 0.5", ""),)
        ),
        Mutant(
            "scale of the whole width",
            "weights",
            "It divides by √d_model; each head's scores are sums of d_k products.",
            (("q.shape[-1] ** 0.5", "x.shape[-1] ** 0.5"),),
        ),
        Mutant(
            "divided by d_k",
            "weights",
            "It divides by d_k instead of its root.",
            (("q.shape[-1] ** 0.5", "q.shape[-1]"),),
        ),
        Mutant(
            "keys and queries swapped",
            "outputs",
            "Queries must come from `x` through `w_q`, keys from `memory` through `w_k`.",
            (("x @ w_q[h] ", "x @ w_k[h] "), ("memory @ w_k[h] ", "memory @ w_q[h] ")),
        ),
        Mutant(
            "scores used as weights",
            "weights",
            "There is no softmax: rows of raw scores don't sum to 1.",
            ((".softmax(-1)", ""),),
        ),
        Mutant(
            "heads averaged",
            "outputs",
            "All heads return the mean of their outputs. Averaging throws away which head found what.",
            (("torch.stack(outputs),", "torch.stack(outputs).mean(0).expand(len(w_q), -1, -1),"),),
        ),
        Mutant(
            "the first twelve numbers",
            "two widths",
            "For its scores it reads twelve numbers of each input, whatever d_model is.",
            (
                ("x @ w_q[h] ", "x[:, :12] @ w_q[h, :12] "),
                ("memory @ w_k[h] ", "memory[:, :12] @ w_k[h, :12] "),
            ),
        ),
        Mutant(
            "twelve numbers of each value",
            "every number is read",
            "The scores see the whole input, but the values come from its first twelve numbers, whatever d_model is.",
            (("memory @ w_v[h] ", "memory[:, :12] @ w_v[h, :12] "),),
        ),
        Mutant(
            "axes of one squeezed away",
            "a single key",
            "squeeze() drops every axis of length one: with a single key the weights lose their key axis.",
            ((".softmax(-1)", ".softmax(-1).squeeze()"),),
        ),
        Mutant(
            "two rows of weights",
            "weights",
            "It returns the weights of the first two heads, however many there are.",
            (("torch.stack(rows)  ", "torch.stack(rows[:2])  "),),
        ),
        Mutant(
            "values as wide as keys",
            "outputs",
            "It keeps d_k numbers of each value. Values have a width of their own, d_v.",
            (("outputs.append(weights @ v)", "outputs.append((weights @ v)[:, : q.shape[-1]])"),),
        ),
        Mutant(
            "detached",
            "it still trains",
            "The numbers are right, but no gradient leaves the layer.",
            (("outputs.append(weights @ v)", "outputs.append((weights @ v).detach())"),),
        ),
        Mutant(
            "weights of the last head",
            "weights",
            "The weights that it returns are the last head's, repeated.",
            (("torch.stack(rows)  ", "weights.expand(len(w_q), -1, -1)  "),),
        ),
        Mutant(
            "heads counted by division",
            "a width that does not divide",
            "It counts the heads as d_model divided by a head's share of it. Count the matrices instead.",
            (("range(len(w_q))", "range(x.shape[-1] // (x.shape[-1] // len(w_q)))"),),
        ),
    ),
    variants=(
        """\
def look_up(x, memory, w_q, w_k, w_v):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v        # (head, position, d)
    weights = torch.softmax(q @ k.transpose(1, 2) * w_q.shape[-1] ** -0.5, dim=2)
    return weights @ v, weights
""",
        """\
def look_up(x, memory, w_q, w_k, w_v):
    q = torch.einsum("id,hdk->hik", x, w_q)
    k = torch.einsum("jd,hdk->hjk", memory, w_k)
    v = torch.einsum("jd,hdv->hjv", memory, w_v)
    scores = torch.einsum("hik,hjk->hij", q, k) / q.shape[-1] ** 0.5
    a = scores.exp() / scores.exp().sum(-1, keepdim=True)
    print("rows sum to", a.sum(-1))
    return torch.einsum("hij,hjv->hiv", a, v), a
""",
        """\
from mha_teach.collapse import heads

def look_up(x, memory, w_q, w_k, w_v):
    return heads(x, memory, w_q, w_k, w_v)
""",
    ),
    why="The picture of heads that split *the input* is the most frequent misreading. What is split is the width of "
    "the projections: each head's matrix has all d_model rows and d_k columns.",
)
