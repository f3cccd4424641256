"""Exercise 06-knockouts (code)."""

from __future__ import annotations

import torch

from mha_teach.exercises.compare import Misfit
from mha_teach.exercises.draw import Draw
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point
from mha_teach.shapes import Tensor


def _score(gate: Tensor, worth: Tensor, cover: float) -> Tensor:
    """Relations' scores for a gate: heads add up, and the first two cover for each other in relation 0."""
    if tuple(gate.shape) != (len(worth),):
        raise Misfit(f"score was called with a gate of shape {tuple(gate.shape)}; it takes ({len(worth)},).")
    covered = cover * torch.maximum(gate[0], gate[1])
    return gate.to(worth) @ worth + torch.cat(
        [covered.to(worth).view(1), worth.new_zeros(worth.shape[1] - 1)]
    )


def _matrix(answer, worth: Tensor, cover: float) -> Tensor:
    return answer(lambda gate: _score(gate, worth, cover), len(worth))


def _given(draw: Draw, heads: int, relations: int, cover: float = 0.0) -> tuple:
    return draw.normal(heads, relations, dtype=torch.float64).abs(), cover


def _harmful(draw: Draw) -> tuple:
    worth, cover = _given(draw, 5, 3)
    worth[1::2] *= -1  # without one of these heads the scores are better
    return worth, cover


_POINT = {
    "measure": _matrix,
    "arguments": ("what each head is worth", "what heads 0 and 1 cover for"),
}

KNOCKOUTS = Exercise(
    id="06-knockouts",
    title="A knock-out matrix",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="Write `knockouts(score, num_heads)` without using `specialisation`. `score(gate)` takes a float tensor (num_heads,) of ones (open) and "
    "zeros (closed) and returns one score for each relation, (relation,). Return (head, relation): row i is the "
    "**change** of the scores when head i **alone** is closed, negative for a loss.",
    stub="def knockouts(score, num_heads):\n    ...\n",
    solution="""\
def knockouts(score, num_heads):
    whole, rows = score(torch.ones(num_heads)), []
    for head in range(num_heads):
        gate = torch.ones(num_heads)
        gate[head] = 0.0
        rows.append(score(gate) - whole)
    return torch.stack(rows)
""",
    points=(
        Point(
            "two heads",
            "Close one head, take the difference to all open.",
            lambda draw: _given(draw, 2, 1),
            **_POINT,
        ),
        Point(
            "many heads",
            "Each row starts from all heads open again. Without some heads a score is better.",
            _harmful,
            **_POINT,
        ),
        Point(
            "heads that cover",
            "What two heads do both is lost only when both are closed, so no single row may show it.",
            lambda draw: _given(draw, 3, 2, 0.7),
            **_POINT,
        ),
    ),
    hints=(
        "Start every row with a fresh `torch.ones(num_heads)`.",
        "The change is score without the head minus score with all.",
        "Rows go into a list; `torch.stack(rows)` is (head, relation).",
    ),
    mutants=(
        Mutant(
            "loss instead of change",
            "two heads",
            "The sign is turned: a loss must be negative.",
            (("score(gate) - whole", "whole - score(gate)"),),
        ),
        Mutant(
            "heads stay closed",
            "many heads",
            "The gate isn't opened again, so row i closes heads 0 to i.",
            source="""\
def knockouts(score, num_heads):
    whole, rows, gate = score(torch.ones(num_heads)), [], torch.ones(num_heads)
    for head in range(num_heads):
        gate[head] = 0.0
        rows.append(score(gate) - whole)
    return torch.stack(rows)
""",
        ),
        Mutant(
            "only this head open",
            "two heads",
            "It opens one head and closes all others.",
            (
                (
                    "gate = torch.ones(num_heads)\n        gate[head] = 0.0",
                    "gate = torch.zeros(num_heads)\n        gate[head] = 1.0",
                ),
            ),
        ),
        Mutant(
            "score left over",
            "two heads",
            "These are the scores without the head; the change is asked for.",
            (("score(gate) - whole", "score(gate)"),),
        ),
        Mutant(
            "relations as rows",
            "two heads",
            "The axes are swapped: rows are heads.",
            (("torch.stack(rows)", "torch.stack(rows, 1)"),),
        ),
        Mutant(
            "relative change",
            "two heads",
            "It divides by the whole score. The plain difference is asked for.",
            (("score(gate) - whole", "(score(gate) - whole) / whole"),),
        ),
        Mutant(
            "half closed",
            "two heads",
            "The gate is 0.5, so the head still speaks.",
            (("gate[head] = 0.0", "gate[head] = 0.5"),),
        ),
        Mutant(
            "what a head does alone",
            "heads that cover",
            "It measures what the head is worth alone. Where heads cover for each other, that isn't what is lost without it.",
            source="""\
def knockouts(score, num_heads):
    none, rows = score(torch.zeros(num_heads)), []
    for head in range(num_heads):
        gate = torch.zeros(num_heads)
        gate[head] = 1.0
        rows.append(none - score(gate))
    return torch.stack(rows)
""",
        ),
        Mutant(
            "two heads, always",
            "many heads",
            "It closes two heads, however many there are.",
            (("range(num_heads)", "range(2)"),),
        ),
        Mutant(
            "squeezed",
            "two heads",
            "squeeze() takes away the axis of the relations where there is only one.",
            (("torch.stack(rows)", "torch.stack(rows).squeeze()"),),
        ),
        Mutant(
            "losses only",
            "many heads",
            "It cuts gains off at 0. A head may do harm, and the change without it is positive.",
            (("score(gate) - whole", "(score(gate) - whole).clamp(max=0)"),),
        ),
    ),
    variants=(
        """\
def knockouts(score, num_heads):
    whole = score(torch.ones(num_heads))
    return torch.stack([score(gate) - whole for gate in 1 - torch.eye(num_heads)])
""",
        """\
from mha_teach import specialisation

def knockouts(score, num_heads):
    return specialisation.knockout_matrix(score, num_heads)
""",
        """\
def knockouts(score, num_heads):
    gate, rows = torch.ones(num_heads), []
    for head in range(num_heads):
        gate[head] = 0.0
        rows.append(score(gate))
        gate[head] = 1.0
    print("closed", num_heads, "heads")
    return torch.vstack(rows) - score(gate)
""",
    ),
    why="Where heads add up, what a head does alone and what is lost without it are the same. Where they cover for each "
    "other they are not, and only the second says what the model depends on.",
)
