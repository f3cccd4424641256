"""Heat maps and lines with spread, drawn the same way in every chapter."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from mha_teach import theme
from mha_teach.shapes import Bool, Float, Tensor

WEIGHTS = LinearSegmentedColormap.from_list("mha-weights", theme.palette()["weights"])
SCORES = LinearSegmentedColormap.from_list("mha-scores", theme.palette()["scores"])


def axes(width: float = 6.0, height: float = 3.4, columns: int = 1, **options) -> Axes | list[Axes]:
    """One Axes, or a list of ``columns`` side by side, in the book's style."""
    paper = theme.palette()["paper"]["light"]
    style = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": False,
        "font.size": 10,
        "axes.titlesize": 10.5,
    }
    # The first figure of a session chooses the backend, which sets more rcParams: that must outlive the style.
    figure = plt.figure(figsize=(width, height), layout="constrained", dpi=144, facecolor=paper)
    with plt.rc_context(style):
        made = figure.subplots(1, columns, **options)
    return list(made) if columns > 1 else made


def heatmap(
    ax: Axes,
    values: Float[Tensor, "query key"],
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    kind: str = "weights",
    mask: Bool[Tensor, "query key"] | None = None,
    numbers: bool = False,
    title: str = "",
) -> Axes:
    """Queries are rows, keys are columns, origin top left; masked cells (``mask`` False) are hatched.

    ``kind="weights"`` runs from 0 to 1; ``kind="scores"`` diverges around 0.
    """
    values = values.detach().to("cpu", torch.float64)
    limit = float(values[values.isfinite()].abs().max()) if kind == "scores" else 1.0
    low, cmap = (-limit, SCORES) if kind == "scores" else (0.0, WEIGHTS)
    ax.imshow(values.numpy(), cmap=cmap, vmin=low, vmax=limit, aspect="equal")
    ax.spines[:].set_visible(False)
    for (row, column), value in ((i, values[i]) for i in _cells(values)):
        if mask is not None and not mask[row, column]:
            ax.add_patch(
                plt.Rectangle(
                    (column - 0.5, row - 0.5), 1, 1, facecolor="white", edgecolor="0.6", hatch="////", lw=0
                )
            )
        elif numbers:
            dark = value > 0.55 if kind == "weights" else abs(value) > 0.6 * limit
            ax.text(
                column,
                row,
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else "0.1",
            )
    ax.set_xticks(range(values.shape[1]), keys or range(values.shape[1]))
    ax.set_yticks(range(values.shape[0]), queries or range(values.shape[0]))
    ax.set_xlabel("key", color=theme.role("key"))
    ax.set_ylabel("query", color=theme.role("query"))
    ax.set_title(title)
    return ax


def spread(
    ax: Axes, x: Sequence, runs: Float[Tensor, "seed x"], label: str = "", color: str | None = None
) -> Axes:
    """The mean over seeds as a line, every seed as a dot, so that the spread is seen and not only claimed."""
    color = color or theme.series(len(ax.lines))
    ax.plot(x, runs.mean(0).tolist(), color=color, label=label, lw=1.8)
    for run in runs:
        ax.scatter(x, run.tolist(), color=color, s=9, alpha=0.55, linewidths=0)
    return ax


def _cells(values: Tensor):
    return ((row, column) for row in range(values.shape[0]) for column in range(values.shape[1]))
