"""Exercises of chapter 00: attention in ten lines."""

from __future__ import annotations

from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

_QKV = ("q", "k", "v")


def _qkv(draw: Draw, *lead: int, queries: int = 5, keys: int = 7, d_k: int = 3, d_v: int = 2) -> tuple:
    return (
        draw.normal(*lead, queries, d_k),
        draw.normal(*lead, keys, d_k),
        draw.normal(*lead, keys, d_v),
    )


EXERCISES = [
    Exercise(
        id="00-weights-by-hand",
        title="Two weights by hand",
        kind="recall",
        prompt="A query scores two keys with 0 and $\\ln 3$. What is the weight of the second key?",
        stub="weight = ...\n",
        solution="weight = 0.75\n",
        variants=(
            "weight = 3 / 4",
            "import math\nweight = math.exp(math.log(3)) / 4",
            "weight = torch.tensor([0.75])",
        ),
        points=(value("the weight", "The weights are exp(0) and exp(ln 3), divided by their sum.", 0.75),),
        hints=(
            "What is $e^{\\ln 3}$?",
            "The two numbers are 1 and 3. They do not sum to one yet.",
            "Divide 3 by 1 + 3.",
        ),
        mutants=(
            Mutant("not normalised", "the weight", "exp() alone is no weight yet.", source="weight = 3.0"),
            Mutant(
                "the other key", "the weight", "That is the weight of the first key.", source="weight = 0.25"
            ),
        ),
        minutes=3,
    ),
]
