"""Exercise 00-crowd (derive)."""

from __future__ import annotations

from fractions import Fraction

from mha_teach.exercises.cases import varied, word
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import expression

_SHARES = {
    Fraction(1, 2): "one half",
    Fraction(2, 3): "two thirds",
    Fraction(3, 4): "three quarters",
    Fraction(4, 5): "four fifths",
}


def _cases() -> list[tuple]:
    return [(leaders, share) for leaders in range(2, 9) for share in _SHARES]


def _crowd(leaders: int, share: Fraction) -> Exercise:
    """``leaders`` keys lead together; ``lead`` is asked for the point where they hold ``share`` of the weight."""
    one, half, named = leaders == 1, share == Fraction(1, 2), _SHARES[share]
    times, over = ("", "") if one else (f"{leaders}*", f" / {leaders}")
    odds = share / (1 - share)  # the powers of the leaders to those of the crowd
    as_much = "" if half else f"{odds} times "
    ratio = "" if half else f"{odds.numerator} / {odds.denominator} * "
    weight = f"exp(s) / ({times}exp(s) + n - {leaders})"
    lead = f"log({ratio}(n - {leaders}){over})" if over or ratio else "log(n - 1)"
    crowd = lead[4:-1]

    def answer(weight: str, lead: str = lead) -> str:
        return f'weight = "{weight}"\nlead = "{lead}"\n'

    low = float(leaders + 2)
    return Exercise(
        id="00-crowd",
        title="One among many" if one else f"{word(leaders).capitalize()} among many",
        kind="derive",
        minutes=6,
        difficulty=2,
        marks=2,
        prompt="One key scores $s$ higher than the $n-1$ others, which all score the same. Give two formulas as text "
        "(`+ - * / **`, `exp`, `log`): its **weight** in terms of `s` and `n`, and the **lead** $s$ at which that "
        "weight is one half, in terms of `n`."
        if one
        else f"Of $n$ keys {word(leaders)} score $s$ higher than the $n-{leaders}$ others; within each group all score the "
        f"same. Give two formulas as text (`+ - * / **`, `exp`, `log`): the **weight** of **one** of the {word(leaders)} in "
        f"terms of `s` and `n`, and the **lead** $s$ at which the {word(leaders)} **together** hold {named} of all weight, "
        "in terms of `n`.",
        stub="weight = ...\nlead = ...\n",
        solution=answer(weight),
        why=f"A softmax ignores what is added to all scores, so let the others score 0. Their powers sum to $n-{leaders}$. "
        + (
            "One half means that $e^s$ equals that sum. "
            if one
            else f"{named.capitalize()} means that ${leaders}\\,e^s$ equals {as_much}that sum. "
        )
        + "The lead that is needed grows with the logarithm of the crowd.",
        points=(
            expression(
                "weight",
                "The weight is one power divided by the sum of all n powers.",
                {"s": (0.5, 6.0), "n": (low, 60.0)},
                part=0,
            ),
            expression(
                "lead",
                "At this lead the one power equals the sum of the others."
                if one
                else f"At this lead the {word(leaders)} powers sum to {as_much}the sum of the others.",
                {"n": (low, 60.0)},
                part=1,
            ),
        ),
        hints=(
            "Adding one number to all scores changes no weight. Which score of the others is the most convenient?",
            "Let the others score 0. What do their powers sum to?",
            "The weight is exp(s) divided by exp(s) plus n - 1. Set that to 1/2 and solve for s."
            if one
            else f"The weight is exp(s) divided by {leaders} exp(s) plus n - {leaders}. Set {leaders} of them to {share} and "
            "solve for s.",
        ),
        mutants=(
            Mutant(
                "itself counted twice",
                "weight",
                f"There are n - {leaders} others, not n.",
                source=answer(f"exp(s) / ({times}exp(s) + n)"),
            ),
            Mutant(
                "one rival only",
                "weight",
                "That is the weight against a single other key.",
                source=answer("1 / (1 + exp(-s))" if one else f"exp(s) / ({times}exp(s) + 1)"),
            ),
            Mutant(
                "no exponential",
                "weight",
                "A softmax raises e to the scores before it divides.",
                source=answer(f"s / ({times}s + n - {leaders})", crowd),
            ),
            Mutant(
                "lead grows like the crowd",
                "lead",
                "Take the logarithm: powers are compared, not scores.",
                source=answer(weight, crowd),
            ),
            Mutant(
                "lead for a crowd of n others",
                "lead",
                "The key itself is one of the n."
                if one
                else f"The {word(leaders)} themselves are among the n.",
                source=answer(weight, "log(n)" if one else f"log({ratio}n{over})"),
            ),
        ),
        variants=(
            answer(f"1 / ({leaders} + (n - {leaders}) * exp(-s))", f"-log(1 / ({crowd}))"),
            (
                "import math\n\ndef weight(s, n):\n"
                f"    return math.exp(s) / ({leaders} * math.exp(s) + n - {leaders})\n\n"
                f"def lead(n):\n    return math.log((n - {leaders}) * {odds.numerator} / {odds.denominator * leaders})\n"
            ),
            answer(f"exp(s)/(n-{leaders}+{times}exp(s))", f"2*log(({crowd})^0.5)"),
        ),
    )


CROWD = varied(_crowd, (1, Fraction(1, 2)), _cases)
