"""Break and fix: a decoder layer with three faults in its mask."""

from __future__ import annotations

import torch

from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, part_of

_STUB = '''\
def causal_attention(x, filler):
    """x (batch, token, d_model); filler (batch, token), True = filler, always at the end."""
    n, d = x.shape[-2:]
    scores = x @ x.transpose(-2, -1) / d**0.5                         # (batch, query, key)
    look = torch.ones(n, n).tril().bool() & filler[:, :, None]
    weights = scores.softmax(-1) * look
    return weights @ x, weights
'''
_AXIS = ("filler[:, :, None]", "filler[:, None, :]")
_SIGN = ("& filler", "& ~filler")
_ORDER = ("scores.softmax(-1) * look", "scores.masked_fill(~look, -torch.inf).softmax(-1)")


def _repaired(*pairs: tuple[str, str]) -> str:
    source = _STUB
    for old, new in pairs:
        source = source.replace(old, new)
    return source


def _inputs(draw: Draw, fillers: tuple[int, ...]) -> tuple:
    x = draw.normal(len(fillers), 5, 3)
    return x, torch.arange(5) >= 5 - torch.tensor(fillers)[:, None]


def _loud(draw: Draw) -> tuple:
    x, filler = _inputs(draw, (0, 0, 2))
    x[1] *= 20 / x[1].norm(dim=-1, keepdim=True)  # no score is above a token's own, and that one is high
    return x, filler


def _weights(answer, *inputs):
    return part_of(answer(*inputs), 1, ("output", "weights"))


def _sums(answer, *inputs):
    weights = _weights(answer, *inputs)
    return weights.sum(-1) if isinstance(weights, torch.Tensor) else weights


def _output(answer, *inputs):
    return part_of(answer(*inputs), 0, ("output", "weights"))


_GIVEN = ("x", "filler")
LEAKY_DECODER = Exercise(
    id="04-leaky-decoder",
    kind="break",
    title="Three faults in one line and the next",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="This layer should let every token see itself and earlier tokens, but no filler. It runs, its shapes are right, and "
    "**three** things about its mask are wrong. Find them with `causal_leak`, `row_sums`, `mask_leak` and your eyes, and repair them. "
    "Every sample begins with a real token, so no row is blind.",
    stub=_STUB,
    solution=_repaired(_AXIS, _SIGN, _ORDER),
    points=(
        Point(
            "rows sum to one",
            "Every row of weights sums to 1.",
            _loud,
            measure=_sums,
            arguments=_GIVEN,
        ),
        Point(
            "no filler: weights",
            "Without filler these are causal weights.",
            lambda draw: _inputs(draw, (0, 0)),
            measure=_weights,
            arguments=_GIVEN,
        ),
        Point(
            "with filler: weights",
            "A query of a sample with filler gives it weight 0.",
            lambda draw: _inputs(draw, (0, 2, 3)),
            measure=_weights,
            arguments=_GIVEN,
        ),
        Point(
            "output",
            "The output is the mean of the rows of x by these weights.",
            lambda draw: _inputs(draw, (0, 2, 3)),
            measure=_output,
            arguments=_GIVEN,
        ),
    ),
    hints=(
        "Print `row_sums(causal_attention(x, filler)[1])` once with a `filler` that is all False, once all True.",
        "`filler` is True where nobody may look, and it is about keys: the last axis of the scores.",
        "`look = ... & ~filler[:, None, :]`, and then −∞ where `~look`, before the softmax.",
    ),
    mutants=(
        Mutant(
            "only the order repaired",
            "rows sum to one",
            "The mask is before the softmax now, but `filler` still says True where nobody may look, and lies along the queries.",
            source=_repaired(_ORDER),
        ),
        Mutant(
            "order and sign repaired",
            "with filler: weights",
            "`~filler[:, :, None]` lies along the queries: filler asks nothing, and the real tokens are not protected.",
            source=_repaired(_ORDER, _SIGN).replace(
                "(~look, -torch.inf)", "(~(look | torch.eye(n).bool()), -torch.inf)"
            ),
        ),
        Mutant(
            "order and axis repaired",
            "rows sum to one",
            "`filler` is True for filler: as it stands, tokens see nothing but filler.",
            source=_repaired(_ORDER, _AXIS),
        ),
        Mutant(
            "sign and axis repaired",
            "rows sum to one",
            "The mask is right, but it comes after the softmax: rows don't sum to 1, and the future leaks through the normaliser.",
            source=_repaired(_SIGN, _AXIS),
        ),
        Mutant(
            "only the sign repaired",
            "rows sum to one",
            "True and False are right now. The mask still lies along the queries, and comes after the softmax.",
            source=_repaired(_SIGN),
        ),
        Mutant(
            "two sets of weights",
            "output",
            "The weights that it returns are right, but the output was made with others.",
            source=_repaired(_AXIS, _SIGN, _ORDER, ("return weights @ x", "return scores.softmax(-1) @ x")),
        ),
        Mutant(
            "ones added",
            "no filler: weights",
            "A 0/1 mask that is added shifts scores and hides nothing.",
            source=_repaired(_SIGN, _AXIS, ("scores.softmax(-1) * look", "(scores + look).softmax(-1)")),
        ),
        Mutant(
            "scores multiplied",
            "no filler: weights",
            "A score of 0 isn't absent: it gets the weight e⁰ over the sum.",
            source=_repaired(_SIGN, _AXIS, ("scores.softmax(-1) * look", "(scores * look).softmax(-1)")),
        ),
        Mutant(
            "filler only, causal lost",
            "no filler: weights",
            "Filler is hidden, but the future isn't any more.",
            source=_repaired(_SIGN, _AXIS, _ORDER).replace(".tril()", ""),
        ),
        Mutant(
            "causal only, filler lost",
            "with filler: weights",
            "The future is hidden, but the filler isn't any more.",
            source=_repaired(_AXIS, _ORDER, ("& filler", "| False & filler")),
        ),
        Mutant(
            "exponentials by hand",
            "rows sum to one",
            "The mask is right. But e to the power of some hundreds is infinite, so rows with high scores come out as NaN.",
            (
                (
                    "weights = scores.masked_fill(~look, -torch.inf).softmax(-1)",
                    "powers = scores.exp() * look\n    weights = powers / powers.sum(-1, keepdim=True)",
                ),
            ),
        ),
        Mutant(
            "a short cut past the mask",
            "no filler: weights",
            "Where nothing is filler it skips the mask, and the causal one goes with it: every token sees the future.",
            (
                (
                    "    look = torch",
                    "    if not filler.any():\n        return scores.softmax(-1) @ x, scores.softmax(-1)\n    look = torch",
                ),
            ),
        ),
        Mutant(
            "other weights handed back",
            "with filler: weights",
            "The output is right, but the weights that it hands back are the causal ones, made without the filler's mask.",
            (
                (
                    "return weights @ x, weights",
                    (
                        "later = torch.ones(n, n).triu(1).bool()\n"
                        "    return weights @ x, scores.masked_fill(later, -torch.inf).softmax(-1)"
                    ),
                ),
            ),
        ),
    ),
    variants=(
        """\
def causal_attention(x, filler):
    n, d = x.shape[-2:]
    look = torch.ones(n, n).tril().bool() & ~filler[:, None, :]
    weights = (x @ x.mT / d**0.5).softmax(-1) * look
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ x, weights
""",
        """\
from mha_teach import masking
from mha_teach.attention import attend

def causal_attention(x, filler):
    lengths = (~filler).sum(-1)
    return attend(x, x, x, mask=masking.combine(masking.causal(x.shape[1]), masking.padding(lengths, x.shape[1])))
""",
        """\
def causal_attention(x, filler):
    n, d = x.shape[-2:]
    added = torch.zeros(len(x), n, n).masked_fill(filler[:, None, :], -torch.inf)
    added = added + torch.full((n, n), -torch.inf).triu(1)
    weights = torch.softmax(torch.einsum("bid,bjd->bij", x, x) / d**0.5 + added, dim=2)
    return torch.matmul(weights, x), weights
""",
    ),
    why="Order, sign and axis: the three things that a mask can get wrong while every shape is right. `row_sums` finds the "
    "order; once that is repaired, `mask_leak` with the mask of one sample finds the other two. Masking after the softmax and renormalising is a right answer too.",
)
