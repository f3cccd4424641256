"""Exercise 00-by-hand (recall)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

BY_HAND = Exercise(
    id="00-by-hand",
    title="Three weights by hand",
    kind="recall",
    minutes=4,
    prompt="A query scores three keys with $0$, $0$ and $\\ln 2$; the scale is already in. The values are the "
    "plain numbers 8, 0 and 2. Give the three **weights** as a list, and the **output**. Paper is enough.",
    stub="weights = ...\noutput = ...\n",
    solution="weights = [0.25, 0.25, 0.5]\noutput = 3.0\n",
    why="$e^0 = 1$ and $e^{\\ln 2} = 2$, so the powers are 1, 1, 2 and their sum is 4. "
    "The output is $8/4 + 0/4 + 2 \\cdot 2/4 = 3$.",
    points=(
        value("weights", "Raise e to each score, then divide by the sum.", [0.25, 0.25, 0.5], part=0),
        value("output", "The output is the mean of the values, weighted.", 3.0, part=1),
    ),
    hints=(
        "What is e to the power 0, and e to the power ln 2?",
        "The three powers are 1, 1 and 2. They don't sum to one yet.",
        "Divide each power by 4. Then multiply each weight by its value, and add up.",
    ),
    mutants=(
        Mutant(
            "not divided by the sum",
            "weights",
            "Powers alone are no weights: a row must sum to one.",
            source="weights = [1, 1, 2]\noutput = 12\n",
        ),
        Mutant(
            "scores used as weights",
            "weights",
            "The exponential is missing: a score of 0 still gets a weight.",
            source="weights = [0, 0, 1]\noutput = 2\n",
        ),
        Mutant(
            "weights alike",
            "weights",
            "The third key has another score, so it has another weight.",
            source="weights = [1 / 3, 1 / 3, 1 / 3]\noutput = 3.0\n",
        ),
        Mutant(
            "plain mean of the values",
            "output",
            "The values count by their weights, not all alike.",
            (("output = 3.0", "output = 10 / 3"),),
        ),
        Mutant(
            "the value of the heaviest key",
            "output",
            "A soft look-up mixes all values; it does not pick one.",
            (("output = 3.0", "output = 2.0"),),
        ),
    ),
    variants=(
        "weights = [1 / 4, 1 / 4, 2 / 4]\noutput = 8 / 4 + 2 / 2\n",
        (
            "import math\nscores = torch.tensor([0.0, 0.0, math.log(2)])\nweights = scores.softmax(-1)\n"
            "output = weights @ torch.tensor([8.0, 0.0, 2.0])\n"
        ),
        "weights = (0.25, 0.25, 0.5)\noutput = 3\n",
    ),
)
