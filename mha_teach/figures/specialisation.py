"""Drawings of chapter 06: knock-out matrices, the lottery, roles of real heads beside controls, looks beside uses."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from mha_teach import theme
from mha_teach.figures.base import SCORES, WEIGHTS, axes, heatmap
from mha_teach.shapes import Bool, Float, Tensor


def matrices(
    change: Float[Tensor, "seed head relation"],
    relations: Sequence[str],
    titles: Sequence[str],
    *,
    numbers: bool = True,
) -> list[Axes]:
    """One knock-out matrix a seed: rows are heads, columns relations, losses brown; numbers from half a tenth on."""
    heads = change.shape[1]
    panels = axes(1.55 * len(change) + 0.5, 0.95 + 0.34 * heads, columns=len(change), sharey=True)
    for panel, matrix, title in zip(panels, change, titles, strict=True):
        panel.imshow(matrix.numpy(), cmap=SCORES, vmin=-1, vmax=1, aspect="auto")
        panel.spines[:].set_visible(False)
        for i, row in enumerate(matrix.tolist() if numbers else []):
            for j, value in enumerate(row):
                if abs(value) >= 0.05:
                    said = f"{value:.2f}".replace("0.", ".").replace("-", "−")
                    color = "white" if abs(value) > 0.6 else "0.1"
                    panel.text(j, i, said, ha="center", va="center", fontsize=9.5, color=color)
        panel.set_xticks(range(len(relations)), relations, fontsize=10)
        panel.set_yticks(range(heads), [f"head {i}" for i in range(heads)], fontsize=10)
        panel.set_title(title, fontsize=10.5)
        panel.tick_params(length=0)
    return panels


def lottery(rows: dict[str, Float[Tensor, " seed"]], title: str = "") -> Axes:
    """One line per setting, one dot per seed, so that a lottery is seen as one; dots are spread a little upwards."""
    ax = axes(6.4, 0.8 + 0.42 * len(rows))
    for i, (name, scores) in enumerate(rows.items()):
        lift = torch.linspace(-0.22, 0.22, len(scores))
        done = scores > 0.99
        color = theme.palette()["good"]["light"], theme.palette()["bad"]["light"]
        for part, hue, marker in ((done, color[0], "o"), (~done, color[1], "s")):
            ax.scatter(scores[part], i + lift[part], s=16, color=hue, alpha=0.75, linewidths=0, marker=marker)
        ax.text(1.012, i, f"{int(done.sum())} of {len(scores)} done", fontsize=8.5, va="center")
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel="score", xlim=(0.74, 1.07), title=title)
    ax.set_xticks([0.75, 0.8, 0.85, 0.9, 0.95, 1.0])
    ax.invert_yaxis()
    return ax


def role_grid(
    scores: dict[str, dict[str, Float[Tensor, "layer head"]]], limits: dict[str, float] | None = None
) -> list[Axes]:
    """Columns are roles, rows are models: every head of a model as one cell, weights' colours, strongest head named."""
    models, roles = list(scores), list(next(iter(scores.values())))
    figure = plt.figure(
        figsize=(7.6, 0.65 + 1.2 * len(models)),
        layout="constrained",
        dpi=144,
        facecolor=theme.palette()["paper"]["light"],
    )
    panels = figure.subplots(len(models), len(roles), squeeze=False)
    for at, (row, model) in enumerate(zip(panels, models, strict=True)):
        for panel, role in zip(row, roles, strict=True):
            values = scores[model][role]
            image = panel.imshow(values.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto")
            panel.spines[:].set_visible(False)
            panel.tick_params(length=0)
            layer, head = divmod(int(values.argmax()), values.shape[1])
            panel.set_xlabel(f"({layer}, {head}): {values.max():.2f}", fontsize=10)
            panel.set_xticks([])
            panel.tick_params(labelsize=9)
            panel.set_yticks([0, len(values) - 1] if panel is row[0] else [])
            if panel is row[0]:
                panel.set_ylabel(f"{model}\nlayer", fontsize=10)
            if at == 0:
                panel.set_title(role, fontsize=11)
    figure.colorbar(image, ax=panels, fraction=0.02, label="role score")
    return list(panels.flat)


def looked_and_used(
    maps: dict[str, Float[Tensor, "query key"]], tokens: Sequence[str], costs: dict[str, float], unit: str
) -> list[Axes]:
    """Left to right the heads' maps on one sentence; last, what closing each of them costs."""
    panels = axes(8.2, 3.2, columns=len(maps) + 1)
    for at, (panel, (name, weights)) in enumerate(zip(panels, maps.items(), strict=False)):
        heatmap(panel, weights, tokens if at == 0 else [""] * len(tokens), tokens, title=name)
        panel.tick_params(labelsize=9, length=0)
        panel.set_xticks(range(len(tokens)), tokens, rotation=90)
        if at:
            panel.set_ylabel("")
        panel.title.set_fontsize(10)
    bars = panels[-1]
    hues = [
        theme.palette()["muted"]["light"] if name.startswith("median") else theme.series(0) for name in costs
    ]
    bars.barh(range(len(costs)), list(costs.values()), color=hues, height=0.6)
    bars.set_yticks(range(len(costs)), costs, fontsize=9)
    bars.invert_yaxis()
    bars.tick_params(axis="x", labelsize=9)
    bars.set_title(unit, fontsize=10)
    bars.locator_params(axis="x", nbins=4)
    return panels


def induction(
    weights: Float[Tensor, "query key"],
    targets: Bool[Tensor, "query key"],
    losses: dict[str, Float[Tensor, " position"]],
    period: int,
    title: str,
) -> list[Axes]:
    """Left one head's map with its targets ringed, right the loss at every position with and without heads."""
    left, right = axes(8.0, 3.3, columns=2, width_ratios=[1, 1.25])
    left.imshow(weights.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, aspect="equal")
    left.spines[:].set_visible(False)
    places = targets.nonzero()
    left.scatter(
        places[:, 1],
        places[:, 0],
        s=12,
        facecolors="none",
        edgecolors=theme.palette()["bad"]["light"],
        linewidths=0.7,
    )
    left.set_xlabel("key", color=theme.role("key"))
    left.set_ylabel("query", color=theme.role("query"))
    left.set_title(title, fontsize=9.5)
    for i, (name, loss) in enumerate(losses.items()):
        right.plot(loss, color=theme.series(i), lw=1.8, ls=("-", "--", "-.", ":")[i % 4], label=name)
    right.axvspan(period - 1, len(next(iter(losses.values()))) - 1, color="0.5", alpha=0.08, lw=0)
    highest = max(float(loss.max()) for loss in losses.values())
    right.set(xlabel="position", ylabel="loss (nats)", ylim=(-0.02 * highest, 1.5 * highest))
    right.legend(frameon=False, fontsize=8, loc="upper left")
    return [left, right]


def recap(done: dict[str, Float[Tensor, "head relation"]], captions: Sequence[str]) -> list[Axes]:
    """Three kinds of division of labour side by side, each a knock-out matrix with a line of words below."""
    panels = axes(7.6, 3.4, columns=len(done))
    for panel, (name, matrix), words in zip(panels, done.items(), captions, strict=True):
        panel.imshow(matrix.numpy(), cmap=SCORES, vmin=-1, vmax=1, aspect="auto")
        panel.spines[:].set_visible(False)
        panel.set_xticks(
            range(matrix.shape[1]), [f"relation {i + 1}" for i in range(matrix.shape[1])], rotation=30
        )
        panel.set_yticks(range(len(matrix)), [f"head {i}" for i in range(len(matrix))])
        panel.tick_params(length=0, labelsize=9)
        panel.set_title(name, fontsize=10.5)
        panel.set_xlabel(words, fontsize=9.5)
    return panels
