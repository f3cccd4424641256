"""Exercise 02-numbers (recall)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

NUMBERS = Exercise(
    id="02-numbers",
    kind="recall",
    title="Three scores",
    minutes=3,
    prompt="Three numbers, no code. **(a)** $d_k = 64$; the numbers in $q$ have standard deviation 2, those in $k$ have "
    "0.5; all have mean 0 and are independent. What is the **variance** of $q\\cdot k$? **(b)** A layer has "
    "$d_{model} = 512$ and 8 heads. By what number does torch **divide** the scores? **(c)** A vector of width 64, mean "
    "0, variance 1, meets **itself**: what is $q\\cdot q$ on average?",
    stub="variance = ...\ndivisor = ...\nitself = ...\n",
    solution="variance = 64\ndivisor = 8\nitself = 64\n",
    points=(
        value(
            "variance",
            "For independent numbers with mean 0, the variance of a product is the product of the variances. Then add up.",
            64,
            part=0,
        ),
        value(
            "divisor",
            "The sum that is scaled has d_k = d_model / h terms.",
            8,
            part=1,
        ),
        value("itself", "Add up 64 squares, each 1 on average.", 64, part=2),
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
            "For independent numbers with mean 0 the variances multiply: 2² · 0.5². A product has variance 1.",
            (("variance = 64", "variance = 128"),),
        ),
        Mutant(
            "standard deviation",
            "variance",
            "8 is the standard deviation. The variance is its square.",
            (("variance = 64", "variance = 8"),),
        ),
        Mutant(
            "one product",
            "variance",
            "That is a single product; q·k adds up d_k of them.",
            (("variance = 64", "variance = 1"),),
        ),
        Mutant(
            "the whole width",
            "divisor",
            "That is √d_model. A head's score has only d_k terms.",
            (("divisor = 8", "divisor = 512 ** 0.5"),),
        ),
        Mutant(
            "no root", "divisor", "That is d_k; torch takes its root.", (("divisor = 8", "divisor = 64"),)
        ),
        Mutant(
            "independent of itself",
            "itself",
            "A vector isn't independent of itself: every term is a square and none is negative.",
            (("itself = 64", "itself = 0"),),
        ),
        Mutant(
            "length",
            "itself",
            "8 is the length of the vector. Its product with itself is the square of that.",
            (("itself = 64", "itself = 8"),),
        ),
    ),
    variants=(
        "variance, divisor, itself = 64.0, 8.0, 64.0\n",
        "variance = 64 * 2**2 * 0.5**2\ndivisor = (512 / 8) ** 0.5\nitself = torch.ones(64).sum()\n",
        "d_k = 512 // 8\nvariance = torch.tensor(64)\ndivisor = d_k**0.5\nitself = d_k\n",
    ),
    why="(a) and (c) share one number but not one meaning: 64 is a variance there and a mean here. That is why "
    "1/√d_k fits keys that have nothing to do with the query, and 1/d_k fits keys that match it.",
)
