"""Exercise 02-numbers (recall)."""

from __future__ import annotations

from mha_teach.exercises.cases import varied
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

# Two standard deviations whose product is 1: (a) and (c) then share a number, which is the point of asking for both.
_PAIRS = ((2, 0.5), (4, 0.25), (5, 0.2))


def _cases() -> list[tuple]:
    roots, heads = (4, 6, 7, 9, 10, 11, 12), (2, 3, 4, 5, 6, 8, 12, 16)
    # with as many heads as d_k the root of the whole width is d_k itself
    return [(r, h, *pair) for r in roots for h in heads for pair in _PAIRS if h != r * r]


def _numbers(root: int, heads: int, q: float, k: float) -> Exercise:
    """One head's d_k is ``root`` squared."""
    d_k = root**2
    width = d_k * heads
    right = f"variance = {d_k}\ndivisor = {root}\nitself = {d_k}\n"
    a, b, c = right.splitlines()
    return Exercise(
        id="02-numbers",
        kind="recall",
        title="Three scores",
        minutes=3,
        prompt=f"Three numbers, no code. **(a)** $d_k = {d_k}$; the numbers in $q$ have standard deviation {q}, those in $k$ have "
        f"{k}; all have mean 0 and are independent. What is the **variance** of $q\\cdot k$? **(b)** A layer has "
        f"$d_{{model}} = {width}$ and {heads} heads. By what number does torch **divide** the scores? **(c)** A vector of width "
        f"{d_k}, mean 0, variance 1, meets **itself**: what is $q\\cdot q$ on average?",
        stub="variance = ...\ndivisor = ...\nitself = ...\n",
        solution=right,
        points=(
            value(
                "variance",
                "For independent numbers with mean 0, the variance of a product is the product of the variances. Then add up.",
                d_k,
                part=0,
            ),
            value(
                "divisor",
                "The sum that is scaled has d_k = d_model / h terms.",
                root,
                part=1,
            ),
            value("itself", f"Add up {d_k} squares, each 1 on average.", d_k, part=2),
        ),
        hints=(
            "For (a), what is the variance of a single product $q_1 k_1$?",
            "For (b), how wide is one head?",
            "For (c), $E[q_i^2]$ is the variance of $q_i$.",
        ),
        mutants=(
            Mutant(
                "deviations instead of variances",
                "variance",
                f"For independent numbers with mean 0 the variances multiply: {q}² · {k}². A product has variance 1.",
                ((a, f"variance = {d_k * q}"),),
            ),
            Mutant(
                "standard deviation",
                "variance",
                f"{root} is the standard deviation. The variance is its square.",
                ((a, f"variance = {root}"),),
            ),
            Mutant(
                "one product",
                "variance",
                "That is a single product; q·k adds up d_k of them.",
                ((a, "variance = 1"),),
            ),
            Mutant(
                "the whole width",
                "divisor",
                "That is √d_model. A head's score has only d_k terms.",
                ((b, f"divisor = {width} ** 0.5"),),
            ),
            Mutant("no root", "divisor", "That is d_k; torch takes its root.", ((b, f"divisor = {d_k}"),)),
            Mutant(
                "independent of itself",
                "itself",
                "A vector isn't independent of itself: every term is a square and none is negative.",
                ((c, "itself = 0"),),
            ),
            Mutant(
                "length",
                "itself",
                f"{root} is the length of the vector. Its product with itself is the square of that.",
                ((c, f"itself = {root}"),),
            ),
        ),
        variants=(
            f"variance, divisor, itself = {d_k}.0, {root}.0, {d_k}.0\n",
            f"variance = {d_k} * {q}**2 * {k}**2\ndivisor = ({width} / {heads}) ** 0.5\nitself = torch.ones({d_k}).sum()\n",
            f"d_k = {width} // {heads}\nvariance = torch.tensor({d_k})\ndivisor = d_k**0.5\nitself = d_k\n",
        ),
        why=f"(a) and (c) share one number but not one meaning: {d_k} is a variance there and a mean here. That is why "
        "1/√d_k fits keys that have nothing to do with the query, and 1/d_k fits keys that match it.",
    )


NUMBERS = varied(_numbers, (8, 8, 2, 0.5), _cases)
