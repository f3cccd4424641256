"""Recall: strides, an address, and the position that hides behind a view."""

from __future__ import annotations

from math import ceil

from mha_teach.exercises.cases import apart, varied
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

_ADDRESSES = ("right", "in the view", "sample left out", "exchanged")


def _addresses_of(n: int, h: int, d_k: int, at: tuple[int, int, int, int]) -> dict[str, int]:
    """Where ``split_heads(x, h)[at]`` lies, and where it would lie after three slips."""
    b, g, i, c = at
    d = h * d_k
    found = (
        b * n * d + g * d_k + i * d + c,
        b * n * d + g * n * d_k + i * d_k + c,
        g * d_k + i * d + c,
        b * n * d + i * d_k + g * d + c,
    )
    return dict(zip(_ADDRESSES, found, strict=True))


def _cases() -> list[tuple]:
    sizes = [
        (samples, n, h, d_k)
        for samples in (2, 3)
        for h in (3, 4, 5)
        for n in (5, 7, 9, 10, 11)
        for d_k in (4, 5, 6, 8)
        if n > h and n % h and d_k not in (h, n) and n * h * d_k != 60  # 60 is the book's
    ]
    return [
        (*size, (size[0] - 1, g, i, c), head)
        for size in sizes
        for g in range(1, size[2])
        for i in range(1, size[2])
        for c in (0, 1, 3)
        for head in range(1, size[2])
        if head * size[1] % size[2]  # a division with a rest: rounding down and up differ
        and apart(*_addresses_of(*size[1:], (size[0] - 1, g, i, c)).values())
    ]


def _addresses(samples: int, n: int, h: int, d_k: int, at: tuple[int, int, int, int], head: int) -> Exercise:
    """Asked are the address of ``at`` after the right split, and what row 0 of the view's ``head`` holds."""
    b, g, i, c = at
    d, sample = h * d_k, n * h * d_k
    address = _addresses_of(n, h, d_k, at)
    row = head * n * d_k  # where the view's head begins
    position = row // d
    strides, fresh = [sample, d_k, d, 1], [sample, n * d_k, d_k, 1]
    first, second, third = (
        f"strides = {strides}",
        f"address = {address['right']}",
        f"position = {position}",
    )
    return Exercise(
        id="03-addresses",
        kind="recall",
        title="Where does it lie?",
        minutes=5,
        marks=2,
        prompt=f"On paper, no code. `x` is contiguous with shape $(B, n, d) = ({samples}, {n}, {d})$, and there are {h} heads. "
        f"**(a)** `strides`: the four strides of `split_heads(x, {h})`, as a list. **(b)** `address`: where in memory does "
        f"`split_heads(x, {h})[{b}, {g}, {i}, {c}]` lie? The first number of `x` has address 0. **(c)** `position`: from which "
        f"position of `x` does `x.view({samples}, {h}, {n}, {d_k})[0, {head}, 0]` really come?",
        stub="strides = ...\naddress = ...\nposition = ...\n",
        solution=f"{first}\n{second}\n{third}\n",
        points=(
            value(
                "strides",
                "The axes are batch, head, position, dim. How far is it in memory to the next one of each?",
                strides,
                part=0,
            ),
            value(
                "address",
                "Multiply each index by the stride of its axis, and add up.",
                address["right"],
                part=1,
            ),
            value(
                "position",
                f"The address over the width {d}, rounded down, counts whole positions.",
                position,
                part=2,
            ),
        ),
        hints=(
            f"One position of `x` is {d} numbers, one sample is {n} · {d}. A head's numbers lie next to each other.",
            f"(b) is {b} · {sample} + {g} · (stride of the head) + {i} · (stride of the position) + {c}.",
            f"(c) The view's strides are {tuple(fresh)}, so its head {head} begins at address {row}.",
        ),
        mutants=(
            Mutant(
                "strides of a fresh tensor",
                "strides",
                f"Those belong to a contiguous tensor of shape ({samples}, {h}, {n}, {d_k}), which is what the wrong view gives. "
                f"The split only swaps two axes of ({sample}, {d}, {d_k}, 1).",
                ((first, f"strides = {fresh}"),),
            ),
            Mutant(
                "before the transpose",
                "strides",
                "Those are the strides of (batch, position, head, dim). The transpose swaps the middle two.",
                ((first, f"strides = {[sample, d, d_k, 1]}"),),
            ),
            Mutant(
                "sizes for strides",
                "strides",
                "That is the shape. A stride is a distance in memory.",
                ((first, f"strides = {[samples, h, n, d_k]}"),),
            ),
            Mutant(
                "address in the view",
                "address",
                f"That is the address in the view without a transpose, with strides {tuple(fresh)}.",
                ((second, f"address = {address['in the view']}"),),
            ),
            Mutant(
                "sample left out",
                "address",
                f"The {('second', 'third')[b - 1]} sample begins {b * sample} numbers later.",
                ((second, f"address = {address['sample left out']}"),),
            ),
            Mutant(
                "head and position exchanged",
                "address",
                f"The index {g} is the head, the index {i} the position.",
                ((second, f"address = {address['exchanged']}"),),
            ),
            Mutant(
                "the row's number",
                "position",
                "That is the number of the row. What lies there comes from elsewhere.",
                ((third, "position = 0"),),
            ),
            Mutant(
                "rounded up",
                "position",
                f"{row} / {d} is {row / d:.2f}. The position is the number of whole rows before the address: round down.",
                ((third, f"position = {ceil(row / d)}"),),
            ),
        ),
        variants=(
            f"strides, address, position = {tuple(strides)}, {address['right']}.0, {position}\n",
            (
                f"n, d, h = {n}, {d}, {h}\nd_k = d // h\nstrides = [n * d, d_k, d, 1]\n"
                f"address = {b} * n * d + {g} * d_k + {i} * d + {c}\nposition = ({head} * n + 0) // h\n"
            ),
            (
                f"x = torch.arange({samples * sample}).view({samples}, {n}, {d})\n"
                f"s = x.unflatten(-1, ({h}, {d_k})).transpose(1, 2)\nstrides = list(s.stride())\n"
                f"address = s[{b}, {g}, {i}, {c}]\n"
                f"position = x.view({samples}, {h}, {n}, {d_k})[0, {head}, 0, 0] // {d}\n"
            ),
        ),
        why=f"The split gives the last axis of `x` two names and swaps two axes; no number moves. A step costs {sample} along "
        f"the samples, {d_k} along the heads, {d} along the positions, 1 along d_k. The address is {b}·{sample} + {g}·{d_k} + "
        f"{i}·{d} + {c}·1 = {address['right']}. In the wrong view, head {head} begins at address {row}, which lies in position "
        f"{row} // {d} = {position}: its row 0 reads the future.",
    )


ADDRESSES = varied(_addresses, (2, 5, 3, 4, (1, 2, 3, 0), 1), _cases)
