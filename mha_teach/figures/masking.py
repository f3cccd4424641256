"""Drawings of chapter 04: masks, the order of mask and softmax, pure noise learned, and who finds which fault."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from mha_teach import theme
from mha_teach.figures.base import WEIGHTS, axes, heatmap
from mha_teach.shapes import Bool, Float, Tensor


def masks(named: dict[str, Bool[Tensor, "query key"]]) -> list[Axes]:
    """One panel per mask: what may be seen is filled, what may not is hatched. Cells have one size in all panels."""
    widths = [mask.shape[1] for mask in named.values()]
    panels = axes(7.8, 2.2, columns=len(named), width_ratios=widths)
    for ax, (name, mask) in zip(panels, named.items(), strict=True):
        heatmap(ax, 0.45 * mask.double(), mask=mask, title=name)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.title.set_fontsize(9)
        if ax is not panels[0]:
            ax.set_ylabel("")
    return panels


def orders(
    named: dict[str, Float[Tensor, "query key"]],
    mask: Bool[Tensor, "query key"],
    tokens: Sequence[str],
) -> list[Axes]:
    """Weights under each order of mask and softmax, and at the right edge the sum of every row."""
    panels = axes(7.8, 2.9, columns=len(named))
    for ax, (name, weights) in zip(panels, named.items(), strict=True):
        heatmap(ax, weights, tokens, tokens, mask=mask, numbers=True, title=name)
        for row, total in enumerate(weights.sum(-1).tolist()):
            wrong = abs(total - 1) > 0.005
            color = theme.palette()["bad" if wrong else "muted"]["light"]
            ax.text(len(tokens) - 0.35, row, f"{total:.2f}", va="center", fontsize=8, color=color)
        ax.text(len(tokens) - 0.35, -0.72, "sum", fontsize=8, color=theme.palette()["muted"]["light"])
        if ax is not panels[0]:
            ax.set_ylabel("")
            ax.set_yticks([])
    return panels


def noise(
    names: Sequence[str],
    steps: Sequence[int],
    losses: Float[Tensor, "placement seed logged"],
    shown: Float[Tensor, "placement seed"],
    alone: Float[Tensor, "placement seed"],
    chance: float,
) -> list[Axes]:
    """Left the loss of every seed; right, a dot per seed, how often the next symbol is right with and without a future."""
    left, right = axes(8.0, 3.5, columns=2, width_ratios=[1.1, 1])
    muted = theme.palette()["muted"]["light"]
    marks = ("-", "-", (0, (2, 2)), "-.")
    for i, (name, runs) in enumerate(zip(names, losses, strict=True)):
        if runs.isnan().all():
            continue
        for run in runs:
            left.plot(steps, run, color=theme.series(i), lw=0.6, alpha=0.4, ls=marks[i % 4])
        left.plot(steps, runs.mean(0), color=theme.series(i), lw=2.2, ls=marks[i % 4], label=name)
    left.axhline(-math.log(chance), color=muted, lw=1, ls=":")
    left.set(xlabel="step", ylabel="loss (nats)", ylim=(0, None), title="while training")
    left.legend(fontsize=8, frameon=False, loc="center right")
    for i, name in enumerate(names):
        for values, marker, shift in ((shown[i], "o", 0.12), (alone[i], "x", -0.12)):
            color = theme.series(i)
            right.scatter(values, [i - shift] * len(values), color=color, marker=marker, s=30, alpha=0.8)
        if shown[i].isnan().any():
            right.text(0.5, i, "NaN", color=muted, ha="center", va="center", fontsize=9)
    right.axvline(chance, color=muted, lw=1, ls=":")
    right.text(chance + 0.02, len(names) - 0.45, "chance", fontsize=8, color=muted, va="center")
    right.set_yticks(range(len(names)), names)
    right.set(
        xlim=(0, 1.05),
        ylim=(len(names) - 0.3, -0.6),
        xlabel="next symbol right",
        title="● future shown   × past only",
    )
    return [left, right]


def kept(shares: Float[Tensor, "head symbol"], title: str = "") -> Axes:
    """What is left of a row after the mask, for each head, when one future symbol is changed."""
    ax = axes(5.6, 3.0)
    image = ax.imshow(shares.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto")
    ax.spines[:].set_visible(False)
    for row, column in ((i, j) for i in range(shares.shape[0]) for j in range(shares.shape[1])):
        value = float(shares[row, column])
        ink = "white" if value > 0.55 else "0.1"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
    ax.set_xticks(range(shares.shape[1]))
    ax.set_yticks(range(shares.shape[0]), [f"head {i}" for i in range(shares.shape[0])])
    ax.set(xlabel="the next symbol, which is masked", title=title)
    ax.figure.colorbar(image, ax=ax, label="sum of the row", fraction=0.05)
    return ax


def detection(found: dict[str, Sequence[str]], checks: Sequence[str]) -> Axes:
    """Rows are masks, columns are checks. A filled cell carries the word of what was found; "–" stays empty."""
    ax = axes(7.4, 0.8 + 0.29 * len(found))
    good, bad, muted = (theme.palette()[name]["light"] for name in ("good", "bad", "muted"))
    for row, words in enumerate(found.values()):
        for column, word in enumerate(words):
            silent = word == "–"
            face = "none" if silent else (good if word == "same" else bad)
            box = plt.Rectangle((column - 0.46, row - 0.42), 0.92, 0.84, facecolor=face, alpha=0.16, lw=0)
            ax.add_patch(box)
            color = muted if silent else face
            ax.text(column, row, word, ha="center", va="center", fontsize=8.5, color=color)
    ax.set_xticks(range(len(checks)), checks)
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(found)), found)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlim=(-0.5, len(checks) - 0.5), ylim=(len(found) - 0.5, -0.5))
    return ax
