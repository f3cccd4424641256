"""Exercise 01-count (recall)."""

from __future__ import annotations

from mha_teach.exercises.cases import varied, word
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value


def _cases() -> list[tuple]:
    widths = (128, 192, 256, 384, 640, 768, 1024)
    return [
        (width, heads, roles)
        for width in widths
        for heads in (4, 8, 16)
        for roles in (4, 5, 6, 8)  # with 2 the share and the confusion are alike; 3 is the book's
        if heads >= roles
    ] + [(width, 16, roles) for width in widths for roles in (10, 12)]


def _count(width: int, heads: int, roles: int) -> Exercise:
    d_k = width // heads
    return Exercise(
        id="01-count",
        kind="recall",
        title="Width and rows",
        minutes=2,
        prompt=f"A layer has $d_{{model}} = {width}$ and $d_k = {width}/h$. Three numbers, no code: how many heads $h$ give the "
        f"**widest** $d_k$; by what factor does the **number of weights** grow from $h=1$ to $h={heads}$; what is the role "
        f"confusion of **one** head that serves **{word(roles)}** roles with {word(roles)} different targets?",
        stub="widest = ...\ngrowth = ...\nconfusion = ...\n",
        solution=f"widest = 1\ngrowth = 1\nconfusion = {roles - 1} / {roles}\n",
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
                1 - 1 / roles,
                atol=0.01,
                part=2,
            ),
        ),
        hints=(
            f"Write $d_k$ for $h = 1$ and for $h = {heads}$.",
            f"$4 \\cdot {width} \\cdot h \\cdot d_k$ with $d_k = {width}/h$: what cancels?",
            f"{word(roles).capitalize()} shares that sum to 1 have the mean 1/{roles}.",
        ),
        mutants=(
            Mutant(
                "the most heads are widest",
                "width",
                f"{word(heads).capitalize()} heads have d_k = {d_k}.",
                (("widest = 1", f"widest = {heads}"),),
            ),
            Mutant(
                "weights grow with heads",
                "weights",
                "The heads share one budget: each gets a narrower matrix.",
                (("growth = 1", f"growth = {heads}"),),
            ),
            Mutant(
                "weights shrink",
                "weights",
                "Every matrix shrinks by h, but there are h of them.",
                (("growth = 1", f"growth = 1 / {heads}"),),
            ),
            Mutant(
                "share instead of confusion",
                "confusion",
                f"1/{roles} is the mean share; confusion is what is missing from 1.",
                ((f"{roles - 1} / {roles}", f"1 / {roles}"),),
            ),
            Mutant(
                "confusion of two roles",
                "confusion",
                "That is the floor for two roles.",
                ((f"{roles - 1} / {roles}", "1 / 2"),),
            ),
            Mutant(
                "one head is never confused",
                "confusion",
                "Zero needs a row for every role.",
                ((f"{roles - 1} / {roles}", "0"),),
            ),
        ),
        variants=(
            f"widest, growth, confusion = 1, 1.0, {round(1 - 1 / roles, 3)}\n",
            f"widest = 1.0\ngrowth = torch.tensor(1.0)\nconfusion = 1 - 1 / {roles}\n",
            (
                f"widest = min(range(1, {heads + 1}))\ngrowth = {heads} * {d_k} / {width}\n"
                f"confusion = torch.tensor([{roles - 1} / {roles}])\n"
            ),
        ),
        why="Width falls with h, the number of weights stays, and one softmax row can't be shared without loss. So what "
        "more heads buy is rows.",
    )


COUNT = varied(_count, (512, 8, 3), _cases)
