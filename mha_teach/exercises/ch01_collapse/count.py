"""Exercise 01-count (recall)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

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
