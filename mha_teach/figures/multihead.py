"""Drawings of chapter 05: the fused matrix, what W_O does, equal heads, the race, the recap."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from mha_teach import theme
from mha_teach.figures.base import SCORES, axes, heatmap
from mha_teach.shapes import Float, Tensor

ROLES = ("query", "key", "value")


def two_maps(weights: Float[Tensor, "head query key"], tokens: Sequence[str]) -> list[Axes]:
    """The weights of every head side by side, numbers in the cells."""
    panels = axes(3.0 * len(weights), 2.6, columns=len(weights))
    for i, (ax, one) in enumerate(zip(panels, weights, strict=True)):
        heatmap(ax, one, tokens, tokens, numbers=True, title=f"head {i}")
    return panels


def blocks(d_model: int, num_heads: int, d_k: int, d_v: int) -> list[Axes]:
    """``in_proj_weight`` as rows for each role and head, ``out_proj.weight`` as columns for each head; one head is full."""
    panels = axes(7.4, 3.6, columns=2)
    row = 0
    for role, width in zip(ROLES, (d_k, d_k, d_v), strict=True):
        for head in range(num_heads):
            _block(panels[0], 0, row, d_model, width, theme.role(role), head)
            row += width
        panels[0].text(
            -0.03 * d_model,
            row - num_heads * width / 2,
            role,
            ha="right",
            va="center",
            color=theme.role(role),
        )
    for head in range(num_heads):
        _block(panels[1], head * d_v, 0, d_v, d_model, theme.role("output"), head)
    sizes = ((d_model, row), (num_heads * d_v, d_model))
    names = ("in_proj_weight", "out_proj.weight")
    for ax, (width, height), name in zip(panels, sizes, names, strict=True):
        ax.set(xlim=(0, width), ylim=(height, 0), title=f"{name} ({height}, {width})")
        ax.set_aspect("equal", anchor="N")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
    panels[0].set_xlabel("reads all of d_model")
    panels[1].set_ylabel("writes to all of d_model")
    return panels


def _block(ax: Axes, x: float, y: float, width: float, height: float, color: str, head: int) -> None:
    look = {"facecolor": color, "edgecolor": "white", "lw": 1.2, "alpha": 0.85 if head == 0 else 0.35}
    ax.add_patch(plt.Rectangle((x, y), width, height, **look))
    ink = "white" if head == 0 else theme.palette()["ink"]["light"]
    ax.text(x + width / 2, y + height / 2, f"head {head}", ha="center", va="center", fontsize=8, color=ink)


def written(before: Float[Tensor, "head d_model"], after: Float[Tensor, "head d_model"]) -> list[Axes]:
    """What each head adds to one token's output, without and with W_O; white is nothing."""
    panels = axes(7.4, 2.5, columns=2, sharey=True)
    limit = float(torch.cat([before, after]).detach().abs().max())
    titles = ("without W_O", "with W_O")
    for ax, parts, title in zip(panels, (before, after), titles, strict=True):
        image = ax.imshow(parts.detach().numpy(), cmap=SCORES, vmin=-limit, vmax=limit, aspect="auto")
        ax.set(xlabel="channel", title=title)
        ax.set_yticks(range(len(parts)), [f"head {i}" for i in range(len(parts))])
        ax.spines[:].set_visible(False)
    panels[0].figure.colorbar(image, ax=panels, label="adds", fraction=0.04)
    return panels


def starts(steps: Sequence[int], losses: Float[Tensor, "start seed logged"], labels: Sequence[str]) -> Axes:
    """Loss against step for several ways to start: every seed thin, the mean thick, the name at the end."""
    ax = axes(6.8, 3.5)
    for i, (runs, label) in enumerate(zip(losses, labels, strict=True)):
        style = ("-", "--", "-.", ":", (0, (5, 1)))[i % 5]
        for run in runs:
            ax.plot(steps, run, color=theme.series(i), lw=0.6, alpha=0.4)
        ax.plot(steps, runs.mean(0), color=theme.series(i), lw=2, ls=style, label=label)
    ax.set(xlabel="step", ylabel="loss (nats)")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8.5, frameon=False)
    return ax


def race(rows: Sequence[dict]) -> list[Axes]:
    """CPU time, ours over torch's, one row for each size and number of heads; left of the line ours is faster.

    ``rows`` are those of ``measured("multihead")``: size, heads, weights, masked, backward, ratio, interval (a line).
    """
    panels = axes(7.6, 3.9, columns=2, sharex=True, sharey=True)
    places = list(dict.fromkeys((row["size"], row["heads"]) for row in rows))
    for ax, weights in zip(panels, (False, True), strict=True):
        for i, (backward, masked) in enumerate(((False, False), (True, False), (False, True), (True, True))):
            shown = [
                r for r in rows if (r["weights"], r["backward"], r["masked"]) == (weights, backward, masked)
            ]
            color = theme.series(int(backward))
            label = ("forward", "forward + backward")[backward] + (", masked" if masked else "")
            heights = [places.index((row["size"], row["heads"])) + 0.18 * (i - 1.5) for row in shown]
            low, high = ([row["interval"][end] for row in shown] for end in (0, 1))
            ax.hlines(heights, low, high, color=color, lw=1)
            ax.scatter(
                [row["ratio"] for row in shown],
                heights,
                marker="os"[backward], s=24, label=label, edgecolors=color,
                facecolors="none" if masked else color,
            )  # fmt: skip
        ax.axvline(1, color=theme.palette()["muted"]["light"], lw=1)
        ax.set(xlabel="time, ours / torch", title="with per-head weights" if weights else "without weights")
    panels[0].set_yticks(range(len(places)), [f"{size.replace('x', ' × ')}, h = {h}" for size, h in places])
    panels[0].invert_yaxis()
    entries = panels[0].get_legend_handles_labels()
    panels[0].figure.legend(*entries, fontsize=8, frameon=False, loc="outside lower center", ncols=4)
    return panels


def recap(steps: Sequence[tuple[str, str, str]]) -> Axes:
    """The way of the numbers: (name, shape, role) from left to right, role a hue of the theme or ``""``."""
    ax = axes(7.6, 1.7)
    for i, (name, shape, role) in enumerate(steps):
        color = theme.role(role) if role else theme.palette()["muted"]["light"]
        ax.add_patch(plt.Rectangle((i, 0), 0.82, 1, facecolor=(color, 0.16), edgecolor=color))
        ax.text(i + 0.41, 0.66, name, ha="center", va="center", fontsize=9)
        ax.text(i + 0.41, 0.3, shape, ha="center", va="center", fontsize=7.5)
        if i:
            ax.annotate("", (i, 0.5), (i - 0.18, 0.5), arrowprops={"arrowstyle": "->"})
    ax.set(xlim=(-0.05, len(steps) - 0.1), ylim=(-0.1, 1.1))
    ax.axis("off")
    return ax
