"""Drawings of chapter 00: one query in the plane, weights with their sums, looked at against used, everything at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from mha_teach import theme
from mha_teach.figures import base
from mha_teach.shapes import Float, Tensor


def one_query(
    query: Float[Tensor, " 2"],
    keys: Float[Tensor, "key 2"],
    weights: Float[Tensor, " key"],
    words: Sequence[str],
    asking: str,
) -> list[Axes]:
    """Left: the query and the keys as arrows in the plane. Right: the weight that each key gets."""
    left, right = base.axes(7.2, 3.0, columns=2)
    hue = theme.role("query")
    _arrow(left, query, hue, f"what “{asking}” asks", wide=True)
    for word, key in zip(words, keys.tolist(), strict=True):
        _arrow(left, key, theme.role("key"), word)
    reach = float(torch.cat([keys, query[None]]).abs().max()) * 1.25
    left.set(xlim=(-0.1 * reach, 1.15 * reach), ylim=(-0.22 * reach, 1.05 * reach), aspect="equal")
    left.set(xlabel="can be hungry", ylabel="is soft", title="query and keys")
    places = range(len(words))
    right.barh(places, weights.tolist(), color=theme.palette()["weights"][3], height=0.6)
    for place, weight in zip(places, weights.tolist(), strict=True):
        right.text(weight + 0.02, place, f"{weight:.2f}", va="center")
    right.set_yticks(places, words)
    right.invert_yaxis()
    right.set(xlim=(0, 1.12), xlabel="weight", title=f"where “{asking}” looks")
    return [left, right]


def with_sums(maps: dict[str, Float[Tensor, "query key"]]) -> list[Axes]:
    """Heat maps side by side; at the right of each row and under each column stands its sum."""
    columns = base.axes(3.4 * len(maps), 3.1, columns=len(maps))
    for ax, (title, weights) in zip(columns, maps.items(), strict=True):
        base.heatmap(ax, weights, numbers=True, title=title)
        queries, keys = weights.shape
        for axis, size in ((1, queries), (0, keys)):
            for place, total in enumerate(weights.sum(axis).tolist()):
                good = abs(total - 1) < 1e-3
                spot = (keys - 0.3, place) if axis == 1 else (place, queries - 0.3)
                ink = theme.palette()["good" if good else "muted"]["light"]
                weight, align = ("bold" if good else "normal"), ("left" if axis == 1 else "center")
                ax.text(
                    *spot, f"{total:.2f}", color=ink, fontweight=weight, ha=align, va="center", fontsize=8
                )
        ax.text(keys - 0.3, queries - 0.3, "sum", color="0.4", va="center", fontsize=8)
        ax.set(xlim=(-0.5, keys + 0.3), ylim=(queries + 0.0, -0.5))
    return columns


def looked_and_used(
    weights: Float[Tensor, "query key"], used: Float[Tensor, "query key"], words: Sequence[str]
) -> list[Axes]:
    """Left: the weights. Right: how far the output moves when the key's value is set to zero, in the same colours up to 1."""
    left, right = base.axes(7.2, 3.3, columns=2)
    base.heatmap(left, weights, words, words, numbers=True, title="looked at: weight")
    share = used / used.max().clamp(min=1)  # equal numbers look equal, as long as both fit
    base.heatmap(right, share, words, words, title="used: output lost without the value")
    for (row, column), value in ((cell, share[cell]) for cell in _cells(share)):
        ink = "white" if value > 0.55 else "0.1"
        right.text(column, row, f"{used[row, column]:.2f}", ha="center", va="center", fontsize=8, color=ink)
    return [left, right]


def everything(
    q: Float[Tensor, "query d_k"],
    k: Float[Tensor, "key d_k"],
    scores: Float[Tensor, "query key"],
    weights: Float[Tensor, "query key"],
    v: Float[Tensor, "key d_v"],
    output: Float[Tensor, "query d_v"],
) -> list[Axes]:
    """The whole computation in one row: q · kᵀ, scores, weights, · v = output, each with its shape and in its colour."""
    parts = [("", "q", q, "query"), ("·", "kᵀ", k.T, "key"), ("→", "scores", scores, None)]
    parts += [("→", "weights", weights, None), ("·", "v", v, "value"), ("=", "output", output, "output")]
    sizes = [x.shape[1] + 1.6 for _, _, x, _ in parts]
    tall = max(x.shape[0] for _, _, x, _ in parts)
    columns = base.axes(9.6, 2.6, columns=6, width_ratios=sizes)
    for ax, size, (sign, name, x, role) in zip(columns, sizes, parts, strict=True):
        base.heatmap(ax, x, kind="weights" if name == "weights" else "scores")
        ink = theme.role(role) if role else theme.palette()["ink"]["light"]
        rows, width = x.shape
        box = {"transform": ax.transData, "color": ink, "ha": "center"}
        ax.text((width - 1) / 2, -1.0, f"{name}\n{tuple(x.shape)}", va="bottom", fontsize=9, **box)
        ax.text(-1.3, (rows - 1) / 2, sign, va="center", fontsize=14, color="0.3", ha="center")
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="", xlim=(-2.1, size - 2.1))
        ax.set_ylim((rows - 1) / 2 + tall / 2 + 0.2, (rows - 1) / 2 - tall / 2 - 2.2)
        ax.add_patch(_frame(width, rows, ink))
    return columns


def _frame(width: int, rows: int, ink: str) -> Rectangle:
    return Rectangle((-0.5, -0.5), width, rows, fill=False, edgecolor=ink, linewidth=1.8, clip_on=False)


def _arrow(ax: Axes, tip: Sequence[float], hue: str, name: str, wide: bool = False) -> None:
    x, y = (float(t) for t in tip)
    shape = {"arrowstyle": "-|>", "color": hue, "lw": 3.2 if wide else 1.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (x, y), (0, 0), arrowprops=shape | ({"alpha": 0.55} if wide else {}))
    place = {"xytext": (0, -13), "ha": "center"} if wide else {"xytext": (6, 3)}
    ax.annotate(name, (x, y), textcoords="offset points", color=hue, **place)


def _cells(values: Tensor):
    return ((row, column) for row in range(values.shape[0]) for column in range(values.shape[1]))
