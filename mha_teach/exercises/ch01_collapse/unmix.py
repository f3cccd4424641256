"""Exercise 01-unmix (?)."""

from __future__ import annotations

import torch

from mha_teach.exercises.compare import Misfit
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point


def _mix(
    draw: Draw, pairs: list[tuple[int, int]], values: int, low: float = 0.65, high: float = 0.75
) -> tuple:
    """Rows in which role 1 has a share from ``low`` to ``high``: the narrowest and the widest have points of their own."""
    rows = []
    for first, second in pairs:
        share, row = draw.uniform(low, high), torch.zeros(values, dtype=torch.float64)
        row[first] += share
        row[second] += 1 - share
        rows.append(row)
    return (torch.stack(rows),)


def _values(answer: object, mixture: torch.Tensor) -> object:
    """The answer as a float tensor if it has the right shape, else as it is, so that the message names the shape."""
    if isinstance(answer, torch.Tensor) and answer.shape == (len(mixture), 2):
        return answer.double()
    raise Misfit(
        f"unmix must return a tensor of shape {(len(mixture), 2)}: one row per item, one column per role"
    )


UNMIX = Exercise(
    id="01-unmix",
    title="Reading a mixture",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="A single softmax row gave role 1 a weight between .55 and .9 and role 2 the rest. The values are one-hot, so "
    "each output row is a mixture such as `[0, .7, 0, .3]`. Write `unmix(mixture)`, (item, value) → (item, 2): which "
    "value does role 1 hold, and which role 2? The two may hold the same value. No linear map can do this for three "
    "or more values; you may use anything.",
    stub="def unmix(mixture):\n    ...\n",
    solution="""\
def unmix(mixture):
    weight, value = mixture.topk(2)                                     # (item, 2)
    alone = weight[:, 1] < 1e-6                                         # both roles hold one value
    second = torch.where(alone, value[:, 0], value[:, 1])
    return torch.stack([value[:, 0], second], -1)
""",
    points=(
        Point(
            "role 1",
            "Role 1 has the larger weight.",
            inputs=lambda draw: _mix(draw, [(4, 1), (0, 6), (3, 2)], 7, 0.55, 0.58),
            measure=lambda answer, mixture: _values(answer(mixture), mixture)[..., 0],
            arguments=("mixture",),
        ),
        Point(
            "role 2",
            "Role 2 has the smaller weight, but more than nothing.",
            inputs=lambda draw: _mix(draw, [(4, 1), (0, 6), (3, 2)], 7, 0.85, 0.9),
            measure=lambda answer, mixture: _values(answer(mixture), mixture)[..., 1],
            arguments=("mixture",),
        ),
        Point(
            "both hold the same value",
            "If both roles hold one value, the whole weight lies on it, and it is the answer to both.",
            inputs=lambda draw: _mix(draw, [(5, 5), (2, 2)], 7),
            measure=lambda answer, mixture: _values(answer(mixture), mixture),
            arguments=("mixture",),
        ),
        Point(
            "same and different in one batch",
            "Every row is read on its own.",
            inputs=lambda draw: _mix(draw, [(3, 0), (1, 1), (2, 4), (4, 4), (0, 3)], 5),
            measure=lambda answer, mixture: _values(answer(mixture), mixture),
            arguments=("mixture",),
        ),
    ),
    hints=(
        "Sort each row: what stands first, what second?",
        "`weight, value = mixture.topk(2)`: the places in a row are the values. When is the second weight zero?",
        "Role 2 holds `torch.where(weight[:, 1] < 1e-6, value[:, 0], value[:, 1])`; stack it beside role 1.",
    ),
    mutants=(
        Mutant(
            "argmax twice",
            "role 2",
            "It names the value with the largest weight for both roles, as a linear read-out would.",
            (("second = torch.where(alone, value[:, 0], value[:, 1])", "second = value[:, 0]"),),
        ),
        Mutant(
            "equal values overlooked",
            "both hold the same value",
            "If both roles hold one value there is no second entry: topk then names a value of weight 0.",
            (("torch.where(alone, value[:, 0], value[:, 1])", "value[:, 1]"),),
        ),
        Mutant(
            "smallest entry",
            "role 2",
            "argmin finds a value with weight 0, that is, one that neither role holds.",
            (("torch.where(alone, value[:, 0], value[:, 1])", "mixture.argmin(-1)"),),
        ),
        Mutant(
            "role 1 above .6",
            "role 1",
            "It takes the first value with more than .6 for role 1. A weight of .55 is the larger one, too.",
            (("torch.stack([value[:, 0],", "torch.stack([(mixture > 0.6).long().argmax(-1),"),),
        ),
        Mutant(
            "little taken for nothing",
            "role 2",
            "It takes a second weight below .2 for none. Role 2 may have as little as .1.",
            (("weight[:, 1] < 1e-6 ", "weight[:, 1] < 0.2 "),),
        ),
        Mutant(
            "as many values as the fullest row",
            "both hold the same value",
            "It asks for as many values as the fullest row of the batch holds. If none holds two, there is no second one to read.",
            (("mixture.topk(2) ", "mixture.topk(int((mixture > 0).sum(-1).max())) "),),
        ),
        Mutant(
            "roles swapped",
            "role 1",
            "The columns are swapped: role 1 has the larger weight.",
            (("torch.stack([value[:, 0], second], -1)", "torch.stack([second, value[:, 0]], -1)"),),
        ),
        Mutant(
            "order of symbols",
            "role 1",
            "It lists the two values in the order of their numbers, and so it knows only the bag.",
            (
                (
                    "torch.stack([value[:, 0], second], -1)",
                    "torch.stack([value[:, 0], second], -1).sort(-1).values",
                ),
            ),
        ),
        Mutant(
            "one verdict for the batch",
            "same and different in one batch",
            "It decides once for the whole batch whether the roles hold the same value.",
            (("weight[:, 1] < 1e-6 ", "(weight[:, 1] < 1e-6).any() "),),
        ),
        Mutant(
            "equal values always",
            "same and different in one batch",
            "Only the first row is tested, and the others follow it.",
            (("weight[:, 1] < 1e-6 ", "weight[:1, 1] < 1e-6 "),),
        ),
    ),
    variants=(
        """\
def unmix(mixture):
    found = []
    for row in mixture:
        held = [i for i in range(len(row)) if row[i] > 0.01]
        held.sort(key=lambda i: -row[i])
        found.append([held[0], held[-1]])
    return torch.tensor(found)
""",
        """\
def unmix(mixture):
    first = mixture.argmax(-1)
    rest = mixture - torch.nn.functional.one_hot(first, mixture.shape[-1]) * mixture.amax(-1, keepdim=True)
    second = torch.where(rest.amax(-1) > 0, rest.argmax(-1), first)
    return torch.stack([first, second], 1).double()
""",
        """\
def unmix(mixture):
    order = mixture.argsort(-1, descending=True)[:, :2]
    second_weight = mixture.gather(-1, order[:, 1:])
    return torch.cat([order[:, :1], torch.where(second_weight > 1e-3, order[:, 1:], order[:, :1])], -1)
""",
    ),
    why="A row may mark the roles by unequal weights, and a nonlinear reader can use that mark. So the wall is one "
    "softmax row *and* a linear reader. An MLP after the head gets some of it back in the experiment.",
)
