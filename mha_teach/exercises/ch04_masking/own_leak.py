"""Explore: a leak of one's own, measured on noise."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

OWN_LEAK = Exercise(
    id="04-own-leak",
    kind="explore",
    title="A leak of your own",
    minutes=15,
    difficulty=3,
    prompt="An open question. Someone standardises every row of scores before masking it: `s = (scores - scores.mean(-1, "
    "keepdim=True)) / (scores.std(-1, keepdim=True, correction=0) + 1e-3)`, then −∞, then the softmax. Rows sum to 1, and no "
    "masked weight is used. Does it leak? Which of the two statistics carries the message, and which can't? Predict, ask "
    "`causal_leak`, then train it with `train_on_noise({'standardised': ...}, seeds=2, steps=400)`. Compare with "
    "statistics over the visible keys only. Write your findings down.",
    stub='notes = ""\n',
    solution='notes = "The mean shifts a whole row and the softmax does not notice shifts, so it carries nothing. The standard '
    'deviation scales the row: it leaks, and causal_leak says so while row_sums is silent."\n',
    hints=(
        "What does the softmax do with a number that is added to every score of a row?",
        "And with a number that every score of a row is multiplied by?",
        "In the first row only one key is visible: what is its weight, whatever the scale? How much can it say?",
    ),
    why="Whatever is computed over a whole row or a whole sequence before the mask can carry the future: a mean, a maximum, a "
    "norm, statistics over positions. The probe finds this leak at once; training is slow to use it, and names about .16 "
    "after 400 steps. A curve that looks healthy is no proof.",
)
