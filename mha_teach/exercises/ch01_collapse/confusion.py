"""Exercise 01-confusion (?)."""

from __future__ import annotations

import torch

from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point

_NAMES = ("weights", "targets")


def _number(answer, weights, targets) -> object:
    """The answer as a number, whatever kind of number it is."""
    found = answer(weights, targets)
    single = isinstance(found, (int, float)) or getattr(found, "shape", None) in ((), (1,), (1, 1))
    return torch.tensor(float(found)) if single else found


def _rows(draw: Draw, heads: int, keys: int, targets: list[int]) -> tuple:
    """Rows that look at their targets with more than 2 %, and servers that have the largest share as well.

    Faint rows, and heads that look elsewhere, have points of their own.
    """
    keys_wanted = sorted(set(targets))
    while True:
        weights = draw.normal(heads, keys, dtype=torch.float64).mul(2).softmax(-1)
        total = weights[:, keys_wanted].sum(-1, keepdim=True)
        by_weight, by_share = (w[:, keys_wanted].argmax(0) for w in (weights, weights / total))
        if total.min() > 0.02 and by_weight.equal(by_share):
            return weights, torch.tensor(targets)


def _two_servers(draw: Draw) -> tuple:
    """Three heads of which two serve, one of them the last: shares of one row sum to 1, and would hide what is taken from where."""
    while True:
        weights, targets = _rows(draw, 3, 7, [5, 2])
        servers = set(weights[:, targets].argmax(0).tolist())
        if len(servers) == 2 and 2 in servers:
            return weights, targets


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
        ),
        Point(
            "three heads, two roles",
            "Take, for every role, the head that looks at it most, and only that head.",
            inputs=_two_servers,
            measure=_number,
            arguments=_NAMES,
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
        ),
        Point(
            "two roles, one target",
            "Roles with the same target don't compete: count each different key once.",
            inputs=lambda draw: _rows(draw, 2, 5, [3, 0, 3, 3]),
            measure=_number,
            arguments=_NAMES,
        ),
        Point(
            "faint rows",
            "However little weight a row has on the targets, shares are relative to that little.",
            inputs=lambda draw: (
                torch.tensor([[2e-4, 1e-4, 0.9997], [1e-4, 3e-4, 0.9996]], dtype=torch.float64),
                torch.tensor([0, 1]),
            ),
            measure=_number,
            arguments=_NAMES,
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
            "a single head confuses nothing",
            "one head, two roles",
            "It returns 0 for a single head. That head has to serve all roles, so it confuses them most.",
            (("    on_targets = ", "    if len(weights) == 1:\n        return 0.0\n    on_targets = "),),
        ),
        Mutant(
            "as many heads as roles",
            "three heads, two roles",
            "It looks for servers among the first heads only, as many as there are roles. Any head may serve.",
            (("on_targets.argmax(0) ", "on_targets[: len(targets)].argmax(0) "),),
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
