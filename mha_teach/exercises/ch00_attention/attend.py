"""Exercise 00-attend (code)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.ch00_attention.common import QKV, qkv
from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients, part_of

PAIR = ("output", "weights")


def _equal_scores(draw: Draw) -> tuple:
    q, k, v = qkv(draw, 2)
    return torch.zeros_like(q), k, v


def _two_widths(draw: Draw) -> tuple:
    return *qkv(draw, 2, d_k=3), *qkv(draw, 2, d_k=11)


def _two_ranks(draw: Draw) -> tuple:
    return *qkv(draw), *qkv(draw, 2, 3)


def _masked(draw: Draw) -> tuple:
    return *qkv(draw, 2), draw.mask(2, 5, 7, share=0.5)


def _first_closed(draw: Draw) -> tuple:
    """Rows that keep their last key, not their first: elsewhere every query that sees anything sees key 0."""
    mask = draw.mask(2, 5, 7, share=0.5).flip(-1)
    mask[0, 1, 0] = False
    return *qkv(draw, 2), mask


def _blind(draw: Draw) -> tuple:
    q, k, v, mask = _masked(draw)
    mask[1, 3] = False
    return q, k, v, mask


def _large(draw: Draw) -> tuple:
    q, k, v = qkv(draw, 2)
    return q * 1000, k, v


def _output(answer, *arguments):
    return part_of(answer(*arguments), 0, PAIR)


def _weights(answer, *arguments):
    return part_of(answer(*arguments), 1, PAIR)


def _twice(answer, *six):
    return _output(answer, *six[:3]), _output(answer, *six[3:])


def _shared(draw: Draw) -> tuple:
    return *qkv(draw, 2, 3), draw.mask(5, 7, share=0.5), draw.mask(2, 1, 1, 7, share=0.5)


def _both_masks(answer, q, k, v, first, second):
    return _output(answer, q, k, v, first), _output(answer, q, k, v, second)


def _far_down(draw: Draw) -> tuple:
    q, k, v, mask = _masked(draw)
    return -q.abs() * 1e5, k.abs(), v, mask  # every score is far down, whatever is drawn


def _gradient(answer, *qkv):
    leaves = [x.requires_grad_() for x in qkv]
    return gradients(_output(answer, *leaves), leaves)


ATTEND = Exercise(
    id="00-attend",
    title="Attention from memory",
    kind="code",
    minutes=15,
    difficulty=2,
    marks=4,
    prompt="Close the page above and write attention yourself. `q` is `(*batch, query, d_k)`, `k` is "
    "`(*batch, key, d_k)`, `v` is `(*batch, key, d_v)`, with any number of leading axes. `mask` is `None` or boolean, "
    "broadcasts to `(*batch, query, key)`, and is True where a query may look. A query that may look at nothing gets "
    "zero weights and a zero output.",
    stub="def attend_mine(q, k, v, mask=None):\n    ...  # scores, mask, weights, output\n    return output, weights\n",
    solution="""\
def attend_mine(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    output = weights @ v
    return output, weights
""",
    why="The blind row is the only trap left when the formula is right: a softmax over nothing but $-\\infty$ is "
    "0/0. Zero weights make the output zero and keep NaN out of everything behind it.",
    points=(
        Point(
            "equal scores",
            "A query of zeros scores all keys alike, so its output is the mean of the values.",
            _equal_scores,
            _output,
            arguments=QKV,
        ),
        Point(
            "any leading axes",
            "The same code must serve (query, d_k) and (batch, head, query, d_k): count axes from the end.",
            _two_ranks,
            _twice,
            compare=partial(same, parts=("the output for 2 axes", "the output for 4 axes")),
            arguments=QKV * 2,
        ),
        Point(
            "scale",
            "Scores are divided by the square root of d_k, the width of one query.",
            _two_widths,
            _twice,
            compare=partial(same, parts=("the output for d_k = 3", "the output for d_k = 11")),
            arguments=QKV * 2,
        ),
        Point(
            "large scores",
            "Scores of a thousand must not overflow. A softmax first subtracts the largest score of the row.",
            _large,
            _output,
            arguments=QKV,
        ),
        Point(
            "weights",
            "The second thing returned is the weights.",
            lambda d: qkv(d, 2),
            _weights,
            arguments=QKV,
        ),
        Point(
            "mask",
            "A closed key counts as if it were not there: its score is -inf before the softmax.",
            _first_closed,
            _output,
            arguments=(*QKV, "mask"),
        ),
        Point(
            "shared mask",
            "One mask may serve every sample and head, or every query: it broadcasts like any tensor.",
            _shared,
            _both_masks,
            compare=partial(
                same, parts=("the output under a mask (query, key)", "the output under a mask of keys")
            ),
            arguments=(*QKV, "one mask for all", "one row per sample"),
        ),
        Point(
            "very low scores",
            "Open keys may score -100,000 and still share all the weight: closed must be lower than any score.",
            _far_down,
            _output,
            arguments=(*QKV, "mask"),
        ),
        Point(
            "blind query",
            "A query that may look at nothing gets zeros, and no other query notices.",
            _blind,
            _output,
            arguments=(*QKV, "mask"),
        ),
        Point(
            "masked weights",
            "The weights that are returned are those that were used: zero for closed keys, a row of zeros for a "
            "blind query.",
            _blind,
            _weights,
            arguments=(*QKV, "mask"),
        ),
        Point(
            "gradients",
            "Gradients reach q, k and v.",
            lambda d: qkv(d, 2),
            _gradient,
            compare=partial(same, parts=("the gradient to q", "the gradient to k", "the gradient to v")),
            arguments=QKV,
        ),
    ),
    hints=(
        "Four lines: scores, mask, weights, output. Which axis of the scores belongs to the keys?",
        "`k.transpose(-2, -1)` turns rows into columns whatever stands in front; the softmax runs over `-1`.",
        "`scores.masked_fill(~mask, -torch.inf)` before the softmax. Afterwards, rows with `~mask.any(-1)` become 0.",
    ),
    mutants=(
        Mutant("no scale", "scale", "The scores aren't scaled.", ((" / q.shape[-1] ** 0.5", ""),)),
        Mutant(
            "scaled twice",
            "scale",
            "It divides by d_k, not by its square root.",
            ((" / q.shape[-1] ** 0.5", " / q.shape[-1]"),),
        ),
        Mutant(
            "scaled up",
            "scale",
            "It multiplies by the square root of d_k.",
            (("/ q.shape[-1] ** 0.5", "* q.shape[-1] ** 0.5"),),
        ),
        Mutant(
            "scaled by the number of keys",
            "scale",
            "The size of k that counts is its width, k.shape[-1].",
            (("/ q.shape[-1] ** 0.5", "/ k.shape[-2] ** 0.5"),),
        ),
        Mutant(
            "scaled by the value's width",
            "scale",
            "d_k counts, not d_v: the dot product runs over d_k.",
            (("/ q.shape[-1] ** 0.5", "/ v.shape[-1] ** 0.5"),),
        ),
        Mutant(
            "softmax over the queries",
            "equal scores",
            "The weights of each column sum to one; those of each row should.",
            (("softmax(-1)", "softmax(-2)"),),
        ),
        Mutant(
            "softmax over axis 1",
            "equal scores",
            "Axis 1 is the keys only when there is no batch. Count from the end: -1.",
            (("softmax(-1)", "softmax(1)"),),
        ),
        Mutant(
            "sigmoid instead of softmax",
            "equal scores",
            "Each weight is between 0 and 1, but a row does not sum to one.",
            (("scores.softmax(-1)", "scores.sigmoid()"),),
        ),
        Mutant(
            "score 0 taken for closed",
            "equal scores",
            "It closes every key that scores exactly 0, and a query of zeros scores 0 everywhere. Only the mask closes.",
            (
                (
                    "    if mask is not None:\n        scores",
                    "    scores = scores.masked_fill(scores == 0, -torch.inf)\n    if mask is not None:\n        scores",
                ),
            ),
        ),
        Mutant(
            "a batch of one put in front",
            "any leading axes",
            "It turns (query, d_k) into a batch of one and never takes that axis away again.",
            (
                (
                    "    scores = q @",
                    "    if q.dim() == 2:\n        q, k, v = q[None], k[None], v[None]\n    scores = q @",
                ),
            ),
        ),
        Mutant(
            "transposed by counting from the front",
            "any leading axes",
            "transpose(1, 2) fits three axes and no other number of them.",
            (("k.transpose(-2, -1)", "k.transpose(1, 2)"),),
        ),
        Mutant(
            "exp without the largest score taken off",
            "large scores",
            "exp(1000) is infinite, and infinite over infinite is NaN.",
            (("scores.softmax(-1)", "scores.exp() / scores.exp().sum(-1, keepdim=True)"),),
        ),
        Mutant(
            "scores capped",
            "large scores",
            "It cuts every score at 80 so that exp stays finite. Keys above that then count alike, whichever scores most.",
            (("scores.softmax(-1)", "scores.clamp(max=80.0).softmax(-1)"),),
        ),
        Mutant(
            "short way without a mask",
            "weights",
            "Where there is no mask it returns early, with the scores in place of the weights.",
            (
                (
                    "    if mask is not None:\n        scores",
                    "    if mask is None:\n        return scores.softmax(-1) @ v, scores\n    if mask is not None:\n        scores",
                ),
            ),
        ),
        Mutant(
            "scores returned instead of weights",
            "weights",
            "It returns the scores; weights are what the softmax makes of them.",
            (("return output, weights", "return output, scores"),),
        ),
        Mutant(
            "mask upside down",
            "mask",
            "True means may look. Here it closes.",
            (("masked_fill(~mask, -torch.inf)", "masked_fill(mask, -torch.inf)"),),
        ),
        Mutant(
            "mask ignored",
            "mask",
            "Closed keys still get weight.",
            (("scores = scores.masked_fill(~mask, -torch.inf)", "pass"),),
        ),
        Mutant(
            "masking after softmax",
            "mask",
            "Closed weights are set to zero, but they stay in the sum, so the rest of the row no longer sums to one.",
            (
                ("    if mask is not None:\n        scores = scores.masked_fill(~mask, -torch.inf)\n", ""),
                ("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights * mask"),
            ),
        ),
        Mutant(
            "mask added as zeros and ones",
            "mask",
            "Adding 1 where a query may look shifts scores a little and closes nothing.",
            (("scores.masked_fill(~mask, -torch.inf)", "scores + mask"),),
        ),
        Mutant(
            "score 0 for closed keys",
            "mask",
            "A score of 0 is a score like any other: e to the 0 is 1. Closed means -inf.",
            (("masked_fill(~mask, -torch.inf)", "masked_fill(~mask, 0.0)"),),
        ),
        Mutant(
            "first key always open",
            "mask",
            "It never closes key 0, so that no softmax is empty. A mask may close that key like any other.",
            (
                (
                    "scores.masked_fill(~mask, -torch.inf)",
                    "torch.cat([scores[..., :1], scores[..., 1:].masked_fill(~mask[..., 1:], -torch.inf)], -1)",
                ),
            ),
        ),
        Mutant(
            "output before the blind row is mended",
            "blind query",
            "The weights that it returns are right, but the output was made from them while the blind row was still NaN.",
            (
                ("    output = weights @ v\n", ""),
                (
                    "weights = scores.softmax(-1)\n",
                    "weights = scores.softmax(-1)\n    output = weights @ v\n",
                ),
            ),
        ),
        Mutant(
            "blind query left alone",
            "blind query",
            "A row of -inf alone becomes 0/0, which is NaN.",
            (("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights"),),
        ),
        Mutant(
            "a large negative number for minus infinity",
            "blind query",
            "With -1e9 everywhere a blind query looks at all keys alike, also at those it must not see.",
            (
                ("-torch.inf", "-1e9"),
                ("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights"),
            ),
        ),
        Mutant(
            "mask of one shape only",
            "shared mask",
            "It needs a mask of the scores' full shape and ignores any that would have to broadcast.",
            (
                (
                    "    if mask is not None:\n        scores =",
                    "    if mask is not None and mask.shape != scores.shape:\n        mask = None\n    if mask is not None:\n        scores =",
                ),
            ),
        ),
        Mutant(
            "-10,000 for minus infinity",
            "very low scores",
            "An open key may score lower than that, and then the closed ones win.",
            (("-torch.inf", "-1e4"),),
        ),
        Mutant(
            "one blind query blinds all",
            "blind query",
            "It looks for NaN anywhere and then zeroes everything.",
            (
                (
                    "weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)",
                    "torch.zeros_like(weights) if weights.isnan().any() else weights",
                ),
            ),
        ),
        Mutant(
            "weights from before the mask",
            "masked weights",
            "The output is right, but the weights that it returns never saw the mask.",
            (
                (
                    "return output, weights",
                    "return output, (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)",
                ),
            ),
        ),
        Mutant(
            "NaN left in the weights",
            "masked weights",
            "The output is mended at the end, but the weights of a blind query are still NaN.",
            (
                ("weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)", "weights"),
                ("weights @ v", "(weights @ v).nan_to_num()"),
            ),
        ),
        Mutant(
            "weights detached",
            "gradients",
            "No gradient flows through the weights, so queries and keys never learn.",
            (("weights @ v", "weights.detach() @ v + 0 * (q.sum() + k.sum())"),),
        ),
    ),
    variants=(
        """\
def attend_mine(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * k.size(-1) ** -0.5
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    scores = torch.where(mask, scores, float("-inf"))
    top = scores.amax(-1, keepdim=True).detach().clamp(min=-1e30)
    powers = torch.exp(scores - top)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("...qk,...kd->...qd", weights, v), weights
""",
        """\
def attend_mine(q, k, v, mask=None):
    lead = q.shape[:-2]
    q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in (q, k, v))
    if mask is not None:
        mask = mask.expand(*lead, q.shape[1], k.shape[1]).reshape(-1, q.shape[1], k.shape[1])
    outputs, rows = [], []
    for sample in range(q.shape[0]):
        for i in range(q.shape[1]):
            scores = (k[sample] * q[sample, i]).sum(-1) / q.shape[-1] ** 0.5
            seen = torch.arange(k.shape[1]) if mask is None else mask[sample, i].nonzero().flatten()
            row = torch.zeros(k.shape[1])
            if len(seen):
                row = row.index_put((seen,), scores[seen].softmax(0))
            rows.append(row)
            outputs.append(row @ v[sample])
    shape = (*lead, q.shape[1])
    return torch.stack(outputs).view(*shape, -1), torch.stack(rows).view(*shape, -1)
""",
        """\
import torch.nn.functional as F

def attend_mine(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None) -> tuple:
    one_hot = torch.eye(k.shape[-2]).expand(*k.shape[:-2], -1, -1)
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, one_hot)
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    return tuple(F.scaled_dot_product_attention(q, k, x, mask).nan_to_num() for x in (v, one_hot))
""",
        """\
import torch.nn.functional as F

def attend_mine(q, k, v, mask=None):
    q, k, v = q.double(), k.double(), v.double()
    print("shapes", q.shape, k.shape, v.shape)
    scores = (q / q.shape[-1] ** 0.5) @ k.mT
    if mask is not None:
        scores[~mask.expand_as(scores)] = -torch.inf
        weights = F.softmax(scores, dim=-1).nan_to_num()
    else:
        weights = F.softmax(scores, dim=-1)
    return weights @ v, weights
""",
    ),
)
