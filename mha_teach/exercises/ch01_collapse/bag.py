"""Exercise 01-bag (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
from mha_teach.exercises.cases import varied
from mha_teach.exercises.compare import same
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression

_SHARE = "(values**2 + 3*values - 1) / (3*values**2)"


def _cases() -> list[tuple]:
    return [(gain, loss) for gain in (2, 3, 4, 5) for loss in (1, 2, 3)]


def _free(source: str) -> Mutant:
    words = "Take off what the wrong ones cost: their share is 1 minus that of the right ones."
    return Mutant("wrong roles cost nothing", "two symbols", words, source=source)


def _bag(gain: int, loss: int) -> Exercise:
    """A role that is named right earns ``gain``, a wrong one costs ``loss``."""
    plain = (gain, loss) == (1, 0)

    def worth(share: float) -> float:
        return gain * share - loss * (1 - share)

    def score(share: str) -> str:
        return f'score = "{share}"\n' if plain else f'score = "{gain + loss} * ({share}) - {loss}"\n'

    def special(name: str, message: str, values: float, expected: float, atol: float) -> Point:
        return Point(
            name,
            message,
            inputs=lambda draw: (),
            measure=lambda answer: formula.at(answer, {"values": values}),
            reveal=False,
            expected=expected,
            compare=partial(same, atol=atol, rtol=0.0),
        )

    def unless(case: str, share: str) -> str:
        """The right formula, except in one case."""
        return (
            f"def score(values):\n    share = {_SHARE}\n    if values {case}:\n        share = {share}\n"
            f"    return {gain} * share - {loss} * (1 - share)\n"
        )

    extra = () if plain else (_free(f'score = "{gain} * {_SHARE}"\n'),)
    cost = f"{loss} {'point' if loss == 1 else 'points'}"
    return Exercise(
        id="01-bag",
        kind="derive",
        title="What the bag is worth",
        minutes=8,
        difficulty=2,
        prompt="**Three** roles, each filled by one of `values` symbols, drawn independently with equal chance. You are told "
        "**which three symbols** were drawn, repeated ones included, but not which role has which. "
        + (
            "Your score is the expected share of roles that you name correctly. "
            if plain
            else f"Every role that you name correctly earns {gain} points, every other one costs {cost}, and none may be left "
            "open. Your score is the expected number of points **per role**. "
        )
        + "Give the best possible score as a formula in `values`, as text, such as `'values / 7'`.",
        stub='score = ""\n',
        solution=score(_SHARE),
        points=(
            expression(
                "formula",
                "Sum over three cases: all symbols differ, exactly two are the same, all three are.",
                {"values": (2.0, 64.0)},
            ),
            special(
                "two symbols",
                "With two symbols a quarter of all bags hold one symbol three times, and the rest one of them twice.",
                2.0,
                worth(0.75),
                1e-6,
            ),
            special(
                "very many symbols",
                "With very many symbols no two are the same: which of the three belongs to a role is anyone's guess.",
                1e12,
                worth(1 / 3),
                1e-5,
            ),
        ),
        hints=(
            "How probable is each of the three cases? Two of three roles that hold the same symbol can be chosen in three ways.",
            "Given the bag, name its most frequent symbol for every role: that is right for 1, 2 or 3 roles of 3.",
            "$P_3 \\cdot 1 + P_2 \\cdot \\frac23 + P_1 \\cdot \\frac13$ with $P_3 = 1/N^2$ and $P_2 = 3(N-1)/N^2$, for $N$ symbols"
            + ("." if plain else f", is the share $S$. A role then earns ${gain} S - {loss}(1 - S)$."),
        ),
        mutants=(
            Mutant(
                "blind among three",
                "two symbols",
                "Sometimes roles hold the same symbol, and then more of them are right.",
                source=score("1/3"),
            ),
            Mutant(
                "chance without the bag",
                "very many symbols",
                "That ignores the bag: it is the score of a blind guess.",
                source=score("1/values"),
            ),
            Mutant(
                "bag of two",
                "very many symbols",
                "That is the chapter's bound for two roles. With three there are more ways to be wrong.",
                source=score("1/2 + 1/(2*values)"),
            ),
            Mutant(
                "pairs left out",
                "two symbols",
                "Between all alike and all different lies a third case: exactly two are the same.",
                source=score("1/values**2 + (1 - 1/values**2) / 3"),
            ),
            Mutant(
                "one place for the pair",
                "two symbols",
                "The odd one of three may be any of the three roles.",
                source=score("1/values**2 + 2/3 * (values-1)/values**2 + 1/3 * (1 - 1/values)"),
            ),
            Mutant(
                "a pair wins all",
                "two symbols",
                "With two symbols alike, one role still holds the other symbol, and you can't know which.",
                source=score("1/values**2 + 3*(values-1)/values**2 + (values-1)*(values-2)/(3*values**2)"),
            ),
            Mutant(
                "a pair wins half",
                "two symbols",
                "Name the symbol that is there twice for every role: two of three are right.",
                source=score(
                    "1/values**2 + 3/2 * (values-1)/values**2 + (values-1)*(values-2)/(3*values**2)"
                ),
            ),
            Mutant(
                "second symbol forgotten",
                "formula",
                "All three differ only if the second differs from the first, and the third from both: (1 - 1/N)(1 - 2/N).",
                source=score("1/3 + 2/(3*values) + 1/(3*values**2)"),
            ),
            Mutant(
                "two symbols never all alike",
                "two symbols",
                "For two symbols it says two of three, always. One bag in four holds the same symbol three times.",
                source=unless("== 2", "2 / 3"),
            ),
            Mutant(
                "many symbols hopeless",
                "very many symbols",
                "For many symbols it says that no role can be named. But the bag tells which three they are, so one guess in "
                "three is right.",
                source=unless("> 1000", "0"),
            ),
            *extra,
        ),
        variants=(
            score("1/3 + 1/values - 1/(3*values**2)"),
            score("(1 + 2*(values-1) + (values-1)*(values-2)/3) / values^2"),
            (
                "def score(values):\n    alike = 1 / values**2\n    pair = 3 * (values - 1) / values**2\n"
                "    share = alike + 2 / 3 * pair + (1 - alike - pair) / 3\n"
                f"    return {gain} * share - {loss} * (1 - share)\n"
            ),
        ),
        why="All three are alike with probability $1/N^2$, exactly two with $3(N-1)/N^2$. For 16 symbols the share is 303/768 = .395, "
        "against .531 for two roles: the more roles share one bag, the less it is worth."
        + ("" if plain else f" A share $S$ earns ${gain} S - {loss} (1 - S)$ a role."),
    )


BAG = varied(_bag, (1, 0), _cases)
