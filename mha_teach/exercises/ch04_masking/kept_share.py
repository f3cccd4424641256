"""Derive: how much of a row is left, and how it answers to the future."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import expression

RANGES = {"s": (-2.0, 2.0), "f": (-2.0, 2.0)}


KEPT_SHARE = Exercise(
    id="04-kept-share",
    kind="derive",
    title="A message from the future",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="A query has one visible key with score `s` and one masked key with score `f`. The mask stands **after** the "
    "softmax, and nobody renormalises. **(a)** `kept`: the sum of the query's row, as a formula in `s` and `f`. **(b)** "
    "`slope`: the derivative of `kept` with respect to `f`. Both as text with `+ - * / **`, brackets and `exp`, such as `'exp(s) * f'`.",
    stub='kept = ""\nslope = ""\n',
    solution='kept = "exp(s) / (exp(s) + exp(f))"\nslope = "-exp(s) * exp(f) / (exp(s) + exp(f))**2"\n',
    points=(
        expression(
            "kept",
            "The softmax is over both keys; the mask then keeps the visible one. With s = f, one half is left.",
            RANGES,
            part=0,
        ),
        expression(
            "slope",
            "A higher future score takes away from the row: with s = f the slope is −1/4.",
            RANGES,
            part=1,
        ),
    ),
    hints=(
        "Write the softmax of the two scores first; the mask multiplies one weight by 1 and the other by 0.",
        "$\\partial p_i/\\partial s_j = p_i(\\delta_{ij} - p_j)$, here for $i \\ne j$.",
        "`slope` is minus the product of the two weights before the mask.",
    ),
    mutants=(
        Mutant(
            "a full row",
            "kept",
            "The row would sum to 1 only with the mask before the softmax, or renormalised.",
            (('kept = "exp(s) / (exp(s) + exp(f))"', 'kept = "1"'),),
        ),
        Mutant(
            "the masked key's share",
            "kept",
            "That is what the mask takes away; asked is what it leaves.",
            (('kept = "exp(s) / (', 'kept = "exp(f) / ('),),
        ),
        Mutant(
            "not normalised at all",
            "kept",
            "That is the exponential; the softmax still divides by the sum over both keys.",
            (('kept = "exp(s) / (exp(s) + exp(f))"', 'kept = "exp(s)"'),),
        ),
        Mutant(
            "divided by one key",
            "kept",
            "The denominator is the sum over both keys, not the future's exponential alone.",
            (('kept = "exp(s) / (exp(s) + exp(f))"', 'kept = "exp(s) / exp(f)"'),),
        ),
        Mutant(
            "plus",
            "slope",
            "The higher the masked score, the less is left: the slope is negative.",
            (('slope = "-exp(s)', 'slope = "exp(s)'),),
        ),
        Mutant(
            "no slope",
            "slope",
            "The weight of the masked key is 0, but its score is still in the denominator.",
            (('slope = "-exp(s) * exp(f) / (exp(s) + exp(f))**2"', 'slope = "0"'),),
        ),
        Mutant(
            "own slope",
            "slope",
            "That is minus the square of the visible weight: it pairs the key with itself.",
            (("-exp(s) * exp(f)", "-exp(s) * exp(s)"),),
        ),
        Mutant(
            "future twice",
            "slope",
            "The product is of two different weights: the visible one and the masked one.",
            (("-exp(s) * exp(f) / (", "-exp(f) * exp(f) / ("),),
        ),
        Mutant(
            "square forgotten",
            "slope",
            "Each of the two weights brings its own denominator.",
            (("(exp(s) + exp(f))**2", "(exp(s) + exp(f))"),),
        ),
    ),
    variants=(
        'kept = "sigmoid(s - f)"\nslope = "-sigmoid(s - f) * sigmoid(f - s)"\n',
        'kept = "1 - exp(f) / (exp(s) + exp(f))"\nslope = "-exp(s + f) / (exp(s) + exp(f))**2"\n',
        'kept = "1 / (1 + exp(f - s))"\nslope = "-exp(f - s) / (1 + exp(f - s))^2"\n',
        'kept = "exp(s)/(exp(f)+exp(s))"\nslope = "-(exp(s)/(exp(f)+exp(s))) * (exp(f)/(exp(f)+exp(s)))"\n',
        """\
import math

def kept(s, f):
    return math.exp(s) / (math.exp(s) + math.exp(f))

def slope(s, f):
    return -kept(s, f) * (1 - kept(s, f))
""",
    ),
    why="The slope is never 0. So gradient descent can always make the sum of a row say more about the masked key, and in the "
    "chapter's experiment eight heads spell out a symbol that way.",
)
