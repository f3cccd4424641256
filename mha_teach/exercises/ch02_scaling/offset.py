"""Exercise 02-offset (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
from mha_teach.exercises.cases import varied
from mha_teach.exercises.compare import same
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression


def _special(name: str, message: str, d_k: float, m: float, expected: float) -> Point:
    return Point(
        name,
        message,
        measure=lambda answer: formula.at(answer, {"d_k": d_k, "m": m}),
        reveal=False,
        expected=expected,
        compare=partial(same, atol=1e-9, rtol=1e-6),
    )


def _cases() -> list[tuple]:
    return [(q, k) for q in range(1, 6) for k in range(1, 6) if (q, k) != (1, 1)]


def _offset(q: int, k: int) -> Exercise:
    """The variances of the numbers in the query and in the key."""
    plain = (q, k) == (1, 1)
    both, total = q * k, q + k
    right = f'score_variance = "d_k * ({both} + {total}*m**2)"\n'
    inner = f"({both} + {total}*m**2)"
    second = "(1 + m**2)**2" if plain else f"({q} + m**2)*({k} + m**2)"
    row = "(1 + m**2)" if plain else f"({both} + {k}*m**2)"
    spread = "(1 + 1/m**2)**2" if plain else f"(1 + {q}/m**2)*(1 + {k}/m**2)"
    return Exercise(
        id="02-offset",
        kind="derive",
        title="A mean that isn't zero",
        minutes=8,
        difficulty=2,
        marks=2,
        prompt=(
            "All numbers in $q$ and $k$ are independent with variance 1, but their **mean is $m$** instead of 0. "
            if plain
            else f"All numbers in $q$ and $k$ are independent. Those in $q$ have variance {q}, those in $k$ have variance {k}, and "
            "their **mean is $m$** instead of 0. "
        )
        + "Give $\\mathrm{Var}(q\\cdot k)$ as a formula in `d_k` and `m`, as text, such as `'d_k * m'`.",
        stub='score_variance = ""\n',
        solution=right,
        points=(
            _special(
                "mean zero",
                "With m = 0 the textbook's d_k must come out."
                if plain
                else "With m = 0 it is d_k times the product of the two variances.",
                11.0,
                0.0,
                11.0 * both,
            ),
            _special(
                "one product",
                "For a single product, Var(qk) = E[q²] E[k²] - (E[q] E[k])².",
                1.0,
                3.0,  # at m = 2 twice the mean would pass for its square
                both + 9.0 * total,
            ),
            expression(
                "formula",
                "Work out one product first, then add up d_k independent ones.",
                {"d_k": (1.0, 64.0), "m": (0.1, 3.0)},
            ),
        ),
        hints=(
            "$E[q_i^2]$ is variance plus mean squared.",
            "$\\mathrm{Var}(q_i k_i) = (1+m^2)^2 - m^4$."
            if plain
            else f"$\\mathrm{{Var}}(q_i k_i) = ({q}+m^2)({k}+m^2) - m^4$.",
            "Expand the square; $m^4$ cancels." if plain else "Expand the product; $m^4$ cancels.",
        ),
        mutants=(
            Mutant("mean ignored", "one product", "The mean widens the products.", ((inner, str(both)),)),
            Mutant(
                "second moment",
                "one product",
                "That is E[(qk)²]. The squared mean m⁴ is still to be taken off.",
                ((inner, second),),
            ),
            Mutant(
                "one of two",
                "one product",
                "That is the variance for a fixed q, averaged: what one softmax row sees. q varies too.",
                ((inner, row),),
            ),
            Mutant(
                "not squared", "one product", "The mean enters squared.", ((f"{total}*m**2", f"{total}*m"),)
            ),
            Mutant(
                "width squared",
                "mean zero",
                "The products are independent, so their variances add up: d_k times, not d_k² times.",
                (("d_k * (", "d_k**2 * ("),),
            ),
            Mutant(
                "already divided",
                "mean zero",
                "That is the variance after dividing by √d_k.",
                (("d_k * (", "("),),
            ),
            Mutant(
                "relative to the mean",
                "mean zero",
                "It measures the spread against the mean, and so divides by m. With a mean of 0 that can't be done.",
                ((inner, f"m**4 * ({spread} - 1)"),),
            ),
            Mutant(
                "a single product apart",
                "one product",
                "It has a case of its own for d_k = 1, and gives E[(qk)²] there: m⁴ was not taken off.",
                source=f"def score_variance(d_k, m):\n    if d_k == 1:\n        return {second}\n    return d_k * {inner}\n",
            ),
            Mutant(
                "brackets missing",
                "formula",
                f"Brackets are missing: d_k multiplies {both} only, but each of the products brings {total}m² too.",
                ((inner, f"{both} + {total}*m**2"),),
            ),
        ),
        variants=(
            f'score_variance = "d_k * (({q} + m**2)*({k} + m**2) - m**4)"\n',
            f'score_variance = "{both} * d_k + {total} * d_k * m^2"\n',
            f"def score_variance(d_k, m):\n    second = ({q} + m * m) * ({k} + m * m)\n    return d_k * (second - m**4)\n",
        ),
        why=(
            "(1+m²)² - m⁴ = 1 + 2m². One row sees only 1 + m² of it"
            if plain
            else f"({q}+m²)({k}+m²) - m⁴ = {both} + {total}m². One row sees only {both} + {k}m² of it"
        )
        + ", since q is fixed within a row; the rest shifts whole rows, and softmax doesn't notice shifts.",
    )


OFFSET = varied(_offset, (1, 1), _cases)
