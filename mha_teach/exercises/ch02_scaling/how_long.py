"""Exercise 02-how-long (explore)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

EXPLORE = Exercise(
    id="02-how-long",
    kind="explore",
    title="How long until it hurts?",
    minutes=10,
    difficulty=2,
    prompt="An open question. Softmax over more keys has more rivals for the largest score. Take unit-variance $q$ and $k$ "
    "with $d_k = 64$, scaled by $1/\\sqrt{d_k}$, and measure `scaling.saturation` for 4, 64, 1,024 keys. Then put "
    "one key in that matches its query: with `draw_qk(1, n, 64, correlation=0.5)` it is the first. How does its weight fall with the "
    "number of keys, and what would you change about the scale for long sequences? Write your findings down.",
    stub='notes = ""\n',
    solution='notes = "The matching key has a fixed score but ever more rivals, so its weight falls about as 1/keys; '
    'a scale that grows with log(keys) would hold it."\n',
    hints=(
        "The matching key scores about $\\rho\\sqrt{d_k}$ whatever the number of keys.",
        "The others' exponentials sum to about keys · $e^{1/2}$.",
        "The weight holds up where its score grows like $\\log(\\text{keys})$.",
    ),
    why="1/√d_k corrects for the width only. Some models therefore let the scale grow with the logarithm of the length.",
)
