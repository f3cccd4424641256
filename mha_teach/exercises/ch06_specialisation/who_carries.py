"""Exercise 06-who-carries (recall)."""

from __future__ import annotations

from itertools import permutations

from mha_teach.exercises.cases import apart, varied
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value


def _cases() -> list[tuple]:
    return [
        (order, great, small, half, other)
        for order in permutations(range(4))
        for great in (0.75, 0.8, 0.85, 0.95)
        for small in (0.03, 0.04, 0.06)
        for half, other in ((0.3, 0.35), (0.35, 0.4), (0.3, 0.45), (0.4, 0.45), (0.45, 0.3), (0.3, 0.4))
        if apart(order[1], order[1] + 1, order[0]) and apart(1 - half - other, half + other, 0)
    ]


def _cell(loss: float) -> str:
    return f"{'−' if loss else ''}{_bare(loss)}"


def _bare(number: float) -> str:
    return f"{number:.2f}".removeprefix("0")


def _who(order: tuple[int, ...], great: float, small: float, half: float, other: float) -> Exercise:
    """``order`` says which heads are: one that shares, the one that carries, the other that shares, and one that does little."""
    first, carrier, second, idle = order
    previous, marked = [0.0] * 4, [0.0] * 4
    previous[first], previous[carrier] = small, great
    marked[first], marked[second], marked[idle] = half, other, small
    table = "| closed | previous | marked |\n|---|---|---|\n" + "".join(
        f"| head {head} | {_cell(previous[head])} | {_cell(marked[head])} |\n" for head in range(4)
    )
    a, b = sorted((first, second))
    more, both = round(1 - half - other, 2), round(half + other, 2)
    return Exercise(
        id="06-who-carries",
        kind="recall",
        title="Who carries what?",
        minutes=4,
        prompt="Four heads, two relations. Both score 1.00 with all heads open, and chance is 0. Each row of the table closes **one** head.\n\n"
        + table
        + "\nA head *carries* a relation when closing it alone takes at least half of what the score has above chance. "
        "**(a)** Which head carries *previous*? **(b)** How many heads carry *marked*? "
        f"**(c)** Closing heads {a} and {b} "
        "**together** takes *marked* down to chance. How much more is lost than the two single rows add up to?",
        stub="carries_previous = ...\ncarry_marked = ...\nmore = ...\n",
        solution=f"carries_previous = {carrier}\ncarry_marked = 0\nmore = {more}\n",
        points=(
            value("previous", "Look for the row that takes at least .50 from this column.", carrier, part=0),
            value("marked", "Half of what stands above chance is .50.", 0, part=1),
            value(
                "together",
                "From 1.00 down to 0 is a loss of 1.00. The single rows add up to less.",
                more,
                part=2,
            ),
        ),
        hints=(
            "Read down a column, not along a row.",
            f"Is {_bare(max(half, other))} at least half of 1.00?",
            f"For (c): 1.00 − ({_bare(marked[a])} + {_bare(marked[b])}).",
        ),
        mutants=(
            Mutant(
                "counted from one",
                "previous",
                f"That is head {carrier} when counting from one; the table counts from 0.",
                ((f"carries_previous = {carrier}", f"carries_previous = {carrier + 1}"),),
            ),
            Mutant(
                "any loss counts",
                "previous",
                f"Head {first} costs {_bare(small)}, which is far from half.",
                ((f"carries_previous = {carrier}", f"carries_previous = {first}"),),
            ),
            Mutant(
                "sharing taken for carrying",
                "marked",
                f"Two heads share it, but closing either leaves {_bare(1 - max(half, other))} of 1.00, more than half."
                if half == other
                else "Two heads share it, but closing either leaves more than half of 1.00.",
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
                ((f"more = {more}", f"more = {both}"),),
            ),
            Mutant(
                "losses add up",
                "together",
                "That would hold if heads didn't cover for one another.",
                ((f"more = {more}", "more = 0"),),
            ),
        ),
        variants=(
            f"carries_previous, carry_marked, more = {carrier}, 0, 1 - {half} - {other}\n",
            f"carries_previous = {carrier}.0\ncarry_marked = len([])\nmore = torch.tensor({more})\n",
            f"""\
rows = {[[-previous[head], -marked[head]] for head in range(4)]}
carries_previous = next(i for i, row in enumerate(rows) if -row[0] >= .5)
carry_marked = sum(-row[1] >= .5 for row in rows)
more = round(1 + rows[{a}][1] + rows[{b}][1], 3)
""",
        ),
        why="Two heads that serve one relation cover for each other: each row understates what the pair is worth. "
        "Nobody carries *marked*, and it works perfectly.",
    )


WHO = varied(_who, ((0, 1, 2, 3), 0.9, 0.02, 0.4, 0.4), _cases)
