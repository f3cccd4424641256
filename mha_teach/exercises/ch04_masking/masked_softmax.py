"""Code: a softmax under a mask that survives blind rows, half precision and large scores."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, gradients

_SOLUTION = """\
def masked_softmax(scores, mask):
    blind = ~mask.any(-1, keepdim=True)                               # rows that may look at nothing
    weights = scores.masked_fill(~mask & ~blind, -torch.inf).softmax(-1)
    return weights.masked_fill(blind, 0.0)
"""
_ARGUMENTS = ("scores", "mask")


def _plain(draw: Draw) -> tuple:
    return draw.normal(2, 3, 5, 7), draw.mask(2, 3, 5, 7)


def _late(draw: Draw) -> tuple:
    scores, mask = _plain(draw)
    return scores, mask.flip(-1)  # the last key is open in every row, the first is not


def _shared(draw: Draw) -> tuple:
    return draw.normal(2, 3, 5, 7), draw.mask(2, 1, 5, 7)


def _blind(draw: Draw) -> tuple:
    scores, mask = _plain(draw)
    mask[1, 2, 3] = False
    return scores.double(), mask


def _half(draw: Draw) -> tuple:
    scores, mask = _plain(draw)
    return (4 * scores).half(), mask


def _large(draw: Draw) -> tuple:
    scores, mask = _plain(draw)
    scores = (500 * scores.abs()).masked_fill(~mask, 0.0)
    scores[1] -= 2.0**17  # no fixed number is the lowest
    return scores, mask


def _gap(draw: Draw) -> tuple:
    scores, mask = _plain(draw)
    return scores.masked_fill(~mask, 1000.0), mask


def _slopes(answer, scores, mask):
    scores.requires_grad_()
    return gradients(answer(scores, mask), [scores])


MASKED_SOFTMAX = Exercise(
    id="04-masked-softmax",
    title="A softmax that survives",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="Write `masked_softmax(scores, mask)`: the softmax of `scores` (..., query, key) over the keys that `mask` allows. "
    "`mask` holds booleans, True = may look, and broadcasts to the scores. Masked keys get exactly 0. A row that may look at "
    "nothing gets zeros, in the weights and in the gradient. The result has the dtype of the scores, in half precision too.",
    stub="def masked_softmax(scores, mask):\n    ...\n",
    solution=_SOLUTION,
    points=(
        Point("visible keys", "The softmax runs over the visible keys only.", _late, arguments=_ARGUMENTS),
        Point(
            "one mask for all heads",
            "An axis of size 1 in the mask is repeated.",
            _shared,
            arguments=_ARGUMENTS,
        ),
        Point("a blind row", "A row without visible keys gets zeros.", _blind, arguments=_ARGUMENTS),
        Point(
            "the gradient of a blind row",
            "No NaN may flow back, and nothing at all from a blind row.",
            _blind,
            measure=_slopes,
            compare=partial(same, parts=("the gradient",)),
            arguments=_ARGUMENTS,
        ),
        Point(
            "half precision",
            "Half in, half out, and no number outside its range.",
            _half,
            compare=partial(same, dtype=True, atol=5e-3),
            arguments=_ARGUMENTS,
        ),
        Point(
            "large scores",
            "Scores may be far above 0 and far below it: nothing overflows, and no fixed number is lower than all.",
            _large,
            compare=partial(same, atol=1e-2),
            arguments=_ARGUMENTS,
        ),
        Point(
            "a loud masked key",
            "Masked scores far above the visible ones must not drown them.",
            _gap,
            arguments=_ARGUMENTS,
        ),
    ),
    hints=(
        "`scores.masked_fill(~mask, -torch.inf).softmax(-1)` is right wherever some key is visible.",
        (
            "A blind row is 0/0: NaN. If you wipe it afterwards, it still flows back wherever −∞ was *added* to the scores; "
            "`masked_fill` stops it. Or open blind rows *before* the softmax, and no NaN arises."
        ),
        "With `blind = ~mask.any(-1, keepdim=True)`: fill where `~mask & ~blind`, and zero the blind rows afterwards.",
    ),
    mutants=(
        Mutant(
            "masked after",
            "visible keys",
            "The mask comes after the softmax: rows no longer sum to 1, and the rest leaks what is masked.",
            source="def masked_softmax(scores, mask):\n    return scores.softmax(-1) * mask\n",
        ),
        Mutant(
            "after, renormalised",
            "a loud masked key",
            "After and renormalised is right on paper, but where the masked scores are far above, all visible weights are 0 and "
            "it divides 0 by 0.",
            source="""\
def masked_softmax(scores, mask):
    weights = scores.double().softmax(-1) * mask
    total = weights.sum(-1, keepdim=True)
    weights = weights / total.masked_fill(total == 0, 1.0)
    return weights.to(scores.dtype)
""",
        ),
        Mutant(
            "blind rows are NaN",
            "a blind row",
            "−∞ everywhere is 0/0: NaN.",
            source="def masked_softmax(scores, mask):\n    return scores.masked_fill(~mask, -torch.inf).softmax(-1)\n",
        ),
        Mutant(
            "NaN swept up afterwards",
            "the gradient of a blind row",
            "The weights look right, but the backward pass still goes through the NaN to the scores that −∞ was added to.",
            source="def masked_softmax(scores, mask):\n    hidden = scores + torch.where(mask, 0.0, -torch.inf)\n"
            "    return hidden.softmax(-1).nan_to_num(0.0).to(scores.dtype)\n",
        ),
        Mutant(
            "a finite number",
            "a blind row",
            "With a finite number a blind row is uniform: it looks at everything that it must not.",
            source="def masked_softmax(scores, mask):\n    return scores.masked_fill(~mask, -6e4).softmax(-1)\n",
        ),
        Mutant(
            "minus a billion",
            "half precision",
            "So low a number doesn't exist in half precision.",
            (("-torch.inf", "-1e9"),),
        ),
        Mutant(
            "always float32",
            "half precision",
            "The result has another dtype than the scores.",
            (
                (
                    ".softmax(-1)",
                    ".float().softmax(-1).to(torch.float64 if scores.dtype == torch.float64 else torch.float32)",
                ),
            ),
        ),
        Mutant(
            "exponentials by hand",
            "large scores",
            "e to the power of some hundreds is infinite. Subtract the largest visible score first.",
            source="def masked_softmax(scores, mask):\n    powers = torch.where(mask, scores.double().exp(), 0.0)\n"
            "    return (powers / powers.sum(-1, keepdim=True)).nan_to_num(0.0).to(scores.dtype)\n",
        ),
        Mutant(
            "minus ten thousand",
            "large scores",
            "A fixed number is not the lowest: where visible scores lie below it, the masked keys win and all is wiped.",
            source="def masked_softmax(scores, mask):\n    return scores.masked_fill(~mask, -1e4).softmax(-1) * mask\n",
        ),
        Mutant(
            "detached",
            "the gradient of a blind row",
            "The weights are right, but no gradient flows back to the scores.",
            (("scores.masked_fill", "scores.detach().masked_fill"),),
        ),
        Mutant(
            "blind rows uniform",
            "a blind row",
            "The blind rows are opened before the softmax, and stay open: they look at everything.",
            (("weights.masked_fill(blind, 0.0)", "weights"),),
        ),
        Mutant(
            "shapes must be equal",
            "one mask for all heads",
            "The mask may have axes of size 1; it has to broadcast.",
            (("    blind", "    mask = mask.view(scores.shape)\n    blind"),),
        ),
        Mutant(
            "multiplied",
            "visible keys",
            "A score of 0 is not absent: its weight is e⁰ over the sum.",
            (("scores.masked_fill(~mask & ~blind, -torch.inf)", "(scores * mask)"),),
        ),
        Mutant("upside down", "visible keys", "It hides what may be seen.", (("~mask & ~", "mask & ~"),)),
        Mutant(
            "over the queries",
            "visible keys",
            "The softmax runs over the queries: columns sum to 1.",
            ((".softmax(-1)", ".softmax(-2)"),),
        ),
        Mutant(
            "blind by its first key",
            "visible keys",
            "It takes a row for blind where its first key is closed. A row is blind only where all its keys are.",
            (("~mask.any(-1, keepdim=True)", "~mask[..., :1]"),),
        ),
    ),
    variants=(
        "def masked_softmax(scores, mask):\n    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)\n",
        "def masked_softmax(scores, mask):\n    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask\n",
        """\
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    total = hidden.logsumexp(-1, keepdim=True).masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return (hidden - total).exp()
""",
        """\
def masked_softmax(scores, mask):
    top = scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True).detach()
    top = top.masked_fill(top == -torch.inf, 0.0)
    powers = (scores - top).masked_fill(~mask, -torch.inf).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-3)
""",
        """\
from mha_teach.attention import attend

def masked_softmax(scores, mask):
    eye = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(*scores.shape[:-2], -1, -1)
    return attend(scores, eye, eye, mask=mask, scale=1.0)[1]
""",
    ),
    why="−∞ with the blind rows opened before the softmax is exact, has no NaN to flow back, and works in every dtype.",
)
