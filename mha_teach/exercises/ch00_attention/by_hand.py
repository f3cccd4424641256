"""Exercise 00-by-hand (recall)."""

from __future__ import annotations

from itertools import permutations

from mha_teach.exercises.cases import apart, listed, varied
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value


def _output(place: int, power: int, values: tuple[int, ...]) -> float:
    return (sum(values) + (power - 1) * values[place]) / (power + 2)


def _cases() -> list[tuple]:
    return [
        (place, power, values)
        for place in range(3)
        for power in (2, 3, 6, 8)  # tenths, eighths, fifths and quarters are easy on paper
        for values in permutations(range(10), 3)
        if (output := _output(place, power, values)).is_integer()
        and (place, power, output) != (2, 2, 3)  # the book's answers
        and apart(output, sum(values) / 3, values[place], output * (power + 2), 0)
    ]


def _by_hand(place: int, power: int, values: tuple[int, int, int]) -> Exercise:
    """The key at ``place`` scores ln ``power``, the two others 0."""
    total = power + 2  # the two others have the power 1
    scores = ["$0$"] * 3
    scores[place] = f"$\\ln {power}$"
    powers = [power if key == place else 1 for key in range(3)]
    weights = [one / total for one in powers]
    output = _output(place, power, values)
    end = f"output = {output}"
    terms = [
        f"{v}/{total}" if p == 1 else f"{p} \\cdot {v}/{total}" for p, v in zip(powers, values, strict=True)
    ]
    return Exercise(
        id="00-by-hand",
        title="Three weights by hand",
        kind="recall",
        minutes=4,
        prompt=f"A query scores three keys with {listed(scores)}; the scale is already in. The values are the "
        f"plain numbers {listed([str(v) for v in values])}. Give the three **weights** as a list, and the **output**. Paper is enough.",
        stub="weights = ...\noutput = ...\n",
        solution=f"weights = {weights}\noutput = {output}\n",
        why=f"$e^0 = 1$ and $e^{{\\ln {power}}} = {power}$, so the powers are {', '.join(map(str, powers))} and their sum is "
        f"{total}. The output is ${' + '.join(terms)} = {output:g}$.",
        points=(
            value("weights", "Raise e to each score, then divide by the sum.", weights, part=0),
            value("output", "The output is the mean of the values, weighted.", output, part=1),
        ),
        hints=(
            f"What is e to the power 0, and e to the power ln {power}?",
            f"The three powers are {listed(list(map(str, powers)))}. They don't sum to one yet.",
            f"Divide each power by {total}. Then multiply each weight by its value, and add up.",
        ),
        mutants=(
            Mutant(
                "not divided by the sum",
                "weights",
                "Powers alone are no weights: a row must sum to one.",
                source=f"weights = {powers}\noutput = {output * total:g}\n",
            ),
            Mutant(
                "scores used as weights",
                "weights",
                "The exponential is missing: a score of 0 still gets a weight.",
                source=f"weights = {[int(key == place) for key in range(3)]}\noutput = {values[place]}\n",
            ),
            Mutant(
                "weights alike",
                "weights",
                f"The {('first', 'second', 'third')[place]} key has another score, so it has another weight.",
                source=f"weights = [1 / 3, 1 / 3, 1 / 3]\noutput = {output}\n",
            ),
            Mutant(
                "plain mean of the values",
                "output",
                "The values count by their weights, not all alike.",
                ((end, f"output = {sum(values)} / 3"),),
            ),
            Mutant(
                "the value of the heaviest key",
                "output",
                "A soft look-up mixes all values; it does not pick one.",
                ((end, f"output = {float(values[place])}"),),
            ),
        ),
        variants=(
            (
                f"weights = [{', '.join(f'{one} / {total}' for one in powers)}]\n"
                f"output = {' + '.join(f'{p} * {v} / {total}' for p, v in zip(powers, values, strict=True))}\n"
            ),
            (
                f"import math\nscores = torch.zeros(3)\nscores[{place}] = math.log({power})\n"
                f"weights = scores.softmax(-1)\noutput = weights @ torch.tensor({[float(v) for v in values]})\n"
            ),
            f"weights = {tuple(weights)}\noutput = {output:g}\n",
        ),
    )


BY_HAND = varied(_by_hand, (2, 2, (8, 0, 2)), _cases)
