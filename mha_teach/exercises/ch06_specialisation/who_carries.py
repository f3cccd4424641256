"""Exercise 06-who-carries (recall)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

_TABLE = (
    "| closed | previous | marked |\n|---|---|---|\n| head 0 | −.02 | −.40 |\n| head 1 | −.90 | .00 |\n"
    "| head 2 | .00 | −.40 |\n| head 3 | .00 | −.02 |\n"
)

WHO = Exercise(
    id="06-who-carries",
    kind="recall",
    title="Who carries what?",
    minutes=4,
    prompt="Four heads, two relations. Both score 1.00 with all heads open, and chance is 0. Each row of the table closes **one** head.\n\n"
    + _TABLE
    + "\nA head *carries* a relation when closing it alone takes at least half of what the score has above chance. "
    "**(a)** Which head carries *previous*? **(b)** How many heads carry *marked*? **(c)** Closing heads 0 and 2 "
    "**together** takes *marked* down to chance. How much more is lost than the two single rows add up to?",
    stub="carries_previous = ...\ncarry_marked = ...\nmore = ...\n",
    solution="carries_previous = 1\ncarry_marked = 0\nmore = 0.2\n",
    points=(
        value("previous", "Look for the row that takes at least .50 from this column.", 1, part=0),
        value("marked", "Half of what stands above chance is .50.", 0, part=1),
        value(
            "together", "From 1.00 down to 0 is a loss of 1.00. The single rows add up to less.", 0.2, part=2
        ),
    ),
    hints=(
        "Read down a column, not along a row.",
        "Is .40 at least half of 1.00?",
        "For (c): 1.00 − (.40 + .40).",
    ),
    mutants=(
        Mutant(
            "counted from one",
            "previous",
            "That is head 1 when counting from one; the table counts from 0.",
            (("carries_previous = 1", "carries_previous = 2"),),
        ),
        Mutant(
            "any loss counts",
            "previous",
            "Head 0 costs .02, which is far from half.",
            (("carries_previous = 1", "carries_previous = 0"),),
        ),
        Mutant(
            "sharing taken for carrying",
            "marked",
            "Two heads share it, but closing either leaves .60 of 1.00, more than half.",
            (("carry_marked = 0", "carry_marked = 2"),),
        ),
        Mutant(
            "every loss carries",
            "marked",
            "That counts every head that costs anything at all.",
            (("carry_marked = 0", "carry_marked = 3"),),
        ),
        Mutant(
            "the sum",
            "together",
            "That is the sum of the single rows. The question is what comes on top.",
            (("more = 0.2", "more = 0.8"),),
        ),
        Mutant(
            "losses add up",
            "together",
            "That would hold if heads didn't cover for one another.",
            (("more = 0.2", "more = 0"),),
        ),
    ),
    variants=(
        "carries_previous, carry_marked, more = 1, 0, 1 - 2 * 0.4\n",
        "carries_previous = 1.0\ncarry_marked = len([])\nmore = torch.tensor(0.2)\n",
        """\
rows = [[-.02, -.40], [-.90, 0], [0, -.40], [0, -.02]]
carries_previous = next(i for i, row in enumerate(rows) if -row[0] >= .5)
carry_marked = sum(-row[1] >= .5 for row in rows)
more = round(1 + rows[0][1] + rows[2][1], 3)
""",
    ),
    why="Two heads that serve one relation cover for each other: each row understates what the pair is worth. "
    "Nobody carries *marked*, and it works perfectly.",
)
