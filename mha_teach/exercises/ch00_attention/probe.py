"""Exercise 00-probe (code)."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises.compare import same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point


def _good(draw: Draw, blind: bool = False) -> tuple:
    mask = draw.mask(3, 5, share=0.6)
    mask[1] = torch.tensor([True, False, True, True, False])  # a row that is sure to have closed keys
    weights = draw.normal(3, 5).masked_fill(~mask, -torch.inf).softmax(-1)
    if blind:
        mask[2], weights[2] = False, 0.0
    return weights, mask


def _spoiled(change) -> object:
    """Sound weights and spoiled ones, so that who finds fault with everything finds nothing."""

    def inputs(draw: Draw) -> tuple:
        weights, mask = _good(draw, blind=True)
        change(weights)
        return *_good(draw), weights, mask

    return inputs


def _on_both(answer, sound, mask, weights, other):
    return answer(sound, mask), answer(weights, other)


_BOTH = partial(same, parts=("the verdict on sound weights", "the verdict on these"))


def _wrong_sums(draw: Draw) -> tuple:
    weights, mask = _good(draw, blind=True)
    stretch = torch.tensor([[1.5, 1.0, 1.0], [1.0, 0.5, 1.0], [1.5, 0.5, 1.0]])
    columns = draw.normal(3, 5).softmax(0)
    return (
        *(weights * factor[:, None] for factor in stretch),
        mask,
        columns,
        torch.ones(3, 5, dtype=torch.bool),
        *_good(draw),
    )


def _on_sums(answer, long, short, both, mask, columns, all_open, sound, own):
    given = ((long, mask), (short, mask), (both, mask), (columns, all_open), (sound, own))
    return tuple(answer(*pair) for pair in given)


def _rounded(draw: Draw) -> tuple:
    weights, mask = _good(draw)
    leak, sign = weights.clone(), weights.clone()
    leak[1] = torch.tensor([0.25, 5e-5, 0.25, 0.5, 0.0])
    sign[1] = torch.tensor([0.5, 0.0, -5e-5, 0.5, 0.0])
    return weights * 1.00005, leak, sign, weights * 1.5, mask


def _small_faults(draw: Draw) -> tuple:
    weights, mask = _good(draw)
    leak, sign = weights.clone(), weights.clone()
    leak[1] = torch.tensor([0.3, 0.01, 0.3, 0.39, 0.0])
    sign[1] = torch.tensor([-0.01, 0.0, 0.5, 0.51, 0.0])
    return weights * 1.01, leak, sign, weights, mask


def _on_each(answer, *given):
    *several, mask = given
    return tuple(answer(weights, mask) for weights in several)


def _idle(weights):
    weights[0] = 0.0


def _closed_gets_weight(weights):
    weights[1] = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0])


def _negative(weights):
    weights[1] = torch.tensor([1.5, 0.0, -1.0, 0.5, 0.0])


def _blind_looks(weights):
    weights[2] = 0.2


PROBE = Exercise(
    id="00-probe",
    title="A probe for weights",
    kind="code",
    minutes=10,
    difficulty=2,
    marks=3,
    prompt="Write the probe that finds the faults of this chapter in anyone's weights. `sound(weights, mask)` takes weights "
    "`(query, key)` and a boolean mask of that shape, and returns True exactly if no weight is negative, closed keys "
    "get 0, and each row sums to one, or to zero where the query may look at nothing. Allow rounding of `1e-4`.",
    stub="def sound(weights, mask):\n    ...\n",
    solution="""\
def sound(weights, mask):
    wanted = mask.any(-1).to(weights.dtype)
    rows = torch.allclose(weights.sum(-1), wanted, atol=1e-4)
    closed = (weights[~mask].abs() < 1e-4).all()
    return bool(rows and closed and (weights > -1e-4).all())
""",
    why="Three questions, and each catches what the others let through: row sums find the wrong axis and the blind row, "
    "closed cells find the mask, and signs find weights that never saw a softmax.",
    points=(
        Point("sound weights", "These weights are sound, with one blind row.", lambda d: _good(d, True)),
        Point(
            "row sum",
            "Each row has to sum to one by itself: not 1.5, not 0.5, and not the columns instead.",
            _wrong_sums,
            _on_sums,
            compare=partial(
                same,
                parts=(
                    "the verdict on a row of 1.5",
                    "the verdict on a row of 0.5",
                    "the verdict on one row of each",
                    "the verdict on columns of 1",
                    "the verdict on sound weights",
                ),
            ),
        ),
        *(
            Point(name, message, _spoiled(change), _on_both, compare=_BOTH)
            for name, message, change in (
                ("idle query", "A query that may look somewhere has no weights at all here.", _idle),
                ("closed keys", "A closed key has a weight here.", _closed_gets_weight),
                ("signs", "A weight is negative here, though the row sums to one.", _negative),
                ("blind row", "A query that may look at nothing has weights here.", _blind_looks),
            )
        ),
        Point(
            "rounding",
            "These weights are off by less than 1e-4 everywhere, so they are still sound.",
            _rounded,
            _on_each,
            compare=partial(
                same,
                parts=(
                    "the verdict on rows of 1.00005",
                    "the verdict on a closed key with 0.00005",
                    "the verdict on a weight of -0.00005",
                    "the verdict on rows of 1.5",
                ),
            ),
        ),
        Point(
            "small faults",
            "A fault of 0.01 is more than rounding.",
            _small_faults,
            _on_each,
            compare=partial(
                same,
                parts=(
                    "the verdict on rows of 1.01",
                    "the verdict on a closed key with 0.01",
                    "the verdict on a weight of -0.01",
                    "the verdict on sound weights",
                ),
            ),
        ),
    ),
    hints=(
        "Three questions, one line each. Which of them can you answer with `weights.sum(-1)`?",
        "`mask.any(-1)` tells which rows should sum to one. `weights[~mask]` are the weights of closed keys.",
        "`torch.allclose(weights.sum(-1), mask.any(-1).float(), atol=1e-4)`, and two more conditions.",
    ),
    mutants=(
        Mutant(
            "columns summed",
            "sound weights",
            "It sums over the queries.",
            (("weights.sum(-1)", "weights.sum(0)"), ("mask.any(-1)", "mask.any(0)")),
        ),
        Mutant(
            "every row must sum to one",
            "sound weights",
            "A blind row sums to zero, and rightly so.",
            (("mask.any(-1).to(weights.dtype)", "torch.ones(len(mask))"),),
        ),
        Mutant(
            "row sums not looked at",
            "row sum",
            "It never sums a row.",
            (("bool(rows and closed", "bool(closed"),),
        ),
        Mutant(
            "closed keys not looked at",
            "closed keys",
            "It never looks at the mask cell by cell.",
            (("rows and closed", "rows"),),
        ),
        Mutant(
            "signs not looked at",
            "signs",
            "It never looks for negative weights.",
            ((" and (weights > -1e-4).all()", ""),),
        ),
        Mutant(
            "compared with itself masked",
            "closed keys",
            "It compares with the open weights divided by their sum. Where closed keys hold all the weight that is 0/0, and no "
            "comparison with NaN finds a difference.",
            (
                (
                    "closed = (weights[~mask].abs() < 1e-4).all()",
                    "kept = weights * mask\n    closed = not ((weights - kept / kept.sum(-1, keepdim=True)).abs() > 1e-4).any()",
                ),
            ),
        ),
        Mutant(
            "signs in the lower triangle",
            "signs",
            "It looks for negative weights on and below the diagonal alone, as if every mask were causal.",
            (("(weights > -1e-4)", "(weights.tril() > -1e-4)"),),
        ),
        Mutant(
            "blind rows skipped",
            "blind row",
            "It takes blind rows out before it looks, so such a row may hold any weights.",
            (
                (
                    "    wanted =",
                    "    weights, mask = weights[mask.any(-1)], mask[mask.any(-1)]\n    wanted =",
                ),
            ),
        ),
        Mutant(
            "always True",
            "row sum",
            "It finds every matrix sound.",
            source="def sound(weights, mask):\n    return True\n",
        ),
        Mutant(
            "always False",
            "sound weights",
            "It finds no matrix sound.",
            source="def sound(weights, mask):\n    return False\n",
        ),
        Mutant(
            "only long rows noticed",
            "row sum",
            "A row may also sum to too little: take the absolute difference.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(weights.sum(-1) - wanted).max() < 1e-4",
                ),
            ),
        ),
        Mutant(
            "only the first row summed",
            "row sum",
            "The first row may be right while another is not.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(weights[0].sum() - wanted[0]).abs() < 1e-4",
                ),
            ),
        ),
        Mutant(
            "rows added together",
            "row sum",
            "It compares the sum over everything, where one row can make up for another.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(weights.sum() - wanted.sum()).abs() < 1e-4",
                ),
            ),
        ),
        Mutant(
            "zero always allowed",
            "idle query",
            "A row of zeros is right only where the query may look at nothing.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "(((weights.sum(-1) - wanted).abs() < 1e-4) | (weights.sum(-1).abs() < 1e-4)).all()",
                ),
            ),
        ),
        Mutant(
            "closed keys exactly zero",
            "rounding",
            "Closed keys, too, are allowed to be off by rounding.",
            (("(weights[~mask].abs() < 1e-4).all()", "(weights[~mask] == 0).all()"),),
        ),
        Mutant(
            "signs without rounding",
            "rounding",
            "A weight of -1e-5 is rounding, not a fault.",
            (("weights > -1e-4", "weights >= 0"),),
        ),
        Mutant(
            "too much allowed",
            "small faults",
            "It allows a tenth, and the prompt allows 1e-4.",
            (
                ("wanted, atol=1e-4", "wanted, atol=0.1"),
                ("abs() < 1e-4", "abs() < 0.1"),
                ("weights > -1e-4", "weights > -0.1"),
            ),
        ),
        Mutant(
            "no rounding allowed",
            "rounding",
            "It compares for exact equality.",
            (
                (
                    "torch.allclose(weights.sum(-1), wanted, atol=1e-4)",
                    "torch.equal(weights.sum(-1).round(decimals=6), wanted)",
                ),
            ),
        ),
    ),
    variants=(
        """\
def sound(weights, mask):
    for row, open_ in zip(weights.tolist(), mask.tolist()):
        total = 1.0 if any(open_) else 0.0
        if abs(sum(row) - total) > 1e-4 or min(row) < -1e-4:
            return False
        if any(abs(w) > 1e-4 for w, may in zip(row, open_) if not may):
            return False
    return True
""",
        """\
def sound(weights, mask):
    off = (weights.sum(-1) - mask.any(-1).double()).abs().max()
    leak = weights.masked_fill(mask, 0.0).abs().max()
    return off < 1e-4 and leak < 1e-4 and weights.min() > -1e-4
""",
        """\
def sound(weights, mask):
    bad = (weights.sum(-1) - mask.any(-1).float()).abs() > 1e-4
    bad |= ((~mask) & (weights.abs() > 1e-4)).any(-1)
    bad |= (weights < -1e-4).any(-1)
    return not bad.any()
""",
    ),
)
