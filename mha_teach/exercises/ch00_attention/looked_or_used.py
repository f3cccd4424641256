"""Exercise 00-looked-or-used (explore)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

OPEN = Exercise(
    id="00-looked-or-used",
    title="Looked at, or used?",
    kind="explore",
    minutes=10,
    difficulty=2,
    marks=0,
    prompt="In the cell that draws what is looked at beside what is used, change the values so that the key with the "
    "**smallest** weight matters **most** for the output. Then write down in a sentence or two what a heat map of weights alone "
    "would have told you, and what you would ask of anyone who shows you one.",
    stub='notes = ...  # "..." in your own words\n',
    solution='notes = "The effect of a key is its weight times the length of its value."\n',
    why="The output is a sum of weights times values, so what a key adds is the product of the two. A heat map shows one factor "
    "of it: ask for weight times the length of the value, or for how the output changes when the key is closed.",
    hints=(
        "What does the output lose when one value becomes zero?",
        "The loss is weight times value. You may choose the value.",
        "Make one value a hundred times longer. Which of the two pictures changes?",
    ),
)
