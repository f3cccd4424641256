"""Exercise 01-bag (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
from mha_teach.exercises.compare import same
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression

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
