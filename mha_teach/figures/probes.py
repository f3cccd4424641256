"""A leak as a picture: outputs are rows, inputs are columns, forbidden dependences are framed."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from mha_teach import theme
from mha_teach.figures.base import WEIGHTS
from mha_teach.shapes import Bool, Float, Tensor


def dependence(
    ax: Axes,
    strength: Float[Tensor, "output input"],
    allowed: Bool[Tensor, "output input"],
    *,
    place: str = "position",
    title: str = "",
) -> Axes:
    """How strongly each output depends on each input (0 to 1); what must not depend is hatched, and framed if it does.

    Takes ``leak.gradient[name]`` or ``leak.perturbation[name]`` with ``leak.allowed[name]`` (chapter 03).
    Raises ``ValueError`` when the two shapes differ.
    """
    if strength.shape != allowed.shape:
        raise ValueError(
            f"strength has shape {tuple(strength.shape)} and allowed {tuple(allowed.shape)}: take both of one input"
        )
    ax.imshow(strength.numpy(), cmap=WEIGHTS, vmin=0.0, vmax=1.0, aspect="equal")
    ax.spines[:].set_visible(False)
    bad = theme.palette()["bad"]["light"]
    for row, column in (~allowed).nonzero().tolist():
        leaks = bool(strength[row, column] > 0)
        look = (
            {"edgecolor": bad, "lw": 1.4, "zorder": 3}
            if leaks
            else {"edgecolor": "0.8", "hatch": "////", "lw": 0}
        )
        ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, **look))
    ax.set(xlabel=f"input {place}", ylabel=f"output {place}", title=title)
    ax.set_xticks(range(strength.shape[1]))
    ax.set_yticks(range(strength.shape[0]))
    return ax
