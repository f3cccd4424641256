"""Derive: addresses in the merge and in the swapped view, and how far ahead the flat merge reads."""

from __future__ import annotations

from mha_teach.exercises.cases import varied
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import expression

_RANGES = {
    "b": (1, 5),
    "g": (1, 7),
    "i": (1, 9),
    "c": (1, 3),
    "n": (10, 20),
    "B": (6, 9),
    "d": (30, 60),
    "d_k": (4, 11),
}
_PIECES = {"last": "h - 1", "second": "1", "third": "2", "last but one": "h - 2"}


def _cases() -> list[tuple]:
    return [(str(n), str(B), p) for n in (5, 7, 9, 11, 13, 17, 19) for B in range(2, 8) for p in _PIECES]


def _names(size: str) -> list[str]:
    """What the formula of an address may use; ``size`` is a name or a number."""
    return [*"bgic", *([] if size.isdigit() else [size]), "d", "d_k"]


def _strides(n: str, B: str, piece: str) -> Exercise:
    """``n`` positions and ``B`` samples, names or numbers; (c) asks for this ``piece`` of a row."""
    last, ahead = piece == "last", _PIECES[piece]
    merged, swapped, late = f"b*{n}*d + g*{n}*d_k + i*d_k + c", f"i*{B}*d + b*d + g*d_k + c", f"i*h + {ahead}"
    return Exercise(
        id="03-strides",
        kind="derive",
        title="Two addresses and a leak",
        minutes=8,
        difficulty=2,
        marks=2,
        prompt=f"The contiguous `x` has shape $({B}, {n}, d)$, with $d = h\\,d_k$. Give three formulas as text. **(a)** `merged`: "
        f"`merge_heads(out)` of a contiguous `out` of shape $({B}, h, {n}, d_k)$ reads sample $b$, position $i$, head $g$, dim "
        f"$c$ from which address **of `out`**? Use `{', '.join(_names(n))}`. **(b)** `swapped`: "
        f"`x.view({n}, {B}, h, d_k).permute(1, 2, 0, 3)[b, g, i, c]` lies at which address of `x`? Use `{', '.join(_names(B))}`. "
        f"**(c)** `late`: the flat merge `out.reshape({B}, {n}, h * d_k)` of the same `out`. Its row $i$ holds $h$ pieces of $d_k$ "
        f"numbers; as long as $(i + 1)\\,h \\le {n}$, all are head 0's. From which position comes the {piece} of them? "
        "Use `i, h`.",
        stub='merged = ""\nswapped = ""\nlate = ""\n',
        solution=f'merged = "{merged}"\nswapped = "{swapped}"\nlate = "{late}"\n',
        points=(
            expression(
                "merged",
                f"Write down the strides of a contiguous ({B}, h, {n}, d_k), and multiply each by its index.",
                {name: _RANGES[name] for name in _names(n)},
                part=0,
            ),
            expression(
                "swapped",
                "In the view the first axis counts positions, and each of its steps passes over "
                f"{B} rows of width d.",
                {name: _RANGES[name] for name in _names(B)},
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
            f"For (b): the strides of `x.view({n}, {B}, h, d_k)` are $({B} d, d, d_k, 1)$; `permute` says which index is which.",
            "For (c): row 0 holds positions 0 to $h - 1$ of head 0. Where does row 1 begin?",
        ),
        mutants=(
            Mutant(
                "address in x",
                "merged",
                f"That is where it lies after merging. Before, each head has {n} rows of its own.",
                ((merged, f"b*{n}*d + i*d + g*d_k + c"),),
            ),
            Mutant(
                "samples forgotten",
                "merged",
                f"Each sample before takes {n} · d numbers.",
                ((f"b*{n}*d + ", ""),),
            ),
            Mutant(
                "width of a head squared",
                "merged",
                f"A head holds {n} rows of d_k numbers.",
                ((f"g*{n}*d_k", "g*d_k*d_k"),),
            ),
            Mutant(
                "the right split",
                "swapped",
                f"That is the right split's address: there b steps over {n} rows. Here the view takes positions first, so i "
                f"steps over {B} rows.",
                ((f'swapped = "i*{B}*d + b*d', f'swapped = "b*{B}*d + i*d'),),
            ),
            Mutant(
                "samples side by side",
                "swapped",
                "Two samples of the view are one row of width d apart.",
                ((f"i*{B}*d + b*d +", f"i*{B}*d + b +"),),
            ),
            Mutant(
                "the first piece",
                "late",
                f"That is the first of the h positions in this row. The {piece} "
                f"{'one' if last else 'of them'} is {ahead} further on.",
                ((f'"{late}"', '"i*h"'),),
            ),
            Mutant(
                "one too far",
                "late",
                "That is where the next row begins. Positions count from 0."
                if last
                else "That is one position further on. Positions count from 0.",
                ((f'"{late}"', f'"i*h + 1 + {ahead}"'),),
            ),
            Mutant(
                "each row one further",
                "late",
                "Row 1 begins where row 0 ended: a row takes up h positions, not one.",
                ((f'"{late}"', f'"i + {ahead}"'),),
            ),
            Mutant(
                "address instead of position",
                "late",
                "Only i and h are needed: count pieces of d_k numbers, not numbers.",
                ((f'"{late}"', f'"i*h*h + {ahead}"'),),
            ),
        ),
        variants=(
            (
                f'merged = "c + d_k*(i + {n}*g) + {n}*d*b"\nswapped = "(i*{B} + b)*d + g*d_k + c"\n'
                f'late = "h*i + ({ahead})"\n'
            ),
            (
                f"def merged({', '.join(_names(n))}):\n    return ((b * (d / d_k) + g) * {n} + i) * d_k + c\n\n"
                f"def swapped({', '.join(_names(B))}):\n    return d * ({B} * i + b) + d_k * g + c\n\n"
                f"late = 'h × i + ({ahead.replace('-', '−')})'\n"
            ),
            (
                f'merged = "b·{n}·d + {n}·d_k·g + d_k·i + c"\nswapped = "{B}*d*i + d*b + d_k*g + c"\n'
                f'late = "(i+1)*h-(h - ({ahead}))"\n'
            ),
        ),
        why="All five faults are a wrong set of strides, or the right strides read in the wrong order. With the flat merge "
        "row i of the output reads up to position i · h + h - 1: the later the row, the further ahead it looks.",
    )


STRIDES = varied(_strides, ("n", "B", "last"), _cases)
