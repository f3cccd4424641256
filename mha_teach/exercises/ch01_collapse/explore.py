"""Exercise 01-explore (explore)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

EXPLORE = Exercise(
    id="01-explore",
    kind="explore",
    title="Your own counter-case",
    minutes=20,
    difficulty=3,
    marks=0,
    prompt="Find a setting in which **more** heads do worse, and one in which **one** head is enough although there are "
    "two roles. Write down your guess first, then run `sweep` with three or more seeds, and keep the spread. A start: "
    '`sweep(TwoNoisyLookups(noise=1.5), [{"num_heads": h} for h in (1, 2)], seeds=3, steps=400)`. Ideas: '
    "other noise, fewer items, one role, a wider `d_k`, an MLP, a second layer.",
    stub='notes = ""\n',
    solution='notes = "One role favours one head; a second layer or an MLP lets one head serve two roles."\n',
    hints=(
        "What does each role cost: a row, or width?",
        "Take the two noisy look-ups and change one thing: `mlp`, `layers`, `d_k`.",
        "A difference smaller than the spread over seeds is not a difference.",
    ),
    why="Every such finding tells which condition a sentence like 'one head collapses' needs.",
)
