"""Exercise 05-attend-heads (code)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.ch05_multihead.wrong_heads import MUTANTS, SOLUTION
from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise
from mha_teach.exercises.points import Point, gradients

NAMES = ("query", "key", "value", "w_q", "w_k", "w_v", "w_o", "num_heads", "mask")


def _given(
    draw: Draw, roles="aaa", *, batch=2, queries=5, keys=None, width=12, heads=3, d_k=4, d_v=None
) -> tuple:
    """The arguments; ``roles`` says which of three tensors is query, key and value."""
    d_v = d_k if d_v is None else d_v
    keys = queries if keys is None else keys
    x = {
        "a": draw.normal(batch, queries, width),
        "b": draw.normal(batch, keys, width),
        "c": draw.normal(batch, keys, width),
    }
    rows = (heads * d_k, heads * d_k, heads * d_v)
    weights = [draw.normal(n, width) * width**-0.5 for n in rows]
    return (
        *(x[role] for role in roles),
        *weights,
        draw.normal(width, heads * d_v) * (heads * d_v) ** -0.5,
        heads,
    )


def _round(draw: Draw) -> tuple:
    """As many queries as samples and as heads, so that only the number of its axes says what a mask is."""
    return *_given(draw, batch=3, queries=3), torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).bool()


def _gradient(answer, *arguments):
    leaf = arguments[0].requires_grad_()  # self-attention: one tensor for all three
    return gradients(answer(leaf, leaf, leaf, *arguments[3:]), [leaf])


def _tied(answer, query, key, value, *rest):
    return answer(query, query, value, *rest)


def _point(name: str, message: str, inputs, *rest, **options) -> Point:
    return Point(name, message, inputs, *rest, arguments=NAMES, **options)


ATTEND_HEADS = Exercise(
    id="05-attend-heads",
    title="All heads at once",
    kind="code",
    minutes=20,
    difficulty=3,
    marks=5,
    prompt="Write multi-head attention without a module and without biases. `query` is (batch, query, d_model), `key` and "
    "`value` are (batch, key, d_model). Weights are stored as torch does, one row for each output: `w_q` and `w_k` are "
    "(num_heads · d_k, d_model), `w_v` is (num_heads · d_v, d_model), each head's rows together, `w_o` is "
    "(d_model, num_heads · d_v). `mask` is `None` or boolean, True = may look, of shape (query, key), or (batch, query, key) "
    "for all heads alike; every query may look at some key. Return the output, (batch, query, d_model).",
    stub="def attend_heads(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask=None):\n    ...\n",
    solution=SOLUTION,
    points=(
        _point(
            "one position",
            "With one key each head's weight is 1, so the output is value @ w_v.T @ w_o.T.",
            lambda draw: _given(draw, queries=1),
        ),
        _point(
            "self-attention",
            "Split into heads, attend, merge, and mix by w_o.",
            lambda draw: _given(draw, width=24, heads=6),
        ),
        _point(
            "another width",
            "The scale follows d_k, the width of one head.",
            lambda draw: _given(draw, width=33, d_k=11),
        ),
        _point(
            "three inputs",
            "Queries, keys and values come from three tensors.",
            lambda draw: _given(draw, "abc"),
        ),
        _point(
            "value alone differs",
            "Where query and key are one tensor, value may still be another.",
            lambda draw: _given(draw, "aac"),
            _tied,
        ),
        _point(
            "another length",
            "There may be more keys than queries: take no length of keys from the query.",
            lambda draw: _given(draw, "abb", keys=7),
        ),
        _point(
            "inner width",
            "num_heads · d_k need not be d_model: read the widths off the projected numbers.",
            lambda draw: _given(draw, d_k=9),
        ),
        _point(
            "wide values",
            "d_v need not be d_k.",
            lambda draw: _given(draw, d_v=5),
        ),
        _point(
            "mask",
            "A closed key counts as if it weren't there, in every head.",
            _round,
        ),
        _point(
            "a mask for each sample",
            "A mask (batch, query, key) needs an axis of size 1 for the heads.",
            lambda draw: (*_given(draw), draw.mask(2, 5, 5, share=0.5)),
        ),
        _point(
            "a mask for another length",
            "A mask has a row for each query and a column for each key; the two lengths may differ.",
            lambda draw: (*_given(draw, "abb", keys=7), draw.mask(5, 7, share=0.5)),
        ),
        _point(
            "gradients",
            "Gradients reach the inputs, through the weights too.",
            _given,
            _gradient,
            compare=partial(same, parts=("the gradient to the input",)),
        ),
    ),
    hints=(
        "Five steps: project, split, attend, merge, mix. Which tensor does each projection read?",
        "`x.unflatten(-1, (num_heads, -1)).transpose(1, 2)` splits any width; `.transpose(1, 2).flatten(2)` merges.",
        "`query @ w_q.T` projects. Scale by the last axis of the split q, and give a mask of three axes `mask[:, None]`.",
    ),
    mutants=MUTANTS,
    variants=(
        """\
def attend_heads(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask=None):
    total = 0
    for a, b, c, o in zip(w_q.chunk(num_heads), w_k.chunk(num_heads), w_v.chunk(num_heads), w_o.chunk(num_heads, 1)):
        scores = (query @ a.T) @ (key @ b.T).mT * a.shape[0] ** -0.5
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        total = total + scores.softmax(-1) @ (value @ c.T) @ o.T
    return total
""",
        """\
import torch.nn.functional as F

def attend_heads(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask=None):
    print("projecting")
    def split(x, w):
        return F.linear(x, w).view(*x.shape[:2], num_heads, -1).permute(0, 2, 1, 3)
    if mask is not None and mask.ndim == 3:
        mask = mask.unsqueeze(1)
    heads = F.scaled_dot_product_attention(split(query, w_q), split(key, w_k), split(value, w_v), attn_mask=mask)
    return F.linear(heads.permute(0, 2, 1, 3).reshape(*query.shape[:2], -1), w_o)
""",
        """\
def attend_heads(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask=None):
    query, key, value, w_q, w_k, w_v, w_o = (t.double() for t in (query, key, value, w_q, w_k, w_v, w_o))
    a, b, c = (w.unflatten(0, (num_heads, -1)) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bim,hdm,bjn,hdn->bhij", query, a, key, b) / a.shape[1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~(mask if mask.dim() == 2 else mask[:, None]), float("-inf"))
    return torch.einsum("bhij,bjm,hdm,ohd->bio", scores.softmax(-1), value, c, w_o.unflatten(1, (num_heads, -1)))
""",
        """\
from mha_teach.attention import attend
from mha_teach.reshaping import merge_heads, split_heads

def attend_heads(query, key, value, w_q, w_k, w_v, w_o, num_heads, mask=None):
    q, k, v = (split_heads(x @ w.T, num_heads) for x, w in ((query, w_q), (key, w_k), (value, w_v)))
    mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
    return merge_heads(attend(q, k, v, mask)[0]) @ w_o.T
""",
    ),
    why="Widths are read off the projected tensors, lengths off each input, so the same lines serve self- and "
    "cross-attention, any inner width, and values wider than keys.",
)
