"""Explore: the view on the way in and the view on the way out."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

EXPLORE = Exercise(
    id="03-twice-wrong",
    kind="explore",
    title="Two wrongs",
    minutes=15,
    difficulty=2,
    prompt="An open question. Published code splits with `q.view(B * h, -1, d_k)` and merges with `out.view(B, -1, h * d_k)`: "
    "in effect `split_by_view` on the way in and `merge_untransposed` on the way out. Make that a way of its own, "
    '`ways["twice"] = (each(split_by_view), merge_untransposed)`. First guess: what will the two leak probes say? Then run them on '
    '`net("twice").attention`, draw the dependence with `draw.leaks`, train it with `copying.train(*ways["twice"])`, and try other lengths. What can such a layer '
    "compute, how far back does it see, and which check would you have needed? Write your findings down.",
    stub='notes = ""\n',
    solution='notes = "Neither probe finds a leak: both views cut memory alike, so row order is kept and the mask forbids the '
    "right things. But each head is a block of n/h neighbouring positions and sees nothing before it; the copy task lies "
    'outside. The map shows blocks and `unread` lists what is missing; a trusted layer or trace_origin tells as well."\n',
    hints=(
        "Write the strides of both views. Do they undo each other?",
        "Look at the blocks below the diagonal: how long are they, and what would a full triangle have that is missing?",
        "A probe for leaks counts what is read and must not be. Here something is *not* read that should be: look into `unread`.",
    ),
    why="A leak probe is a test of what must not be read. Nobody tests what ought to be read unless they look at the picture "
    "or at `unread`, or compare with a trusted layer.",
)
