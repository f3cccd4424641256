"""Exercise 06-closing (break-and-fix)."""

from __future__ import annotations

import torch

from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point

_BROKEN = """\
def without(x, w_q, w_k, w_v, w_o, num_heads, closed):
    n, inner = len(x), w_q.shape[1]
    d_k = inner // num_heads
    w_q = w_q.clone()
    w_q[:, closed::num_heads] = 0.0  # this head asks nothing
    q, k, v = ((x @ w).view(n, num_heads, d_k).transpose(0, 1) for w in (w_q, w_k, w_v))
    heads = (q @ k.mT / d_k**0.5).softmax(-1) @ v  # (head, query, d_k)
    return heads.transpose(0, 1).reshape(n, inner) @ w_o
"""
_FIXED = """\
def without(x, w_q, w_k, w_v, w_o, num_heads, closed):
    n, inner = len(x), w_q.shape[1]
    d_k = inner // num_heads
    q, k, v = ((x @ w).view(n, num_heads, d_k).transpose(0, 1) for w in (w_q, w_k, w_v))
    heads = (q @ k.mT / d_k**0.5).softmax(-1) @ v  # (head, query, d_k)
    open = torch.arange(num_heads) != closed
    heads = heads * open.view(num_heads, 1, 1)
    return heads.transpose(0, 1).reshape(n, inner) @ w_o
"""
_NAMES = ("x", "w_q", "w_k", "w_v", "w_o", "num_heads", "closed")


def _layer(draw: Draw, num_heads: int, d_k: int, closed: int, n: int = 5, d_model: int = 7) -> tuple:
    w = (draw.normal(d_model, num_heads * d_k, dtype=torch.float64) for _ in range(3))
    x = draw.normal(n, d_model, dtype=torch.float64)
    return (x, *w, draw.normal(num_heads * d_k, d_model, dtype=torch.float64), num_heads, closed)


def _only_voice(draw: Draw) -> tuple:
    """Head 0 has no way out, so that nothing arrives once head 1 is silent."""
    given = _layer(draw, 2, 3, 1)
    given[4][:3] = 0.0
    return given


def _kept(answer, x, w_q, w_k, w_v, w_o, num_heads, closed) -> torch.Tensor:
    """Whether the caller's matrices are as they were: the model goes on living after a knock-out."""
    before = [w.clone() for w in (w_q, w_k, w_v, w_o)]
    answer(x, w_q, w_k, w_v, w_o, num_heads, closed)
    return torch.stack([(a - b).abs().max() for a, b in zip(before, (w_q, w_k, w_v, w_o), strict=True)])


CLOSING = Exercise(
    id="06-closing",
    kind="break",
    title="The head that wouldn't close",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="`without` is to give the layer's output with head `closed` **silent**. It runs, the numbers change, and the "
    "knock-out matrix comes out wrong. **Two** things are wrong: which numbers it touches, and what happens to a head "
    "that asks nothing. Repair it. The matrices that come in must stay as they are.",
    stub=_BROKEN,
    solution=_FIXED,
    points=(
        Point(
            "the first",
            "The first head writes nothing; the others write what they wrote.",
            lambda draw: _layer(draw, 3, 2, 0),
            arguments=_NAMES,
        ),
        Point(
            "the only voice",
            "The rows of w_o that belong to the other head are 0, so with this head silent nothing is left.",
            _only_voice,
            arguments=_NAMES,
            after="the first",
        ),
        Point(
            "another",
            "Head i owns d_k units that stand side by side. The heads before it and after it write what they wrote.",
            lambda draw: _layer(draw, 4, 5, 2),
            arguments=_NAMES,
        ),
        Point(
            "the model stays",
            "The matrices belong to the caller, who will close another head next.",
            lambda draw: _layer(draw, 2, 3, 1),
            measure=_kept,
            arguments=_NAMES,
            after="the first",
        ),
    ),
    hints=(
        "What are the weights of a head whose scores are all 0?",
        "Which columns belong to head 1 after `.view(n, num_heads, d_k)`?",
        "Multiply the head's *output* by 0, before it meets `w_o`.",
    ),
    mutants=(
        Mutant(
            "the right columns, still of W_Q",
            "the only voice",
            "A head that asks nothing looks at everything alike: it writes the mean of the values.",
            source=_BROKEN.replace("closed::num_heads", "closed * d_k : (closed + 1) * d_k"),
        ),
        Mutant(
            "silent, but the wrong units",
            "the first",
            "It silences every h-th unit, a few of each head. A head's units stand side by side.",
            source=_BROKEN.replace(
                "w_q = w_q.clone()\n    w_q[:, closed::num_heads]",
                "w_v = w_v.clone()\n    w_v[:, closed::num_heads]",
            ),
        ),
        Mutant(
            "all the others",
            "the first",
            "It silences every head but this one.",
            (("!= closed", "== closed"),),
        ),
        Mutant(
            "made up for",
            "the first",
            "The others are made louder to keep the size. A knock-out leaves them as they are.",
            (
                (
                    "heads * open.view(num_heads, 1, 1)",
                    "heads * open.view(num_heads, 1, 1) * num_heads / max(num_heads - 1, 1)",
                ),
            ),
        ),
        Mutant(
            "closed at the query",
            "the first",
            "It silences one position for all heads: that axis is the query.",
            (
                (
                    "    open = torch.arange(num_heads) != closed\n    heads = heads * open.view(num_heads, 1, 1)\n",
                    "    open = torch.arange(n) != closed\n    heads = heads * open.view(1, n, 1)\n",
                ),
            ),
        ),
        Mutant(
            "the caller's matrix",
            "the model stays",
            "It writes zeros into the caller's w_v: the next knock-out starts from a broken model.",
            (
                ("    q, k, v =", "    w_v[:, closed * d_k : (closed + 1) * d_k] = 0.0\n    q, k, v ="),
                (
                    "    open = torch.arange(num_heads) != closed\n    heads = heads * open.view(num_heads, 1, 1)\n",
                    "",
                ),
            ),
        ),
        Mutant(
            "scores of minus infinity",
            "the only voice",
            "A row of −inf has no softmax: it comes out as NaN, and takes the other heads with it.",
            (
                (
                    "    heads = (q",
                    "    scores = q @ k.mT / d_k**0.5\n    scores[closed] = -torch.inf\n    heads = scores.softmax(-1) @ v\n    #",
                ),
                ("    heads = heads * open.view(num_heads, 1, 1)\n", ""),
            ),
        ),
        Mutant(
            "nothing closed",
            "the only voice",
            "All heads still speak.",
            (("    heads = heads * open.view(num_heads, 1, 1)\n", ""),),
        ),
        Mutant(
            "always the first",
            "another",
            "It closes head 0, whichever is asked for.",
            (("!= closed", "!= 0"),),
        ),
        Mutant(
            "one must stay",
            "the only voice",
            "It leaves the head open where no other writes anything. Silent means silent, even if nothing is left.",
            (
                (
                    "    heads = heads * open",
                    "    if not w_o.view(num_heads, d_k, -1)[open].any():\n        open[closed] = True\n    heads = heads * open",
                ),
            ),
        ),
        Mutant(
            "nought taken for no",
            "the first",
            "`if closed` is false for head 0 as well, so the first head is never closed.",
            (("    heads = heads * open", "    if closed:\n        heads = heads * open"),),
        ),
        Mutant(
            "all that follow",
            "another",
            "It keeps the heads before this one only: those after it fall silent too.",
            (("!= closed", "< (closed or num_heads)\n    open[0] = closed > 0"),),
        ),
    ),
    variants=(
        """\
def without(x, w_q, w_k, w_v, w_o, num_heads, closed):
    out = torch.zeros_like(x @ w_q @ w_o)
    parts = [w.chunk(num_heads, -1) for w in (w_q, w_k, w_v)] + [w_o.chunk(num_heads, 0)]
    for head, (a, b, c, d) in enumerate(zip(*parts)):
        if head != closed:
            out = out + (x @ a @ (x @ b).T / a.shape[1] ** 0.5).softmax(-1) @ (x @ c) @ d
    return out
""",
        """\
from mha_teach.specialisation import gated

def without(x, w_q, w_k, w_v, w_o, num_heads, closed):
    gate = torch.ones(num_heads, dtype=w_o.dtype)
    gate[closed] = 0
    q, k, v = ((x @ w).unflatten(-1, (num_heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))
    heads = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    return heads.transpose(0, 1).flatten(1) @ gated(w_o, gate)
""",
        """\
def without(x, w_q, w_k, w_v, w_o, num_heads, closed):
    n, inner = len(x), w_q.shape[1]
    d_k = inner // num_heads
    q, k, v = ((x @ w).view(n, num_heads, d_k).transpose(0, 1) for w in (w_q, w_k, w_v))
    heads = (q @ k.mT / d_k**0.5).softmax(-1) @ v
    keep = [head for head in range(num_heads) if head != closed]
    rows = w_o.view(num_heads, d_k, -1)[keep].reshape(inner - d_k, -1)
    return heads[keep].transpose(0, 1).reshape(n, -1) @ rows
""",
        """\
def without(x, w_q, w_k, w_v, w_o, num_heads, closed):
    n, d_k = len(x), w_q.shape[1] // num_heads
    w_v = w_v.clone()
    w_v[:, closed * d_k : (closed + 1) * d_k] = 0
    q, k, v = ((x @ w).view(n, num_heads, d_k).transpose(0, 1) for w in (w_q, w_k, w_v))
    heads = (q @ k.mT / d_k**0.5).softmax(-1) @ v
    return heads.transpose(0, 1).reshape(n, -1) @ w_o
""",
    ),
    why="A softmax can't be switched off from inside: whatever the scores are, a row spends a budget of one. Silence has to "
    "come after it: zero values, a gate on the output, or zero rows of W_O.",
)
