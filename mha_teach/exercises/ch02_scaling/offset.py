"""Exercise 02-offset (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
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
        alone=False,
    )


OFFSET = Exercise(
    id="02-offset",
    kind="derive",
    title="A mean that isn't zero",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="All numbers in $q$ and $k$ are independent with variance 1, but their **mean is $m$** instead of 0. Give "
    "$\\mathrm{Var}(q\\cdot k)$ as a formula in `d_k` and `m`, as text, such as `'d_k * m'`.",
    stub='variance = ""\n',
    solution='variance = "d_k * (1 + 2*m**2)"\n',
    points=(
        _special("mean zero", "With m = 0 the textbook's d_k must come out.", 11.0, 0.0, 11.0),
        _special(
            "one product",
            "For a single product, Var(qk) = E[q²] E[k²] - (E[q] E[k])².",
            1.0,
            3.0,  # at m = 2 twice the mean would pass for its square
            19.0,
        ),
        expression(
            "formula",
            "Work out one product first, then add up d_k independent ones.",
            {"d_k": (1.0, 64.0), "m": (0.1, 3.0)},
            alone=False,
        ),
    ),
    hints=(
        "$E[q_i^2]$ is variance plus mean squared.",
        "$\\mathrm{Var}(q_i k_i) = (1+m^2)^2 - m^4$.",
        "Expand the square; $m^4$ cancels.",
    ),
    mutants=(
        Mutant("mean ignored", "one product", "The mean widens the products.", (("(1 + 2*m**2)", "1"),)),
        Mutant(
            "second moment",
            "one product",
            "That is E[(qk)²]. The squared mean m⁴ is still to be taken off.",
            (("(1 + 2*m**2)", "(1 + m**2)**2"),),
        ),
        Mutant(
            "one of two",
            "one product",
            "That is the variance for a fixed q, averaged: what one softmax row sees. q varies too.",
            (("(1 + 2*m**2)", "(1 + m**2)"),),
        ),
        Mutant("not squared", "one product", "The mean enters squared.", (("2*m**2", "2*m"),)),
        Mutant(
            "width squared",
            "mean zero",
            "The products are independent, so their variances add up: d_k times, not d_k² times.",
            (("d_k * (1", "d_k**2 * (1"),),
        ),
        Mutant(
            "already divided",
            "mean zero",
            "That is the variance after dividing by √d_k.",
            (("d_k * (1", "(1"),),
        ),
    ),
    variants=(
        'variance = "d_k * ((1 + m**2)**2 - m**4)"\n',
        'variance = "d_k + 2 * d_k * m^2"\n',
        "def variance(d_k, m):\n    second = (1 + m * m) ** 2\n    return d_k * (second - m**4)\n",
    ),
    why="(1+m²)² - m⁴ = 1 + 2m². One row sees only 1 + m² of it, since q is fixed within a row; the rest shifts "
    "whole rows, and softmax doesn't notice shifts.",
)
