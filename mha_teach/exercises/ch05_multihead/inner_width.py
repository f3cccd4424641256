"""Exercise 05-inner-width (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
from mha_teach.exercises.compare import same
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression

RANGES = {"d_model": (4.0, 64.0), "num_heads": (2.0, 9.0), "d_k": (2.0, 16.0), "d_v": (2.0, 16.0)}


def _at(name: str, message: str, sizes: dict[str, float], expected: float) -> Point:
    return Point(
        name,
        message,
        measure=lambda answer: formula.at(answer, sizes),
        reveal=False,
        expected=expected,
        compare=partial(same, atol=1e-6, rtol=1e-9),
        alone=False,
    )


INNER_WIDTH = Exercise(
    id="05-inner-width",
    kind="derive",
    title="With all biases",
    minutes=6,
    difficulty=2,
    marks=2,
    prompt="Count **every** parameter of `MultiHeadAttention`, **biases included**, as a formula in `d_model`, "
    "`num_heads`, `d_k` and `d_v`, as text, such as `'d_model * d_k'`. Don't assume that `num_heads * d_k` equals `d_model`.",
    stub='parameters = ""\n',
    solution='parameters = "num_heads*(2*d_k + d_v)*(d_model + 1) + d_model*(num_heads*d_v + 1)"\n',
    points=(
        _at(
            "all ones",
            "With every size 1 there are four matrices of one number, and four biases.",
            {"d_model": 1.0, "num_heads": 1.0, "d_k": 1.0, "d_v": 1.0},
            8.0,
        ),
        _at(
            "narrow values",
            "d_v is the width of values and of what W_O reads; d_k is that of queries and keys.",
            {"d_model": 10.0, "num_heads": 1.0, "d_k": 5.0, "d_v": 1.0},
            141.0,
        ),
        expression(
            "formula", "Count in_proj_weight, in_proj_bias, W_O and b_O one by one.", RANGES, alone=False
        ),
    ),
    hints=(
        "`in_proj_weight` has one row for each number that a token is projected to. How many are there?",
        "Each of those rows has `d_model` weights and one bias.",
        "$W_O$ has `d_model` rows of `num_heads * d_v` weights, each row with one bias.",
    ),
    mutants=(
        Mutant(
            "no biases",
            "all ones",
            "That counts the matrices only.",
            (("(d_model + 1)", "d_model"), ("(num_heads*d_v + 1)", "(num_heads*d_v)")),
        ),
        Mutant(
            "b_O forgotten", "all ones", "W_O has a bias too.", (("(num_heads*d_v + 1)", "(num_heads*d_v)"),)
        ),
        Mutant(
            "projections without bias", "all ones", "q, k and v have biases.", (("(d_model + 1)", "d_model"),)
        ),
        Mutant(
            "values as wide as keys",
            "narrow values",
            "It takes d_k for the values' width in the projections.",
            (("(2*d_k + d_v)", "(3*d_k)"),),
        ),
        Mutant(
            "W_O as a square",
            "narrow values",
            "W_O reads num_heads · d_v numbers, which need not be d_model.",
            (("(num_heads*d_v + 1)", "(d_model + 1)"),),
        ),
        Mutant(
            "W_O reads keys' width",
            "narrow values",
            "W_O reads what the heads hand over: values, not keys.",
            (("(num_heads*d_v + 1)", "(num_heads*d_k + 1)"),),
        ),
        Mutant(
            "one head",
            "formula",
            "The heads are missing in the projections.",
            (("num_heads*(2*d_k + d_v)*", "(2*d_k + d_v)*"),),
        ),
        Mutant(
            "a bias of W_O for each head",
            "formula",
            "b_O is added once, after the heads' shares are summed.",
            (("(num_heads*d_v + 1)", "(num_heads*d_v + num_heads)"),),
        ),
    ),
    variants=(
        'parameters = "2*num_heads*d_model*(d_k + d_v) + num_heads*(2*d_k + d_v) + d_model"\n',
        (
            "def parameters(d_model, num_heads, d_k, d_v):\n    rows = num_heads * (2 * d_k + d_v)\n"
            "    return rows * d_model + rows + d_model * num_heads * d_v + d_model\n"
        ),
        'parameters = "num_heads*(2*d_k*d_model + d_v*d_model + 2*d_k + d_v) + d_model*num_heads*d_v + d_model"\n',
    ),
    why="With d_k = d_v = d_model / num_heads it becomes 4·d_model² + 4·d_model, whatever the number of heads.",
)
