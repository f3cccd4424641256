"""Exercise 05-inner-width (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
from mha_teach.exercises.cases import varied
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
    )


def _cases() -> list[tuple]:
    return [
        (heads,) for heads in (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 18, 20, 24)
    ]  # with 10, W_O is a square


def _inner_width(heads: int) -> Exercise:
    """So many heads; 0 leaves ``num_heads`` in the formula."""
    h, count = str(heads or "num_heads"), heads or 2
    number = {} if heads else {"num_heads": 2.0}
    ranges = {name: RANGES[name] for name in RANGES if name != "num_heads" or not heads}
    right = f"{h}*(2*d_k + d_v)*(d_model + 1) + d_model*({h}*d_v + 1)"

    def usual(where: str) -> str:
        branch = f"    if {where}:\n        return 4 * d_model**2 + 4 * d_model\n"
        return f"def parameters({', '.join(ranges)}):\n{branch}    return {right}\n"

    return Exercise(
        id="05-inner-width",
        kind="derive",
        title="With all biases",
        minutes=6,
        difficulty=2,
        marks=2,
        prompt=(
            "Count **every** parameter of `MultiHeadAttention`, **biases included**, as a formula in `d_model`, "
            "`num_heads`, `d_k` and `d_v`, as text, such as `'d_model * d_k'`. Don't assume that `num_heads * d_k` equals `d_model`."
            if not heads
            else f"Count **every** parameter of a `MultiHeadAttention` with **{heads} heads**, **biases included**, as a formula in "
            f"`d_model`, `d_k` and `d_v`, as text, such as `'d_model * d_k'`. Don't assume that `{heads} * d_k` equals `d_model`."
        ),
        stub='parameters = ""\n',
        solution=f'parameters = "{right}"\n',
        points=(
            _at(
                "all ones",
                f"With every width 1 each of the {heads or 'two'} heads has four weights and three biases. Then W_O's bias.",
                {"d_model": 1.0, **number, "d_k": 1.0, "d_v": 1.0},
                7.0 * count + 1,
            ),
            _at(
                "narrow values",
                "d_v is the width of values and of what W_O reads; d_k is that of queries and keys.",
                {"d_model": 5.0 * count, **number, "d_k": 5.0, "d_v": 1.0},
                count * 11.0 * (5 * count + 1) + 5 * count * (count + 1),
            ),
            expression("formula", "Count in_proj_weight, in_proj_bias, W_O and b_O one by one.", ranges),
        ),
        hints=(
            "`in_proj_weight` has one row for each number that a token is projected to. How many are there?",
            "Each of those rows has `d_model` weights and one bias.",
            f"$W_O$ has `d_model` rows of `{h} * d_v` weights, each row with one bias.",
        ),
        mutants=(
            Mutant(
                "no biases",
                "all ones",
                "That counts the matrices only.",
                (("(d_model + 1)", "d_model"), (f"({h}*d_v + 1)", f"({h}*d_v)")),
            ),
            Mutant("b_O forgotten", "all ones", "W_O has a bias too.", ((f"({h}*d_v + 1)", f"({h}*d_v)"),)),
            Mutant(
                "projections without bias",
                "all ones",
                "q, k and v have biases.",
                (("(d_model + 1)", "d_model"),),
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
                f"W_O reads {h} · d_v numbers, which need not be d_model.",
                ((f"({h}*d_v + 1)", "(d_model + 1)"),),
            ),
            Mutant(
                "W_O reads keys' width",
                "narrow values",
                "W_O reads what the heads hand over: values, not keys.",
                ((f"({h}*d_v + 1)", f"({h}*d_k + 1)"),),
            ),
            Mutant(
                "one head",
                "formula",
                "The heads are missing in the projections.",
                ((f"{h}*(2*d_k + d_v)*", "(2*d_k + d_v)*"),),
            ),
            Mutant(
                "a bias of W_O for each head",
                "formula",
                "b_O is added once, after the heads' shares are summed.",
                ((f"({h}*d_v + 1)", f"({h}*d_v + {h})"),),
            ),
            Mutant(
                "one bias for a head's values",
                "formula",
                "Every row of in_proj_weight has a bias, and each head's values have d_v rows.",
                (("(2*d_k + d_v)*(d_model + 1)", "((2*d_k + d_v)*d_model + 2*d_k + 1)"),),
            ),
            Mutant(
                "the usual count",
                "narrow values",
                f"That is the count where the heads fill d_model. Here {h} · d_k and {h} · d_v may be anything.",
                source='parameters = "4*d_model**2 + 4*d_model"\n',
            ),
            Mutant(
                "the usual count where d_k is d_v",
                "all ones",
                f"Where d_k = d_v it falls back on 4 · d_model² + 4 · d_model. That holds only if {h} · d_k is d_model as well.",
                source=usual("d_k == d_v"),
            ),
            Mutant(
                "the usual count where the heads fill d_model",
                "narrow values",
                f"Where {h} · d_k = d_model it falls back on 4 · d_model² + 4 · d_model. That holds only if d_v is d_k as well.",
                source=usual(f"{h} * d_k == d_model"),
            ),
        ),
        variants=(
            f'parameters = "2*{h}*d_model*(d_k + d_v) + {h}*(2*d_k + d_v) + d_model"\n',
            (
                f"def parameters({', '.join(ranges)}):\n    rows = {h} * (2 * d_k + d_v)\n"
                f"    return rows * d_model + rows + d_model * {h} * d_v + d_model\n"
            ),
            f'parameters = "{h}*(2*d_k*d_model + d_v*d_model + 2*d_k + d_v) + d_model*{h}*d_v + d_model"\n',
        ),
        why="With d_k = d_v = d_model / num_heads it becomes 4·d_model² + 4·d_model, whatever the number of heads.",
    )


INNER_WIDTH = varied(_inner_width, (0,), _cases)
