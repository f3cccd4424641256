"""Derive: how much of a row is left, and how it answers to the future."""

from __future__ import annotations

from fractions import Fraction

from mha_teach.exercises.cases import varied, word
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import expression

RANGES = {"s": (-2.0, 2.0), "f": (-2.0, 2.0)}


def _cases() -> list[tuple]:
    return [(seen, hidden) for seen in range(1, 7) for hidden in range(1, 7) if seen != hidden]


def _shown(value: Fraction) -> str:
    return {Fraction(1, 2): "one half"}.get(value, str(value))


def _kept_share(seen: int, hidden: int) -> Exercise:
    """So many visible and so many masked keys; all of one kind score alike."""
    one = (seen, hidden) == (1, 1)
    s, f = ("exp(s)" if seen == 1 else f"{seen}*exp(s)"), ("exp(f)" if hidden == 1 else f"{hidden}*exp(f)")
    total = f"({s} + {f})"
    kept, slope = f"{s} / {total}", f"-{s} * {f} / {total}**2"
    share = Fraction(seen, seen + hidden)

    def answer(kept: str = kept, slope: str = slope) -> str:
        return f'kept = "{kept}"\nslope = "{slope}"\n'

    def keys(number: int, kind: str, score: str) -> str:
        return (
            f"one {kind} key with score `{score}`"
            if number == 1
            else f"{word(number)} {kind} keys, each with score `{score}`"
        )

    return Exercise(
        id="04-kept-share",
        kind="derive",
        title="A message from the future",
        minutes=8,
        difficulty=2,
        marks=2,
        prompt=f"A query has {keys(seen, 'visible', 's')}{'' if seen == 1 else ','} and {keys(hidden, 'masked', 'f')}. The mask stands **after** the "
        "softmax, and nobody renormalises. **(a)** `kept`: the sum of the query's row, as a formula in `s` and `f`. **(b)** "
        "`slope`: the derivative of `kept` with respect to `f`. Both as text with `+ - * / **`, brackets and `exp`, such as `'exp(s) * f'`.",
        stub='kept = ""\nslope = ""\n',
        solution=answer(),
        points=(
            expression(
                "kept",
                f"The softmax is over {'both' if one else 'all'} keys; the mask then keeps the visible "
                f"{'one' if seen == 1 else 'ones'}. With s = f, {_shown(share)} is left.",
                RANGES,
                part=0,
            ),
            expression(
                "slope",
                f"A higher future score takes away from the row: with s = f the slope is −{share * (1 - share)}.",
                RANGES,
                part=1,
            ),
        ),
        hints=(
            "Write the softmax of the two scores first; the mask multiplies one weight by 1 and the other by 0."
            if one
            else "Write the softmax over all keys first; the mask multiplies the visible weights by 1 and the masked ones by 0.",
            "$\\partial p_i/\\partial s_j = p_i(\\delta_{ij} - p_j)$, here for $i \\ne j$."
            if one
            else "The masked keys share one `f`. Together they weigh $p$, the visible ones $1-p$, and $p$ is a sigmoid in `f`.",
            "`slope` is minus the product of the two weights before the mask."
            if one
            else "`slope` is minus the product of what all visible keys and what all masked keys weigh before the mask.",
        ),
        mutants=(
            Mutant(
                "a full row",
                "kept",
                "The row would sum to 1 only with the mask before the softmax, or renormalised.",
                source=answer(kept="1"),
            ),
            Mutant(
                "the masked key's share",
                "kept",
                "That is what the mask takes away; asked is what it leaves.",
                source=answer(kept=f"{f} / {total}"),
            ),
            Mutant(
                "not normalised at all",
                "kept",
                f"That is the exponential; the softmax still divides by the sum over {'both' if one else 'all'} keys.",
                source=answer(kept=s),
            ),
            Mutant(
                "divided by one key",
                "kept",
                f"The denominator is the sum over {'both' if one else 'all'} keys, not the future's exponential alone.",
                source=answer(kept=f"{s} / ({f})"),
            ),
            Mutant(
                "plus",
                "slope",
                "The higher the masked score, the less is left: the slope is negative.",
                source=answer(slope=slope[1:]),
            ),
            Mutant(
                "no slope",
                "slope",
                "The weight of the masked key is 0, but its score is still in the denominator.",
                source=answer(slope="0"),
            ),
            Mutant(
                "own slope",
                "slope",
                "That is minus the square of the visible weight: it pairs the key with itself."
                if one
                else "That is minus the square of the visible weight: it pairs the visible keys with themselves.",
                source=answer(slope=f"-({s})**2 / {total}**2"),
            ),
            Mutant(
                "future twice",
                "slope",
                "The product is of two different weights: the visible one and the masked one.",
                source=answer(slope=f"-({f})**2 / {total}**2"),
            ),
            Mutant(
                "square forgotten",
                "slope",
                "Each of the two weights brings its own denominator.",
                source=answer(slope=f"-{s} * {f} / {total}"),
            ),
        ),
        variants=(
            answer(
                f"sigmoid(s - f + log({seen}/{hidden}))",
                f"-sigmoid(s - f + log({seen}/{hidden})) * sigmoid(f - s + log({hidden}/{seen}))",
            ),
            answer(f"1 - {f} / {total}", f"-{seen * hidden}*exp(s + f) / {total}**2"),
            answer(
                f"{seen} / ({seen} + {hidden}*exp(f - s))",
                f"-{seen * hidden}*exp(f - s) / ({seen} + {hidden}*exp(f - s))^2",
            ),
            answer(f"{s}/({f}+{s})", f"-({s}/({f}+{s})) * ({f}/({f}+{s}))"),
            f"""\
import math

def kept(s, f):
    return {seen} * math.exp(s) / ({seen} * math.exp(s) + {hidden} * math.exp(f))

def slope(s, f):
    return -kept(s, f) * (1 - kept(s, f))
""",
        ),
        why="The slope is never 0. So gradient descent can always make the sum of a row say more about the masked key, and in the "
        "chapter's experiment eight heads spell out a symbol that way.",
    )


KEPT_SHARE = varied(_kept_share, (1, 1), _cases)
