"""Drawings of chapter 02: variance, saturation, gradients, training with and without the scale."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes

from mha_teach import theme
from mha_teach.figures.base import WEIGHTS, axes
from mha_teach.shapes import Float, Tensor


def variance_lines(
    widths: Sequence[int],
    measured: dict[str, Sequence[float]],
    predicted: dict[str, Sequence[float]],
    title: str = "",
) -> Axes:
    """Predictions as lines, measurements as dots, both axes in powers of two."""
    ax = axes(6.4, 3.6)
    for i, (name, values) in enumerate(measured.items()):
        ax.plot(widths, predicted[name], color=theme.series(i), lw=1.5)
        ax.scatter(widths, values, color=theme.series(i), marker="os^Dv"[i], s=26, zorder=3)
        ax.annotate(
            name,
            (widths[-1], values[-1]),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=theme.series(i),
            fontsize=9,
        )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set(xlabel="d_k", ylabel="variance of a score", title=title)
    ax.set_xticks(widths, map(str, widths))
    ax.margins(x=0.03)
    return ax


def softmax_strips(rows: dict[str, Float[Tensor, " key"]], title: str = "") -> Axes:
    """One softmax row per strip, weights from 0 to 1, the largest weight as a number."""
    ax = axes(6.4, 0.55 + 0.42 * len(rows))
    weights = torch.stack([row.detach() for row in rows.values()])
    image = ax.imshow(weights, cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto")
    ax.spines[:].set_visible(False)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks([])
    ax.set_xlabel("key", color=theme.role("key"))
    ax.hlines(torch.arange(len(rows) - 1) + 0.5, -0.5, weights.shape[1] - 0.5, color="white", lw=3)
    for i, row in enumerate(weights):
        label = f"max {row.max():.2f}"
        ax.text(
            weights.shape[1] - 0.3,
            i,
            label,
            va="center",
            fontsize=8.5,
            color=theme.palette()["muted"]["light"],
        )
    ax.figure.colorbar(image, ax=ax, label="weight", pad=0.12, fraction=0.04)
    ax.set_title(title)
    return ax


def gradient_panels(
    widths: Sequence[int],
    raw: dict[str, Float[Tensor, "width row"]],
    scaled: dict[str, Float[Tensor, "width row"]],
) -> list[Axes]:
    """Norms of ∂p/∂scores and ∂p/∂q against d_k: mean over rows solid, median dashed."""
    panels = axes(7.6, 3.5, columns=2)
    for ax, name, title in zip(
        panels, ("to_scores", "to_query"), ("gradient to the scores", "gradient to q"), strict=True
    ):
        for i, (label, stats) in enumerate((("1/√d_k", scaled), ("no scale", raw))):
            color = (theme.palette()["good"]["light"], theme.palette()["bad"]["light"])[i]
            ax.plot(
                widths, stats[name].mean(1), color=color, marker="os"[i], ms=4, label=f"{label}, mean row"
            )
            ax.plot(
                widths,
                stats[name].median(1).values,
                color=color,
                ls="--",
                lw=1.3,
                label=f"{label}, median row",
            )
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set(xlabel="d_k", title=title)
        ax.set_xticks(widths, map(str, widths), fontsize=8)
    panels[0].set_ylabel("norm of the Jacobian")
    panels[1].legend(fontsize=8, frameon=False, loc="lower left")
    return panels


def loss_curves(
    steps: Sequence[int], losses: Float[Tensor, "config seed logged"], labels: Sequence[str], title: str = ""
) -> Axes:
    """Every seed as a thin line, the mean over seeds as a thick one; labels stand in a legend."""
    ax = axes(6.4, 3.6)
    for i, (runs, label) in enumerate(zip(losses, labels, strict=True)):
        color, style = theme.series(i), ("-", "--", "-.", ":")[i % 4]
        for run in runs:
            ax.plot(steps, run, color=color, lw=0.6, alpha=0.45)
        ax.plot(steps, runs.mean(0), color=color, lw=2.2, ls=style, label=label)
    ax.set(xlabel="step", ylabel="loss (nats)", title=title)
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8.5, frameon=False)
    return ax


def regimes(
    widths: Sequence[int],
    strangers: dict[str, Sequence[float]],
    matching: dict[str, Sequence[float]],
) -> list[Axes]:
    """Typical size of a score under each scale: for a key independent of the query, and for one that equals it."""
    panels = axes(7.8, 3.6, columns=2, sharey=True)
    good, muted = theme.palette()["good"]["light"], theme.palette()["muted"]["light"]
    titles = ("a key that is a stranger", "a key that equals the query")
    for ax, sizes, title in zip(panels, (strangers, matching), titles, strict=True):
        ax.axhspan(1 / 3, 3, color=good, alpha=0.1, lw=0)
        for i, (name, values) in enumerate(sizes.items()):
            ax.plot(widths, values, color=theme.series(i), lw=2, ls=("-", "-", "--", ":")[i], label=name)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set(xlabel="d_k", title=title)
        ax.set_xticks(widths, map(str, widths), fontsize=8.5)
    panels[0].set_ylabel("typical size of a score")
    panels[0].text(widths[-1], 400, "spikes", fontsize=8.5, color=muted, ha="right")
    panels[0].text(widths[1], 0.025, "all keys weigh alike", fontsize=8.5, color=muted)
    panels[0].set_ylim(bottom=0.018)
    panels[1].legend(fontsize=8.5, frameon=False, loc="upper left")
    return panels
