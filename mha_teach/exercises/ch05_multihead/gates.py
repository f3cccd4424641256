"""Exercise 05-gates (explore)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise

GATES = Exercise(
    id="05-gates",
    title="How loud, and how needed?",
    kind="explore",
    minutes=12,
    difficulty=2,
    marks=0,
    prompt="Take the module `m` and the `x` of *What W_O does*, and the loss of `gradient_of_head`. Ask the gate for its "
    "gradient: `m.gate = torch.ones(4, dtype=torch.float64, requires_grad=True)`. Then close each head in turn with "
    "`m.without(i)` and write down by how much the loss changes. Does the gradient foretell the change? For which head "
    "worst, and why? Write your finding in a sentence or two.",
    stub='notes = ...  # "..." in your own words\n',
    solution='notes = "The gradient is the slope at gate 1; closing walks all the way to 0, where the slope has changed."\n',
    why="The loss is a mean of squares, and a gate scales what one head writes, so along each gate the loss is a parabola. "
    "The gradient is its slope at 1. Closing the head changes the loss by minus the gradient plus the mean square of what the "
    "head writes: the loudest head is foretold worst.",
    hints=(
        "`torch.autograd.grad(loss, m.gate)` gives one number for each head. Set `m.gate = None` before you close heads.",
        "If the loss were a straight line in the gate, closing a head would change it by minus the gradient.",
        "The loss is a square, so along each gate it is a parabola. Draw it for gates from 0 to 1.",
    ),
)
