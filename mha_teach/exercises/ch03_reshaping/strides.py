"""Derive: addresses of the right split and of the view, and how late the view's heads begin."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import expression

RANGES = {"b": (1, 5), "g": (1, 7), "i": (1, 9), "c": (1, 3), "n": (10, 20), "d": (30, 60), "d_k": (4, 11)}

STRIDES = Exercise(
    id="03-strides",
    kind="derive",
    title="Two formulas for an address",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="The contiguous `x` has shape $(B, n, d)$, with $d = h\\,d_k$. Give three formulas as text. **(a)** `merged`: "
    "`merge_heads(out)` of a contiguous `out` of shape $(B, h, n, d_k)$ reads sample $b$, position $i$, head $g$, dim "
    "$c$ from which address **of `out`**? Use `b, g, i, c, n, d, d_k`. **(b)** `swapped`: "
    "`x.view(n, B, h, d_k).permute(1, 2, 0, 3)[b, g, i, c]` lies at which address of `x`? Use `b, g, i, c, B, d, d_k`. "
    "**(c)** `late`: $h$ divides $n$. From which position of `x` does row 0 of head $g$ come in "
    "`x.view(B, h, n, d_k)`? Use `g, n, h`.",
    stub='merged = ""\nswapped = ""\nlate = ""\n',
    solution='merged = "b*n*d + g*n*d_k + i*d_k + c"\nswapped = "i*B*d + b*d + g*d_k + c"\nlate = "g*n/h"\n',
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
            "The address of that row is g · n · d_k. A position is d = h · d_k numbers long.",
            {"g": (1, 7), "n": (10, 20), "h": (8, 16)},
            part=2,
        ),
    ),
    hints=(
        "A contiguous tensor's last stride is 1; every other is the product of all sizes to its right.",
        "For (b): the strides of `x.view(n, B, h, d_k)` are $(B\\,d,\\; d,\\; d_k,\\; 1)$; `permute` says which index is which.",
        "For (c): divide $g\\,n\\,d_k$ by $h\\,d_k$.",
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
            "address instead of position",
            "late",
            "That counts rows of width d_k. h of them make a position.",
            (('"g*n/h"', '"g*n"'),),
        ),
        Mutant(
            "one position a head",
            "late",
            "Each head of the view is n rows long, and takes up n / h positions.",
            (('"g*n/h"', '"g"'),),
        ),
    ),
    variants=(
        'merged = "c + d_k*(i + n*g) + n*d*b"\nswapped = "(i*B + b)*d + g*d_k + c"\nlate = "n/h*g"\n',
        (
            "def merged(b, g, i, c, n, d, d_k):\n    return ((b * (d / d_k) + g) * n + i) * d_k + c\n\n"
            "def swapped(b, g, i, c, B, d, d_k):\n    return d * (B * i + b) + d_k * g + c\n\nlate = 'g × n ÷ h'\n"
        ),
        'merged = "b·n·d + n·d_k·g + d_k·i + c"\nswapped = "B*d*i + d*b + d_k*g + c"\nlate = "(g*n)/h"\n',
    ),
    why="All five faults are a wrong set of strides, or the right strides read in the wrong order. With late = g · n / h "
    "the last head's first row comes from position (h-1) n / h: nearly the end of the text.",
)
