"""Drawings of chapter 03: where each number came from, in which order memory is read, who reads what."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from mha_teach import theme
from mha_teach.figures.base import WEIGHTS, axes
from mha_teach.figures.probes import dependence
from mha_teach.shapes import Bool, Float, Int, Tensor

ROLES = "qkv"


def origins(
    paths: dict[str, object],
    order: str | Sequence[str] = "batch head position dim",
    hue: str | Sequence[str] = "head",
) -> Axes:
    """One panel a path, two in a row; a cell is a number, its hue and text say where it came from, a frame that it is misplaced.

    ``paths`` holds `reshaping.Origin` with four axes, which ``order`` names (one for all, or one a panel). Blocks of the
    second axis stand one under the other; where that axis is the position, heads stand side by side instead.
    ``hue`` names the label that becomes the colour.
    """
    orders, hues = ([x] * len(paths) if isinstance(x, str) else list(x) for x in (order, hue))
    sizes = [_size(path.batch.shape, o.split()) for path, o in zip(paths.values(), orders, strict=True)]
    wide = [max(w for w, _ in sizes[column::2]) + MARGIN for column in range(min(2, len(sizes)))]
    tall = [max(h for _, h in sizes[at : at + 2]) + HEAD for at in range(0, len(sizes), 2)]
    ax = axes(0.45 * sum(wide), 0.39 * sum(tall))
    for at, (title, path) in enumerate(paths.items()):
        x, y = sum(wide[: at % 2]) + MARGIN, sum(tall[: at // 2]) + HEAD
        wrong = _panel(ax, path, orders[at].split(), hues[at], x, y)
        said = f"{title}:\n{wrong} of {path.batch.numel()} misplaced"
        ax.text(x - 1.4, y - 0.75, said, fontsize=10, fontweight="bold", linespacing=1.1)
    ax.set(xlim=(0, sum(wide)), ylim=(sum(tall) - 0.4, 0))
    ax.axis("off")
    return ax


MARGIN, HEAD = 2.2, 2.1  # room for a panel's labels and title, in cells


def _size(shape: Sequence[int], order: list[str]) -> tuple[float, float]:
    batch, blocks, rows, dims = shape
    if order[1] == "position":
        return rows * dims + 0.35 * (rows - 1), batch * blocks + 0.6 * (batch - 1)
    return max(dims, 3.4), batch * blocks * rows + 0.6 * (batch * blocks - 1)


def _panel(ax: Axes, path: object, order: list[str], hue: str, left: float, top: float) -> int:
    """Draw every cell; returns how many are misplaced."""
    wrong, side = 0, order[1] == "position"
    batch, blocks, rows, dims = path.batch.shape
    for index in torch.cartesian_prod(*map(torch.arange, path.batch.shape)).tolist():
        b, block, row, dim = index
        label = {name: int(getattr(path, name)[tuple(index)]) for name in LABELS}
        if side:
            x, y = left + row * (dims + 0.35) + dim, top + b * (blocks + 0.6) + block
        else:
            x, y = left + dim, top + (b * blocks + block) * (rows + 0.6) + row
        off = any(label[n] != at for n, at in zip(order, index, strict=True) if n != "_")
        wrong += off
        _cell(ax, x, y, label, hue, off, several=batch > 1)
        if dim == row == 0:
            sample = f"{_letter(b)} " if batch > 1 else ""
            ax.text(
                x - 0.6,
                y,
                f"{sample}{'row' if side else 'head'} {block}",
                ha="right",
                va="center",
                fontsize=9.5,
            )
    return wrong


LABELS = ("batch", "role", "position", "head", "dim")


def _letter(batch: int) -> str:
    return chr(ord("a") + batch)


def _cell(ax: Axes, x: float, y: float, label: dict[str, int], hue: str, off: bool, several: bool) -> None:
    color = (
        theme.role(("query", "key", "value")[label["role"]]) if hue == "role" else theme.series(label[hue])
    )
    edge, lw = (theme.palette()["bad"]["light"], 2.0) if off else ("white", 1.0)
    box = plt.Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, lw=0, facecolor=color, alpha=0.25)
    ax.add_patch(box)
    ax.add_patch(plt.Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=edge, lw=lw, zorder=3))
    top = f"{_letter(label['batch']) if several else 'p'}{label['position']}"
    top = f"{ROLES[label['role']]} {top}" if hue == "role" else top
    ink = theme.palette()["ink"]["light"]
    said = f"{top}\nh{label['head']}·{label['dim']}"
    ax.text(x, y, said, ha="center", va="center", fontsize=9, color=ink, linespacing=1.0)


def reading_order(views: dict[str, Int[Tensor, "*any"]], owner: Int[Tensor, " address"]) -> Axes:
    """Each tensor as the row of memory addresses that it visits, in reading order, with its strides.

    ``owner`` gives for each address of the shared memory the head that its number belongs to: the hue, and the letter.
    """
    steps = max(x.numel() for x in views.values())
    ax = axes(
        0.42 * steps + 0.3, 0.88 * len(views) + 0.7
    )  # names stand above: beside, they would shrink the rest
    memory = torch.arange(owner.numel())
    for row, (name, x) in enumerate(views.items()):
        visited = memory.as_strided(x.shape, x.stride(), x.storage_offset()).flatten().tolist()
        for step, address in enumerate(visited):
            head = int(owner[address])
            hue = theme.series(head)
            box = plt.Rectangle((step - 0.46, row - 0.36), 0.92, 0.72, facecolor=hue, alpha=0.25, lw=0)
            ax.add_patch(box)
            ax.text(step, row, f"{address}\nh{head}", ha="center", va="center", fontsize=9.5, linespacing=1)
            if step and address != visited[step - 1] + 1:
                ax.plot(
                    [step - 0.5] * 2, [row - 0.42, row + 0.42], color=theme.palette()["ink"]["light"], lw=1.6
                )
        ax.text(-0.45, row - 0.42, f"{name}, strides {tuple(x.stride())}", va="bottom", fontsize=10)
    ax.set(xlim=(-0.6, steps - 0.4), ylim=(len(views) - 0.55, -0.75))
    ax.set_yticks([])
    ax.set_xticks(range(steps), range(1, steps + 1), fontsize=9.5)
    ax.set_xlabel("read as number …; a bar is a jump in memory", fontsize=10)
    ax.spines[:].set_visible(False)
    return ax


def reads(found: dict[str, Float[Tensor, "head column"]]) -> list[Axes]:
    """How strongly each head's queries depend on each number of x (0 to 1); nothing at all is hatched."""
    heads, columns = next(iter(found.values())).shape
    panels = axes(0.36 * columns * len(found) + 1.2, 0.4 * heads + 1.0, columns=len(found))
    for ax, (title, table) in zip(panels, found.items(), strict=True):
        share = table / table.max()
        ax.imshow(share.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, aspect="equal")
        for row, column in torch.cartesian_prod(torch.arange(heads), torch.arange(columns)).tolist():
            value = float(share[row, column])
            if value == 0:
                corner = (column - 0.5, row - 0.5)
                ax.add_patch(plt.Rectangle(corner, 1, 1, fill=False, edgecolor="0.7", hatch="////", lw=0))
            else:
                ink = "white" if value > 0.7 else "0.1"
                ax.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color=ink)
        ax.set_yticks(range(heads), [f"head {h}" for h in range(heads)], fontsize=8.5)
        ax.set_xticks(range(columns), range(columns), fontsize=7.5)
        ax.set_xlabel("number of x", fontsize=9)
        ax.set_title(title, fontsize=9.5)
        ax.spines[:].set_visible(False)
    return panels


def losses(found: dict[str, Float[Tensor, "seed step"]], floor: float) -> Axes:
    """Training losses of every seed (thin) and their mean (thick), with the floor that no honest model gets under."""
    ax = axes(6.6, 3.7)
    steps = next(iter(found.values())).shape[1]
    ink = theme.palette()["ink"]["light"]
    ax.axhspan(0, floor, facecolor="none", edgecolor="0.85", hatch="///", lw=0)
    ax.axhline(floor, color=ink, lw=1.2)
    paper = {"facecolor": theme.palette()["paper"]["light"], "edgecolor": "none", "pad": 1.5}
    ax.text(steps * 0.015, floor - 0.13, "below: dishonest", fontsize=8.5, bbox=paper)
    for i, (name, runs) in enumerate(found.items()):
        color, style = theme.series(i), ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))[i % 6]
        for run in runs:
            ax.plot(run, color=color, lw=0.5, alpha=0.35)
        ax.plot(runs.mean(0), color=color, lw=2, ls=style, label=name)
    ax.set(xlabel="step", ylabel="loss (nats)", xlim=(0, steps), ylim=(0, None))
    ax.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.2), ncols=3)
    return ax


def leaks(found: dict[str, object], place: str = "position") -> list[Axes]:
    """Who reads whom, by gradient: one panel for each `probes.Leak` of one input, two in a row."""
    columns, rows = min(2, len(found)), (len(found) + 1) // 2
    figure = axes(2.4 * columns, 2.8 * rows).figure
    figure.clear()  # the book's figure, with a grid of panels: a row of four is too small for a phone
    panels = [figure.add_subplot(rows, columns, at + 1) for at in range(len(found))]
    for ax, (title, leak) in zip(panels, found.items(), strict=True):
        (name,) = leak.gradient
        count = f"{len(leak.pairs)} of {leak.forbidden} forbidden"
        dependence(ax, leak.gradient[name], leak.allowed[name], place=place, title=f"{title}\n{count}")
        ax.title.set_fontsize(10)
        if panels.index(ax) % 2:
            ax.set_ylabel("")
    return panels


def lamps(rows: Sequence[str], columns: Sequence[str], lit: Bool[Tensor, "row column"]) -> Axes:
    """Which probe (column) finds which fault (row): a filled lamp with a word, or an empty one."""
    ax = axes(1.02 * len(columns) + 1.3, 0.4 * len(rows) + 0.6)
    good, muted = theme.palette()["good"]["light"], theme.palette()["muted"]["light"]
    for y, x in torch.cartesian_prod(torch.arange(len(rows)), torch.arange(len(columns))).tolist():
        on = bool(lit[y, x])
        color = good if on else "white"
        ax.scatter(x - 0.36, y, s=90, facecolor=color, edgecolor=good if on else muted, linewidths=1.2)
        said = "finds it" if on else "no"
        ax.text(x - 0.22, y, said, va="center", fontsize=8.5, color=good if on else muted)
    ax.set_xticks(range(len(columns)), columns, fontsize=9)
    ax.set_yticks(range(len(rows)), rows, fontsize=9)
    ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    ax.hlines(torch.arange(len(rows) - 1) + 0.5, -0.5, len(columns) - 0.5, color="0.88", lw=0.8)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.spines[:].set_visible(False)
    return ax
