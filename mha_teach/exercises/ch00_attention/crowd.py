"""Exercise 00-crowd (derive)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import expression

RANGES = {"s": (0.5, 6.0), "n": (3.0, 60.0)}


CROWD = Exercise(
    id="00-crowd",
    title="One among many",
    kind="derive",
    minutes=6,
    difficulty=2,
    marks=2,
    prompt="One key scores $s$ higher than the $n-1$ others, which all score the same. Give two formulas as text "
    "(`+ - * / **`, `exp`, `log`): its **weight** in terms of `s` and `n`, and the **lead** $s$ at which that "
    "weight is one half, in terms of `n`.",
    stub="weight = ...\nlead = ...\n",
    solution='weight = "exp(s) / (exp(s) + n - 1)"\nlead = "log(n - 1)"\n',
    why="A softmax ignores what is added to all scores, so let the others score 0. Their powers sum to $n-1$. "
    "One half means that $e^s$ equals that sum. The lead that is needed grows with the logarithm of the crowd.",
    points=(
        expression("weight", "The weight is one power divided by the sum of all n powers.", RANGES, part=0),
        expression(
            "lead", "At this lead the one power equals the sum of the others.", {"n": (3.0, 60.0)}, part=1
        ),
    ),
    hints=(
        "Adding one number to all scores changes no weight. Which score of the others is the most convenient?",
        "Let the others score 0. What do their powers sum to?",
        "The weight is exp(s) divided by exp(s) plus n - 1. Set that to 1/2 and solve for s.",
    ),
    mutants=(
        Mutant(
            "itself counted twice",
            "weight",
            "There are n - 1 others, not n.",
            source='weight = "exp(s) / (exp(s) + n)"\nlead = "log(n - 1)"\n',
        ),
        Mutant(
            "one rival only",
            "weight",
            "That is the weight against a single other key.",
            source='weight = "1 / (1 + exp(-s))"\nlead = "log(n - 1)"\n',
        ),
        Mutant(
            "no exponential",
            "weight",
            "A softmax raises e to the scores before it divides.",
            source='weight = "s / (s + n - 1)"\nlead = "n - 1"\n',
        ),
        Mutant(
            "lead grows like the crowd",
            "lead",
            "Take the logarithm: powers are compared, not scores.",
            source='weight = "exp(s) / (exp(s) + n - 1)"\nlead = "n - 1"\n',
        ),
        Mutant(
            "lead for a crowd of n others",
            "lead",
            "The key itself is one of the n.",
            source='weight = "exp(s) / (exp(s) + n - 1)"\nlead = "log(n)"\n',
        ),
    ),
    variants=(
        'weight = "1 / (1 + (n - 1) * exp(-s))"\nlead = "-log(1 / (n - 1))"\n',
        (
            "import math\n\ndef weight(s, n):\n    return math.exp(s) / (math.exp(s) + n - 1)\n\n"
            "def lead(n):\n    return math.log(n - 1)\n"
        ),
        'weight = "exp(s)/(n-1+exp(s))"\nlead = "2*log((n-1)^0.5)"\n',
    ),
)
