"""Recall: strides, an address, and the position that hides behind a view."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

ADDRESSES = Exercise(
    id="03-addresses",
    kind="recall",
    title="Where does it lie?",
    minutes=5,
    marks=2,
    prompt="On paper, no code. `x` is contiguous with shape $(B, n, d) = (2, 5, 12)$, and there are 3 heads. "
    "**(a)** `strides`: the four strides of `split_heads(x, 3)`, as a list. **(b)** `address`: where in memory does "
    "`split_heads(x, 3)[1, 2, 3, 0]` lie? The first number of `x` has address 0. **(c)** `position`: from which "
    "position of `x` does `x.view(2, 3, 5, 4)[0, 1, 0]` really come?",
    stub="strides = ...\naddress = ...\nposition = ...\n",
    solution="strides = [60, 4, 12, 1]\naddress = 104\nposition = 1\n",
    points=(
        value(
            "strides",
            "The axes are batch, head, position, dim. How far is it in memory to the next one of each?",
            [60, 4, 12, 1],
            part=0,
        ),
        value("address", "Multiply each index by the stride of its axis, and add up.", 104, part=1),
        value("position", "The address over the width 12, rounded down, counts whole positions.", 1, part=2),
    ),
    hints=(
        "One position of `x` is 12 numbers, one sample is 5 · 12. A head's numbers lie next to each other.",
        "(b) is 1 · 60 + 2 · (stride of the head) + 3 · (stride of the position) + 0.",
        "(c) The view's strides are (60, 20, 4, 1), so its head 1 begins at address 20.",
    ),
    mutants=(
        Mutant(
            "strides of a fresh tensor",
            "strides",
            "Those belong to a contiguous tensor of shape (2, 3, 5, 4), which is what the wrong view gives. "
            "The split only swaps two axes of (60, 12, 4, 1).",
            (("[60, 4, 12, 1]", "[60, 20, 4, 1]"),),
        ),
        Mutant(
            "before the transpose",
            "strides",
            "Those are the strides of (batch, position, head, dim). The transpose swaps the middle two.",
            (("[60, 4, 12, 1]", "[60, 12, 4, 1]"),),
        ),
        Mutant(
            "sizes for strides",
            "strides",
            "That is the shape. A stride is a distance in memory.",
            (("[60, 4, 12, 1]", "[2, 3, 5, 4]"),),
        ),
        Mutant(
            "address in the view",
            "address",
            "That is the address in the view without a transpose, with strides (60, 20, 4, 1).",
            (("= 104", "= 112"),),
        ),
        Mutant(
            "sample left out", "address", "The second sample begins 60 numbers later.", (("= 104", "= 44"),)
        ),
        Mutant(
            "head and position exchanged",
            "address",
            "The index 2 is the head, the index 3 the position.",
            (("= 104", "= 96"),),
        ),
        Mutant(
            "the row's number",
            "position",
            "That is the number of the row. What lies there comes from elsewhere.",
            (("position = 1", "position = 0"),),
        ),
        Mutant(
            "rounded up",
            "position",
            "20 / 12 is 1.67. The position is the number of whole rows before the address: round down.",
            (("position = 1", "position = 2"),),
        ),
    ),
    variants=(
        "strides, address, position = (60, 4, 12, 1), 104.0, 1\n",
        (
            "n, d, h = 5, 12, 3\nd_k = d // h\nstrides = [n * d, d_k, d, 1]\n"
            "address = 1 * n * d + 2 * d_k + 3 * d\nposition = (1 * n + 0) // h\n"
        ),
        (
            "x = torch.arange(120).view(2, 5, 12)\ns = x.unflatten(-1, (3, 4)).transpose(1, 2)\n"
            "strides = list(s.stride())\naddress = s[1, 2, 3, 0]\nposition = x.view(2, 3, 5, 4)[0, 1, 0, 0] // 12\n"
        ),
    ),
    why="Row 0 of the view's head 1 holds position 1: the past of nothing, and already the future.",
)
