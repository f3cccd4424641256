"""Derive: addresses in the merge and in the swapped view, and how far ahead the flat merge reads."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import expression

RANGES = {"b": (1, 5), "g": (1, 7), "i": (1, 9), "c": (1, 3), "n": (10, 20), "d": (30, 60), "d_k": (4, 11)}

STRIDES = Exercise(
    id="03-strides",
    kind="derive",
    title="Two addresses and a leak",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="The contiguous `x` has shape $(B, n, d)$, with $d = h\\,d_k$. Give three formulas as text. **(a)** `merged`: "
    "`merge_heads(out)` of a contiguous `out` of shape $(B, h, n, d_k)$ reads sample $b$, position $i$, head $g$, dim "
    "$c$ from which address **of `out`**? Use `b, g, i, c, n, d, d_k`. **(b)** `swapped`: "
    "`x.view(n, B, h, d_k).permute(1, 2, 0, 3)[b, g, i, c]` lies at which address of `x`? Use `b, g, i, c, B, d, d_k`. "
    "**(c)** `late`: the flat merge `out.reshape(B, n, h * d_k)` of the same `out`. Its row $i$ holds $h$ pieces of $d_k$ "
    "numbers; as long as $(i + 1)\\,h \\le n$, all are head 0's. From which position comes the last of them? Use `i, h`.",
    stub='merged = ""\nswapped = ""\nlate = ""\n',
    solution='merged = "b*n*d + g*n*d_k + i*d_k + c"\nswapped = "i*B*d + b*d + g*d_k + c"\nlate = "i*h + h - 1"\n',
    points=(
        expression(
            "merged",
            "Write down the strides of a contiguous (B, h, n, d_k), and multiply each by its index.",
            RANGES,
            part=0,
        ),
        expression(
            "swapped",
            "In the view the first axis counts n, and each of its steps passes over B rows of width d.",
            {"b": (1, 5), "g": (1, 7), "i": (1, 9), "c": (1, 3), "B": (6, 9), "d": (30, 60), "d_k": (4, 11)},
            part=1,
        ),
        expression(
            "late",
            "Row i begins h · d_k · i numbers into the sample. Head 0's positions lie there one after the other, d_k numbers each.",
            {"i": (2, 9), "h": (3, 8)},
            part=2,
        ),
    ),
    hints=(
        "A contiguous tensor's last stride is 1; every other is the product of all sizes to its right.",
        "For (b): the strides of `x.view(n, B, h, d_k)` are $(B d, d, d_k, 1)$; `permute` says which index is which.",
        "For (c): row 0 holds positions 0 to $h - 1$ of head 0. Where does row 1 begin?",
    ),
    mutants=(
        Mutant(
            "address in x",
            "merged",
            "That is where it lies after merging. Before, each head has n rows of its own.",
            (("b*n*d + g*n*d_k + i*d_k + c", "b*n*d + i*d + g*d_k + c"),),
        ),
        Mutant(
            "samples forgotten",
            "merged",
            "Each sample before takes n · d numbers.",
            (("b*n*d + g*n*d_k", "g*n*d_k"),),
        ),
        Mutant(
            "width of a head squared",
            "merged",
            "A head holds n rows of d_k numbers.",
            (("g*n*d_k", "g*d_k*d_k"),),
        ),
        Mutant(
            "the right split",
            "swapped",
            "That is the right split's address: there b steps over n rows. Here the view takes positions first, so i "
            "steps over B rows.",
            (('swapped = "i*B*d + b*d', 'swapped = "b*B*d + i*d'),),
        ),
        Mutant(
            "samples side by side",
            "swapped",
            "Two samples of the view are one row of width d apart.",
            (("+ b*d +", "+ b +"),),
        ),
        Mutant(
            "the first piece",
            "late",
            "That is the first of the h positions in this row. The last one is h - 1 further on.",
            (('"i*h + h - 1"', '"i*h"'),),
        ),
        Mutant(
            "one too far",
            "late",
            "That is where the next row begins. Positions count from 0.",
            (('"i*h + h - 1"', '"(i + 1)*h"'),),
        ),
        Mutant(
            "each row one further",
            "late",
            "Row 1 begins where row 0 ended: a row takes up h positions, not one.",
            (('"i*h + h - 1"', '"i + h - 1"'),),
        ),
        Mutant(
            "address instead of position",
            "late",
            "Only i and h are needed: count pieces of d_k numbers, not numbers.",
            (('"i*h + h - 1"', '"i*h*h + h - 1"'),),
        ),
    ),
    variants=(
        'merged = "c + d_k*(i + n*g) + n*d*b"\nswapped = "(i*B + b)*d + g*d_k + c"\nlate = "h*(i + 1) - 1"\n',
        (
            "def merged(b, g, i, c, n, d, d_k):\n    return ((b * (d / d_k) + g) * n + i) * d_k + c\n\n"
            "def swapped(b, g, i, c, B, d, d_k):\n    return d * (B * i + b) + d_k * g + c\n\nlate = 'h × i + (h − 1)'\n"
        ),
        'merged = "b·n·d + n·d_k·g + d_k·i + c"\nswapped = "B*d*i + d*b + d_k*g + c"\nlate = "(i+1)*h-1"\n',
    ),
    why="All five faults are a wrong set of strides, or the right strides read in the wrong order. With the flat merge "
    "row i of the output reads up to position i · h + h - 1: the later the row, the further ahead it looks.",
)
