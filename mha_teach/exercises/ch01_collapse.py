"""Exercises of chapter 01: one head is one softmax per position."""

from __future__ import annotations

from functools import partial

import torch

from mha_teach.exercises import formula
from mha_teach.exercises.compare import Misfit, same
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression, gradients, part_of, value

COUNT = Exercise(
    id="01-count",
    kind="recall",
    title="Width and rows",
    minutes=2,
    prompt="A layer has $d_{model} = 512$ and $d_k = 512/h$. Three numbers, no code: how many heads $h$ give the "
    "**widest** $d_k$; by what factor does the **number of weights** grow from $h=1$ to $h=8$; what is the role "
    "confusion of **one** head that serves **three** roles with three different targets?",
    stub="widest = ...\ngrowth = ...\nconfusion = ...\n",
    solution="widest = 1\ngrowth = 1\nconfusion = 2 / 3\n",
    points=(
        value("width", "d_k is d_model divided by h.", 1, part=0),
        value(
            "weights",
            "The matrices become narrower as they become more: count 4 · d_model · h · d_k at both ends.",
            1,
            part=1,
        ),
        value(
            "confusion",
            "One row's shares of its roles sum to 1. Average them over the roles, then take 1 minus that.",
            2 / 3,
            atol=0.01,
            part=2,
        ),
    ),
    hints=(
        "Write $d_k$ for $h = 1$ and for $h = 8$.",
        "$4 \\cdot 512 \\cdot h \\cdot d_k$ with $d_k = 512/h$: what cancels?",
        "Three shares that sum to 1 have the mean 1/3.",
    ),
    mutants=(
        Mutant(
            "eight heads are widest", "width", "Eight heads have d_k = 64.", (("widest = 1", "widest = 8"),)
        ),
        Mutant(
            "weights grow with heads",
            "weights",
            "The heads share one budget: each gets a narrower matrix.",
            (("growth = 1", "growth = 8"),),
        ),
        Mutant(
            "weights shrink",
            "weights",
            "Every matrix shrinks by h, but there are h of them.",
            (("growth = 1", "growth = 1 / 8"),),
        ),
        Mutant(
            "share instead of confusion",
            "confusion",
            "1/3 is the mean share; confusion is what is missing from 1.",
            (("2 / 3", "1 / 3"),),
        ),
        Mutant(
            "confusion of two roles", "confusion", "That is the floor for two roles.", (("2 / 3", "1 / 2"),)
        ),
        Mutant(
            "one head is never confused",
            "confusion",
            "Zero needs a row for every role.",
            (("2 / 3", "0"),),
        ),
    ),
    variants=(
        "widest, growth, confusion = 1, 1.0, 0.667\n",
        "widest = 1.0\ngrowth = torch.tensor(1.0)\nconfusion = 1 - 1 / 3\n",
        "widest = min(range(1, 9))\ngrowth = 8 * 64 / 512\nconfusion = torch.tensor([2 / 3])\n",
    ),
    why="Width falls with h, the number of weights stays, and one softmax row can't be shared without loss. So what "
    "more heads buy is rows.",
)

BAG = Exercise(
    id="01-bag",
    kind="derive",
    title="What the bag is worth",
    minutes=5,
    difficulty=2,
    prompt="Two roles, each filled by one of `values` symbols, drawn independently with equal chance. You are told "
    "**which two symbols** were drawn, but not which role has which. Your score is the expected share of roles that "
    "you name correctly. Give the best possible score as a formula in `values`, as text, such as `'values / 3'`.",
    stub='score = ""\n',
    solution='score = "1/2 + 1/(2*values)"\n',
    points=(
        expression(
            "formula",
            "Sum over two cases: the symbols differ, or they are the same.",
            {"values": (2.0, 64.0)},
            alone=False,
        ),
        Point(
            "two symbols",
            "With two symbols, half of all bags hold the same symbol twice.",
            inputs=lambda draw: (),
            measure=lambda answer: formula.at(answer, {"values": 2.0}),
            reveal=False,
            expected=0.75,
            alone=False,
        ),
        Point(
            "very many symbols",
            "With very many symbols the two are never the same: which of the two you name first is a coin toss.",
            inputs=lambda draw: (),
            measure=lambda answer: formula.at(answer, {"values": 1e12}),
            reveal=False,
            expected=0.5,
            compare=partial(same, atol=1e-6, rtol=0.0),
            alone=False,
        ),
    ),
    hints=(
        "How probable is it that both roles hold the same symbol?",
        "If they are the same, you score 1. If not, any answer made of the bag scores 1/2 on average.",
        "$P \\cdot 1 + (1-P) \\cdot \\frac12$ with $P = 1/\\text{values}$.",
    ),
    mutants=(
        Mutant(
            "coin toss",
            "two symbols",
            "Sometimes both roles hold the same symbol, and then you can't be wrong.",
            (("1/2 + 1/(2*values)", "1/2"),),
        ),
        Mutant(
            "chance without the bag",
            "very many symbols",
            "That ignores the bag: it is the score of a blind guess.",
            (("1/2 + 1/(2*values)", "1/values"),),
        ),
        Mutant(
            "equal pairs counted twice",
            "two symbols",
            "The case of equal symbols takes its probability away from the other case.",
            (("1/(2*values)", "1/values"),),
        ),
        Mutant(
            "equal pairs lose",
            "two symbols",
            "Equal symbols help you: the sign is wrong.",
            (("+ 1/(2*values)", "- 1/(2*values)"),),
        ),
        Mutant(
            "pairs instead of symbols",
            "formula",
            "There are values² ordered pairs, but values of them are equal pairs, so P is 1/values.",
            (("1/(2*values)", "1/(2*values**2)"),),
        ),
        Mutant(
            "symbols drawn without replacement",
            "formula",
            "The draws are independent: the second symbol may repeat the first.",
            (("1/(2*values)", "1/(2*(values-1))"),),
        ),
    ),
    variants=(
        'score = "(values + 1) / (2 * values)"\n',
        'score = "1/values * 1 + (1 - 1/values) * 0.5"\n',
        "def score(values):\n    same = 1 / values\n    return same + (1 - same) / 2\n",
    ),
    why="For 16 symbols this is 17/32 = .531. One softmax row with a linear read-out does no better in the experiment, "
    "though it may get there in two ways: know the bag, or know one role and guess the other.",
)


_NAMES = ("weights", "targets")


def _number(answer, weights, targets) -> object:
    """The answer as a number, whatever kind of number it is."""
    found = answer(weights, targets)
    single = isinstance(found, (int, float)) or getattr(found, "shape", None) in ((), (1,), (1, 1))
    return torch.tensor(float(found)) if single else found


def _rows(draw: Draw, heads: int, keys: int, targets: list[int]) -> tuple:
    return draw.normal(heads, keys, dtype=torch.float64).mul(2).softmax(-1), torch.tensor(targets)


CONFUSION = Exercise(
    id="01-confusion",
    title="Role confusion",
    minutes=12,
    difficulty=2,
    marks=3,
    prompt="Write `role_confusion(weights, targets)` for one query. `weights` is (head, key), one softmax row per "
    "head; `targets` is (role,), the key that each role needs. For every role, take the head with the **largest "
    "weight** on that role's key. Its share is that weight divided by the same row's weight on **all targets**, "
    "each different key counted once. Return 1 minus the mean share; a row with no weight on any target has share 0.",
    stub="def role_confusion(weights, targets):\n    ...\n",
    solution="""\
def role_confusion(weights, targets):
    on_targets = weights[:, targets]                               # (head, role)
    total = weights[:, targets.unique()].sum(-1, keepdim=True)     # (head, 1)
    share = torch.where(total > 0, on_targets / total, 0.0)        # (head, role)
    server = on_targets.argmax(0)                                  # (role,)
    return 1 - share[server, torch.arange(len(targets))].mean()
""",
    points=(
        Point(
            "one head, two roles",
            "One row's shares of two targets sum to 1, so the answer is 1/2.",
            inputs=lambda draw: _rows(draw, 1, 5, [1, 4]),
            measure=_number,
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "three heads, two roles",
            "Take, for every role, the head that looks at it most, and only that head.",
            inputs=lambda draw: _rows(draw, 3, 7, [5, 2]),
            measure=_number,
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "a head that looks elsewhere",
            "A head may have a tiny weight on one target and a tinier one on the other. It isn't the server: choose by "
            "weight, not by share.",
            inputs=lambda draw: (
                torch.tensor([[0.6, 0.3, 0.1], [1e-3, 1e-6, 0.998999]], dtype=torch.float64),
                torch.tensor([0, 1]),
            ),
            measure=_number,
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "two roles, one target",
            "Roles with the same target don't compete: count each different key once.",
            inputs=lambda draw: _rows(draw, 2, 5, [3, 0, 3, 3]),
            measure=_number,
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "faint rows",
            "However little weight a row has on the targets, shares are relative to that little.",
            inputs=lambda draw: (
                torch.tensor([[2e-4, 1e-4, 0.9997]], dtype=torch.float64),
                torch.tensor([0, 1]),
            ),
            measure=_number,
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "an idle head",
            "A head without any weight on the targets changes nothing for the others.",
            inputs=lambda draw: (
                torch.tensor([[0.0, 0.0, 1.0], [0.5, 0.25, 0.25]], dtype=torch.float64),
                torch.tensor([0, 1]),
            ),
            measure=_number,
            arguments=_NAMES,
            alone=False,
        ),
        Point(
            "nobody looks",
            "0/0 must not become NaN: a row without weight on any target serves nobody.",
            inputs=lambda draw: (
                torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], dtype=torch.float64),
                torch.tensor([0, 1]),
            ),
            measure=_number,
            arguments=_NAMES,
            alone=False,
        ),
    ),
    hints=(
        "`weights[:, targets]` is (head, role): start there.",
        "`argmax(0)` of that matrix names the head for each role. `targets.unique()` lists the different keys.",
        "`share = torch.where(total > 0, on_targets / total, 0.0)`; `share[server, torch.arange(len(targets))]`.",
    ),
    mutants=(
        Mutant(
            "the share itself",
            "three heads, two roles",
            "It returns the mean share. Confusion is 1 minus that.",
            (("return 1 - share", "return share"),),
        ),
        Mutant(
            "server chosen by share",
            "a head that looks elsewhere",
            "It picks the head with the largest share, which may hardly look at the target at all.",
            (("on_targets.argmax(0)", "share.argmax(0)"),),
        ),
        Mutant(
            "all heads averaged",
            "three heads, two roles",
            "It averages over heads. A role needs one head that serves it, not all of them.",
            (("share[server, torch.arange(len(targets))].mean()", "share.mean()"),),
        ),
        Mutant(
            "one server for all roles",
            "three heads, two roles",
            "It takes one head for all roles. Each role may have its own.",
            (
                (
                    "on_targets.argmax(0) ",
                    "on_targets.sum(-1).argmax().expand(len(targets)) ",
                ),
            ),
        ),
        Mutant(
            "dilution counted",
            "one head, two roles",
            "It divides by the whole row, so weight on other keys counts too. That is dilution, not confusion.",
            (("weights[:, targets.unique()].sum", "weights.sum"),),
        ),
        Mutant(
            "same target counted twice",
            "two roles, one target",
            "It adds the same key once per role, as if a role could compete with itself.",
            (("weights[:, targets.unique()].sum", "weights[:, targets].sum"),),
        ),
        Mutant(
            "zero divided by zero",
            "nobody looks",
            "A row without weight on any target gives 0/0.",
            (("torch.where(total > 0, on_targets / total, 0.0) ", "on_targets / total "),),
        ),
        Mutant(
            "faint rows dropped",
            "faint rows",
            "It gives up a row with little weight on the targets. Only a row with none has share 0.",
            (("total > 0,", "total > 0.01,"),),
        ),
        Mutant(
            "one idle head idles all",
            "an idle head",
            "It tests once for all heads whether there is a row without weight on any target.",
            (
                (
                    "torch.where(total > 0, on_targets / total, 0.0) ",
                    "torch.where(total.min() > 0, on_targets / total, 0.0) ",
                ),
            ),
        ),
        Mutant(
            "only neighbours counted once",
            "two roles, one target",
            "It drops a repeated key only where the repetition follows at once.",
            (("targets.unique()", "targets.unique_consecutive()"),),
        ),
        Mutant(
            "total over heads",
            "three heads, two roles",
            "It divides by the weight of all heads on the role. The row, not the column, has to be shared.",
            (("weights[:, targets.unique()].sum(-1, keepdim=True) ", "on_targets.sum(0, keepdim=True) "),),
        ),
        Mutant(
            "worst head",
            "three heads, two roles",
            "It takes the head that looks least.",
            (("on_targets.argmax(0)", "on_targets.argmin(0)"),),
        ),
    ),
    variants=(
        """\
def role_confusion(weights, targets):
    keys = sorted(set(targets.tolist()))
    shares = []
    for t in targets.tolist():
        h = max(range(len(weights)), key=lambda h: float(weights[h, t]))
        total = sum(float(weights[h, k]) for k in keys)
        shares.append(float(weights[h, t]) / total if total else 0.0)
    return 1 - sum(shares) / len(shares)
""",
        """\
def role_confusion(weights, targets):
    print("debug", weights.shape)
    wanted = torch.zeros(weights.shape[-1], dtype=torch.bool)
    wanted[targets] = True
    mass, server = weights[:, targets].max(0)
    total = (weights * wanted).sum(-1)[server]
    return torch.tensor(1.0) - torch.nan_to_num(mass / total).mean()
""",
        """\
from mha_teach import collapse

def role_confusion(weights, targets):
    return collapse.role_confusion(weights[:, None], targets[None])
""",
    ),
    why="This is the one-query case of `mha_teach.collapse.role_confusion`. Choosing the server by weight keeps the "
    "floor 1 − min(H, R)/R; choosing by share would let idle heads hide the confusion.",
)


def _mix(draw: Draw, pairs: list[tuple[int, int]], values: int) -> tuple:
    rows = []
    for first, second in pairs:
        share, row = draw.uniform(0.55, 0.9), torch.zeros(values, dtype=torch.float64)
        row[first] += share
        row[second] += 1 - share
        rows.append(row)
    return (torch.stack(rows),)


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
            inputs=lambda draw: _mix(draw, [(4, 1), (0, 6), (3, 2)], 7),
            measure=lambda answer, mixture: _values(answer(mixture), mixture)[..., 0],
            arguments=("mixture",),
            alone=False,
        ),
        Point(
            "role 2",
            "Role 2 has the smaller weight, but more than nothing.",
            inputs=lambda draw: _mix(draw, [(4, 1), (0, 6), (3, 2)], 7),
            measure=lambda answer, mixture: _values(answer(mixture), mixture)[..., 1],
            arguments=("mixture",),
            alone=False,
        ),
        Point(
            "both hold the same value",
            "If both roles hold one value, the whole weight lies on it, and it is the answer to both.",
            inputs=lambda draw: _mix(draw, [(5, 5), (2, 2)], 7),
            measure=lambda answer, mixture: _values(answer(mixture), mixture),
            arguments=("mixture",),
            alone=False,
        ),
        Point(
            "same and different in one batch",
            "Every row is read on its own.",
            inputs=lambda draw: _mix(draw, [(3, 0), (1, 1), (2, 4), (4, 4), (0, 3)], 5),
            measure=lambda answer, mixture: _values(answer(mixture), mixture),
            arguments=("mixture",),
            alone=False,
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


def _values(answer: object, mixture: torch.Tensor) -> object:
    """The answer as a float tensor if it has the right shape, else as it is, so that the message names the shape."""
    if isinstance(answer, torch.Tensor) and answer.shape == (len(mixture), 2):
        return answer.double()
    raise Misfit(
        f"unmix must return a tensor of shape {(len(mixture), 2)}: one row per item, one column per role"
    )


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
            inputs=lambda draw: _layer(draw, 3, 5, 1, 4, 7),
            measure=_part(0),
            arguments=_ARGS,
            alone=False,
        ),
        Point(
            "weights",
            "Scores come from all of `x` and all of `memory`, over √d_k, softmax over the keys.",
            inputs=lambda draw: _layer(draw, 3, 5, 7, 4, 2),
            measure=_part(1),
            arguments=_ARGS,
            alone=False,
        ),
        Point(
            "outputs",
            "Each head mixes its own values with its own weights.",
            inputs=lambda draw: _layer(draw, 3, 5, 7, 4, 2),
            measure=_part(0),
            arguments=_ARGS,
            alone=False,
        ),
        Point(
            "every number is read",
            "Change one number of the input and every head must notice.",
            inputs=lambda draw: _layer(draw, 4, 3, 5, 3, 2),
            measure=lambda answer, *inputs: _noticed(answer, *inputs),
            expected=[True] * 12,
            arguments=_ARGS,
            alone=False,
        ),
        Point(
            "a width that does not divide",
            "Five heads over twelve numbers: nothing needs to divide when nothing is sliced.",
            inputs=lambda draw: _layer(draw, 5, 3, 7, 2, 3),
            measure=_part(0),
            arguments=_ARGS,
            alone=False,
        ),
        Point(
            "two widths",
            "The scale is √d_k: it follows the width of the head's queries. Here d_model is another, too.",
            inputs=lambda draw: _layer(draw, 2, 3, 5, 11, 3, width=17),
            measure=_part(1),
            arguments=_ARGS,
            alone=False,
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
            alone=False,
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
            "It reads twelve numbers of each input, whatever d_model is.",
            (
                ("x @ w_q[h] ", "x[:, :12] @ w_q[h, :12] "),
                ("memory @ w_k[h] ", "memory[:, :12] @ w_k[h, :12] "),
                ("memory @ w_v[h] ", "memory[:, :12] @ w_v[h, :12] "),
            ),
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


def _noticed(answer, x, memory, w_q, w_k, w_v) -> list[bool]:
    """For each of the d_model numbers: do all heads' outputs change when it changes in the memory?"""
    before, noticed = part_of(answer(x, memory, w_q, w_k, w_v), 0, _PAIR), []
    for dim in range(memory.shape[-1]):
        other = memory.clone()
        other[:, dim] += 1.0
        change = (answer(x, other, w_q, w_k, w_v)[0] - before).abs().amax((-1, -2))
        noticed.append(bool((change > 1e-9).all()))
    return noticed


EXPLORE = Exercise(
    id="01-explore",
    kind="explore",
    title="Your own counter-case",
    minutes=20,
    difficulty=3,
    marks=0,
    prompt="Find a setting in which **more** heads do worse, and one in which **one** head is enough although there are "
    "two roles. Write down your guess first, then run `sweep` with three or more seeds, and keep the spread. A start: "
    '`sweep(TwoNoisyLookups(noise=1.5), [{"num_heads": h} for h in (1, 2)], seeds=3, steps=400)`. Ideas: '
    "other noise, fewer items, one role, a wider `d_k`, an MLP, a second layer.",
    stub='notes = ""\n',
    solution='notes = "One role favours one head; a second layer or an MLP lets one head serve two roles."\n',
    hints=(
        "What does each role cost: a row, or width?",
        "Take the two noisy look-ups and change one thing: `mlp`, `layers`, `d_k`.",
        "A difference smaller than the spread over seeds is not a difference.",
    ),
    why="Every such finding tells which condition a sentence like 'one head collapses' needs.",
)

EXERCISES = (COUNT, BAG, CONFUSION, UNMIX, SLICES, EXPLORE)
