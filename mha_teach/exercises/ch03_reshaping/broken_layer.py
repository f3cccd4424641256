"""Break and fix: a causal layer with two silent faults, one of which no leak probe sees."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients

_BROKEN = """\
def layer(x, w_qkv, w_o, num_heads):
    batch, n, d_model = x.shape
    qkv = (x @ w_qkv).view(batch, n, num_heads, 3, -1)
    q, k, v = qkv.permute(3, 0, 2, 1, 4)  # each (batch, head, position, d_k)
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
    output = scores.softmax(-1) @ v  # (batch, head, position, d_k)
    return output.reshape(batch, n, -1) @ w_o
"""
_SOLUTION = """\
def layer(x, w_qkv, w_o, num_heads):
    batch, n, d_model = x.shape
    qkv = (x @ w_qkv).view(batch, n, 3, num_heads, -1)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (batch, head, position, d_k)
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
    output = scores.softmax(-1) @ v  # (batch, head, position, d_k)
    return output.transpose(1, 2).reshape(batch, n, -1) @ w_o
"""
_VIEW = ".view(batch, n, 3, num_heads, -1)\n    q, k, v = qkv.permute(2, 0, 3, 1, 4)"
_FOUR = ("x", "w_qkv", "w_o", "num_heads")


def _given(draw: Draw, batch: int = 2, n: int = 5, heads: int = 2, d_k: int = 3, d_model: int = 7) -> tuple:
    x = draw.normal(batch, n, d_model).double()
    w_qkv = draw.normal(d_model, 3 * heads * d_k).double()
    return x, w_qkv, draw.normal(heads * d_k, d_model).double(), heads


def _large(draw: Draw) -> tuple:
    x, *others = _given(draw, batch=11)
    return 100 * x, *others


def _trained(answer, x, w_qkv, w_o, num_heads) -> tuple:
    leaves = [w_qkv.requires_grad_(), w_o.requires_grad_()]
    return gradients(answer(x, *leaves, num_heads), leaves)


BROKEN = Exercise(
    id="03-broken-layer",
    kind="break",
    title="Quiet after the first repair",
    minutes=12,
    difficulty=3,
    marks=3,
    prompt="A causal self-attention layer. The columns of `w_qkv` are laid out [Q | K | V], each with its heads in order; rows of "
    "`w_o` are laid out head by head. The layer runs, its shapes are right, and it would train. It has **two** faults. "
    "`causal_leak` finds one of them, and nothing more once that is repaired; the other it never sees. Repair both.",
    stub=_BROKEN,
    solution=_SOLUTION,
    points=(
        Point(
            "one position",
            "A single position can only look at itself: the output is its value, merged, times w_o. Which columns are values?",
            lambda draw: _given(draw, n=1),
            arguments=_FOUR,
        ),
        Point(
            "the first position",
            "The first output may only depend on the first position, however large the rest. Look at how heads are merged.",
            _large,
            measure=lambda answer, *inputs: answer(*inputs)[:, :1],
            arguments=_FOUR,
        ),
        Point(
            "every position",
            "Some later row is still wrong.",
            lambda draw: _given(draw, n=11),
            arguments=_FOUR,
        ),
        Point(
            "a wider inside",
            "Here h · d_k is more than d_model. The width of a head follows from the columns of w_qkv.",
            lambda draw: _given(draw, heads=5, d_k=3),
            arguments=_FOUR,
        ),
        Point(
            "one sample",
            "A batch of one.",
            lambda draw: _given(draw, batch=1),
            arguments=_FOUR,
        ),
        Point(
            "it still trains",
            "Gradients reach both matrices.",
            _given,
            measure=_trained,
            compare=partial(same, parts=("the gradient to w_qkv", "the gradient to w_o")),
            arguments=_FOUR,
        ),
    ),
    hints=(
        "Two lines move numbers on the way in, one on the way out. Write the name of every axis behind each.",
        "Columns run role first, then head, then dim. In which order does the `view` name them?",
        "`view(batch, n, 3, num_heads, -1)`, `permute(2, 0, 3, 1, 4)`, and a `transpose(1, 2)` before the last `reshape`.",
    ),
    mutants=(
        Mutant(
            "only the merge repaired",
            "one position",
            "Nothing leaks any more, but columns laid out [Q | K | V] are still read as q, k, v of each head in turn.",
            (
                (
                    _VIEW,
                    ".view(batch, n, num_heads, 3, -1)\n    q, k, v = qkv.permute(3, 0, 2, 1, 4)",
                ),
            ),
        ),
        Mutant(
            "only the layout repaired",
            "the first position",
            "The heads get their own columns now. On the way out, a row still holds one head's answers for several positions.",
            ((".transpose(1, 2).reshape", ".reshape"),),
        ),
        Mutant(
            "only the permute repaired",
            "one position",
            "The permute takes the roles from the third axis now; the view still puts the heads there.",
            ((".view(batch, n, 3, num_heads, -1)", ".view(batch, n, num_heads, 3, -1)"),),
        ),
        Mutant(
            "split without a transpose",
            "the first position",
            "The roles are right now, but each head's rows are cut from memory as they lie, without a transpose.",
            (
                (
                    "qkv = (x @ w_qkv).view(batch, n, 3, num_heads, -1)\n    q, k, v = qkv.permute(2, 0, 3, 1, 4)",
                    "q, k, v = (t.reshape(batch, num_heads, n, -1) for t in (x @ w_qkv).chunk(3, -1))",
                ),
            ),
        ),
        Mutant(
            "keys and queries exchanged",
            "every position",
            "Queries and keys have changed places: the columns come as Q, K, V.",
            (("q, k, v = qkv", "k, q, v = qkv"),),
        ),
        Mutant(
            "values and keys exchanged",
            "one position",
            "Keys and values have changed places: the columns come as Q, K, V.",
            (("q, k, v = qkv", "q, v, k = qkv"),),
        ),
        Mutant(
            "samples mixed",
            "the first position",
            "It reads positions before samples: samples mix.",
            (
                (
                    "view(batch, n, 3, num_heads, -1)\n    q, k, v = qkv.permute(2, 0, 3, 1, 4)",
                    "view(n, batch, 3, num_heads, -1)\n    q, k, v = qkv.permute(2, 1, 3, 0, 4)",
                ),
            ),
        ),
        Mutant(
            "columns dealt in turn",
            "one position",
            "On the way out it deals the heads' numbers in turn; each head's d_k numbers stay together.",
            (("output.transpose(1, 2)", "output.permute(0, 2, 3, 1)"),),
        ),
        Mutant(
            "mask lost",
            "the first position",
            "The mask has gone: the first position sees all others.",
            ((".masked_fill(future, -torch.inf)", ""),),
        ),
        Mutant(
            "detached",
            "it still trains",
            "The numbers are right, but no gradient leaves the layer.",
            (("reshape(batch, n, -1) @ w_o", "reshape(batch, n, -1).detach() @ w_o.detach()"),),
        ),
        Mutant(
            "scale from d_model",
            "a wider inside",
            "It scales by d_model divided by the heads. The width of a head is that of its queries.",
            (("q.shape[-1] ** 0.5", "(d_model // num_heads) ** 0.5"),),
        ),
        Mutant(
            "one position handed back",
            "one position",
            "It hands a single position back as it came. That one, too, goes through its value and w_o.",
            (("    qkv =", "    if n == 1:\n        return x\n    qkv ="),),
        ),
        Mutant(
            "mask of ten thousand",
            "the first position",
            "It takes ten thousand off the masked scores. Where scores are large that hides nothing; -inf always does.",
            ((".masked_fill(future, -torch.inf)", " - 1e4 * future"),),
        ),
        Mutant(
            "mask for eight",
            "every position",
            "Its mask is made for eight positions at most; the input may be longer.",
            (("torch.ones(n, n, dtype=torch.bool).triu(1)", "torch.ones(8, 8).bool().triu(1)[:n, :n]"),),
        ),
        Mutant(
            "one sample without a batch",
            "one sample",
            "`squeeze(0)` takes the batch axis away where there is one sample.",
            (("n, -1) @ w_o", "n, -1).squeeze(0) @ w_o"),),
        ),
    ),
    variants=(
        """\
def layer(x, w_qkv, w_o, num_heads):
    n, rows = x.shape[1], []
    future = torch.ones(n, n).triu(1).bool()
    for q, k, v in zip(*((x @ w).chunk(num_heads, -1) for w in w_qkv.chunk(3, -1))):
        scores = (q @ k.transpose(1, 2) * q.shape[-1] ** -0.5).masked_fill(future, float("-inf"))
        rows.append(torch.softmax(scores, -1) @ v)
    return torch.cat(rows, -1) @ w_o
""",
        """\
def layer(x, w_qkv, w_o, num_heads):
    q, k, v = (t.unflatten(-1, (num_heads, -1)).transpose(1, 2) for t in (x @ w_qkv).chunk(3, -1))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(1, 2).flatten(2) @ w_o
""",
        """\
from mha_teach.attention import attend
from mha_teach.reshaping import merge_heads, split_heads

def layer(x, w_qkv, w_o, num_heads):
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    out, _ = attend(*(split_heads(t, num_heads) for t in (x @ w_qkv).chunk(3, -1)), mask=mask)
    return merge_heads(out) @ w_o
""",
    ),
    why="A silent probe says that nothing leaks, not that the layer is right. Only a comparison with a layer that you trust, "
    "on the same weights, tells whether columns are read in the order in which they were written.",
)
