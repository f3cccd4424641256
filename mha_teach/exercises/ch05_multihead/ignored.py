"""Exercise 05-ignored (break)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients

WIDTH, HEADS = 12, 3
NAMES = ("query", "key", "value")
SHAPES = {
    "in_proj.weight": (3 * WIDTH, WIDTH),
    "in_proj.bias": (3 * WIDTH,),
    "out_proj.weight": (WIDTH, WIDTH),
    "out_proj.bias": (WIDTH,),
}


def _state(draw: Draw) -> dict[str, torch.Tensor]:
    return {name: draw.normal(*shape) * WIDTH ** (0.5 - 0.5 * len(shape)) for name, shape in SHAPES.items()}


def _output(answer, state, query, key, value):
    module = answer(WIDTH, HEADS)
    module.load_state_dict(state)
    # what equals the query is the same tensor, as it is for who calls a layer with x, x, memory
    return module(query, *(query if torch.equal(query, x) else x for x in (key, value)))


def _gradient(answer, state, query, key, value):
    module = answer(WIDTH, HEADS)
    module.load_state_dict(state)
    leaves = [x.requires_grad_() for x in (query, key, value)]
    return gradients(module(*leaves), [*leaves, *(module.get_parameter(name) for name in SHAPES)])


def _inputs(roles: str, memory: int = 5):
    """``roles`` says which of three tensors is query, key and value: "aaa" is self-attention."""

    def make(draw: Draw) -> tuple:
        given = {
            "a": draw.normal(2, 5, WIDTH),
            "b": draw.normal(2, memory, WIDTH),
            "c": draw.normal(2, memory, WIDTH),
        }
        return _state(draw), *(given[role].clone() for role in roles)

    return make


_SPLIT = """\
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in (q, k, v))
        heads = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out_proj(heads.transpose(1, 2).flatten(2))
"""
_HEAD = """\
class Attention(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.in_proj = torch.nn.Linear(d_model, 3 * d_model)  # rows of W_Q, W_K, W_V, one below the other
        self.out_proj = torch.nn.Linear(d_model, d_model)

    def forward(self, query, key, value):
"""
_ROWS = """\
        w_q, w_k, w_v = self.in_proj.weight.chunk(3)
        b_q, b_k, b_v = self.in_proj.bias.chunk(3)
"""
_MENDED = """\
        q = query @ w_q.T + b_q
        k = key @ w_k.T + b_k
        v = value @ w_v.T + b_v
"""
_FAST = """\
        if query is key is value:
            q, k, v = (query @ self.in_proj.weight.T).chunk(3, -1)
"""


def _point(name: str, message: str, inputs, measure=_output, **options) -> Point:
    return Point(name, message, inputs, measure, arguments=("state", *NAMES), **options)


IGNORED = Exercise(
    id="05-ignored",
    title="Deaf to its memory",
    kind="break",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="This class raises nothing and equals torch in self-attention, and it never reads `key` and `value`. Mend its "
    "`forward`. Keep the two layers and their names, so that trained weights still fit, and keep self-attention as it is.",
    stub=_HEAD + "        q, k, v = self.in_proj(query).chunk(3, -1)\n" + _SPLIT,
    solution=_HEAD + _ROWS + _MENDED + _SPLIT,
    points=(
        _point(
            "self-attention",
            "With one tensor for all three the answer must stay as it was.",
            _inputs("aaa"),
        ),
        _point(
            "another key", "The scores come from the key, by the middle third of in_proj.", _inputs("aba")
        ),
        _point(
            "another value",
            "What is handed over comes from the value, by the last third.",
            _inputs("aab"),
        ),
        _point(
            "another length",
            "A memory may be longer than the query: no length may be taken from the query.",
            _inputs("abb", memory=7),
        ),
        _point(
            "gradients",
            "Gradients must reach query, key and value, and the weights.",
            _inputs("abc"),
            _gradient,
            compare=partial(same, parts=tuple(f"the gradient to {name}" for name in (*NAMES, *SHAPES))),
        ),
    ),
    hints=(
        "Call it with another `key` and look whether anything changes. Which line is to blame?",
        "`self.in_proj.weight.chunk(3)` gives the three matrices, `self.in_proj.bias.chunk(3)` the biases.",
        "`k = key @ w_k.T + b_k`, and so on.",
    ),
    mutants=(
        Mutant(
            "value taken from key",
            "another value",
            "The value argument is still ignored: v is made from key.",
            (("v = value @", "v = key @"),),
        ),
        Mutant(
            "value still from query",
            "another value",
            "Keys are read now, values still come from the query.",
            (("v = value @", "v = query @"),),
        ),
        Mutant(
            "key still from query",
            "another key",
            "Values are read now, keys still come from the query.",
            (("k = key @", "k = query @"),),
        ),
        Mutant(
            "key and value swapped",
            "another key",
            "The scores come from value, and key is handed over.",
            (("k = key @", "k = value @"), ("v = value @", "v = key @")),
        ),
        Mutant(
            "fused wherever query is key",
            "another value",
            "Where query and key are one tensor it takes the values from that tensor too; value may be another.",
            (
                (
                    "    def forward(self, query, key, value):\n",
                    "    def forward(self, query, key, value):\n        value = query if query is key else value\n",
                ),
            ),
        ),
        Mutant(
            "key read with the query's rows",
            "self-attention",
            "The first third of in_proj is W_Q; keys need the middle one.",
            (("key @ w_k.T", "key @ w_q.T"),),
        ),
        Mutant(
            "biases left behind",
            "self-attention",
            "The biases of in_proj are lost.",
            ((" + b_q", ""), (" + b_k", ""), (" + b_v", "")),
        ),
        Mutant(
            "length of the query",
            "another length",
            "It cuts keys and values to as many positions as the query has.",
            (
                ("k = key @", "k = key[:, : query.shape[1]] @"),
                ("v = value @", "v = value[:, : query.shape[1]] @"),
            ),
        ),
        Mutant(
            "rows of each head side by side",
            "self-attention",
            "It reads in_proj as q, k, v of head 0, then of head 1; the weights were stored role by role.",
            (
                (
                    "w_q, w_k, w_v = self.in_proj.weight.chunk(3)",
                    "w_q, w_k, w_v = self.in_proj.weight.unflatten(0, (self.num_heads, 3, -1)).transpose(0, 1).flatten(1, 2)",
                ),
                (
                    "b_q, b_k, b_v = self.in_proj.bias.chunk(3)",
                    "b_q, b_k, b_v = self.in_proj.bias.unflatten(0, (self.num_heads, 3, -1)).transpose(0, 1).flatten(1)",
                ),
            ),
        ),
        Mutant(
            "memory detached",
            "gradients",
            "No gradient goes back into key and value, so an encoder behind them never learns.",
            (("k = key @", "k = key.detach() @"), ("v = value @", "v = value.detach() @")),
        ),
        Mutant(
            "weights read through .data",
            "gradients",
            "No gradient goes back into in_proj: .data leaves the graph, so the projections never learn.",
            (("self.in_proj.weight.chunk", "self.in_proj.weight.data.chunk"),),
        ),
        Mutant(
            "self-attention without bias",
            "self-attention",
            "Where all three are one tensor it multiplies by in_proj.weight alone, and in_proj.bias is forgotten there.",
            ((_SPLIT, _FAST + _SPLIT),),
        ),
        Mutant(
            "fused wherever query is value",
            "another key",
            "Where query and value are one tensor it takes the keys from that tensor too; key may be another.",
            (("k = key @", "k = (query if query is value else key) @"),),
        ),
    ),
    variants=(
        _HEAD
        + "        q = self.in_proj(query).chunk(3, -1)[0]\n        k = self.in_proj(key).chunk(3, -1)[1]\n"
        + "        v = self.in_proj(value).chunk(3, -1)[2]\n"
        + _SPLIT,
        _HEAD
        + "        linear = torch.nn.functional.linear\n"
        + "        parts = zip((query, key, value), self.in_proj.weight.chunk(3), self.in_proj.bias.chunk(3))\n"
        + "        q, k, v = (linear(x, w, b) for x, w, b in parts)\n"
        + _SPLIT,
        _HEAD
        + "        return torch.nn.functional.multi_head_attention_forward(\n"
        + "            *(x.transpose(0, 1) for x in (query, key, value)), query.shape[-1], self.num_heads,\n"
        + "            self.in_proj.weight, self.in_proj.bias, None, None, False, 0.0,\n"
        + "            self.out_proj.weight, self.out_proj.bias, need_weights=False,\n"
        + "        )[0].transpose(0, 1)\n",
    ),
    why="One fused matmul is right only where all three inputs are one tensor. Otherwise the same matrix is cut into its "
    "three parts, and each part reads its own input.",
)
