"""Drawings of chapter 01: rows of weights, scores by number of heads, knock-outs, depth, and the map."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from mha_teach import theme
from mha_teach.figures.base import SCORES, axes, heatmap, spread
from mha_teach.shapes import Float, Tensor


def rows(
    weights: Sequence[Float[Tensor, "head key"]], tokens: Sequence[str], titles: Sequence[str]
) -> list[Axes]:
    """One panel per layer: a softmax row for each head over the same tokens."""
    panels = axes(6.4, 2.0, columns=len(weights), width_ratios=[1] * len(weights))
    for panel, row, title in zip(panels, weights, titles, strict=True):
        names = [f"head {i + 1}" for i in range(len(row))]
        heatmap(panel, row, names, tokens, numbers=True, title=title)
        panel.set_ylabel("")
    return panels


def by_heads(
    ax: Axes,
    num_heads: Sequence[int],
    runs: Float[Tensor, "config seed"],
    label: str,
    levels: dict[str, float] | None = None,
) -> Axes:
    """Score against the number of heads, one dot per seed; ``levels`` are dashed lines with names."""
    spread(ax, list(num_heads), runs.T, label)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(num_heads), [str(h) for h in num_heads])
    ax.minorticks_off()
    ax.set(xlabel="num_heads", ylabel="score", ylim=(0, 1.04))
    for name, level in (levels or {}).items():
        ax.axhline(level, color=theme.palette()["muted"]["light"], lw=1, ls="--", zorder=0)
        ax.text(
            1,
            level + 0.015,
            name,
            fontsize=8,
            color=theme.palette()["muted"]["light"],
            ha="right",
            transform=ax.get_yaxis_transform(),
        )
    return ax


def served(mass: Float[Tensor, "head role"], loss: Float[Tensor, "head role"]) -> list[Axes]:
    """Left what each head looks at, right what knocking it out costs: a look and its use, side by side."""
    left, right = axes(6.4, 2.7, columns=2)
    names = [f"head {i + 1}" for i in range(len(mass))]
    roles = [f"role {i + 1}" for i in range(mass.shape[1])]
    heatmap(left, mass, names, roles, numbers=True, title="weight on the role's item")
    right.imshow(-loss, cmap=SCORES, vmin=-1, vmax=1)
    right.spines[:].set_visible(False)
    for i in range(loss.shape[0]):
        for j in range(loss.shape[1]):
            deep = loss[i, j] > 0.6
            right.text(
                j,
                i,
                f"{round(-float(loss[i, j]), 2) + 0.0:+.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if deep else "0.1",
            )
    right.set_xticks(range(len(roles)), roles)
    right.set_yticks(range(len(names)), names)
    right.set_title("change when knocked out")
    for panel in (left, right):
        panel.set(xlabel="", ylabel="")
    return [left, right]


def depth(ax: Axes, distances: dict[str, Float[Tensor, "seed layer"]]) -> Axes:
    """Distance to one common row against depth, on a logarithmic axis, one dot per seed."""
    for label, runs in distances.items():
        spread(ax, list(range(runs.shape[-1])), runs.clamp_min(1e-16), label)
    ax.set_yscale("log")
    ax.set(xlabel="layers", ylabel="distance to one common row", ylim=(1e-16, 3))
    ax.legend(frameon=False)
    return ax


def recap(
    ax: Axes, num_heads: Sequence[int], runs: Float[Tensor, "config seed"], roles: int, bag: float
) -> Axes:
    """The chapter in one picture: too few rows, enough rows, too narrow keys."""
    muted = theme.palette()["muted"]["light"]
    by_heads(ax, num_heads, runs, "")
    last, good = max(num_heads), [h for h, run in zip(num_heads, runs, strict=True) if run.mean() > 0.9]
    edges = [num_heads[0] / 2.2, roles / 1.4, max(good, default=roles) * 1.4, last * 1.4]
    said = (
        "too few rows:\nroles share one",
        "enough rows,\nkeys wide enough",
        "too narrow keys:\nrows can't aim",
    )
    hues = (
        theme.palette()["bad"]["light"],
        theme.palette()["good"]["light"],
        theme.palette()["bad"]["light"],
    )
    for start, end, words, hue in zip(edges, edges[1:], said, hues, strict=False):
        ax.axvspan(start, end, color=hue, alpha=0.10, lw=0)
        ax.text((start * end) ** 0.5, 1.12, words, ha="center", va="center", fontsize=8, color=hue)
    ax.axhline(bag, color=muted, lw=1, ls="--")
    ax.text(last * 1.35, bag + 0.02, "the bag", ha="right", fontsize=8, color=muted)
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, 1.24), yticks=[0, 0.25, 0.5, 0.75, 1])
    return ax
