"""What a sweep returns: scores, curves, trained weights, and a small table."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from html import escape

import torch

from mha_teach.shapes import Float, Tensor
from mha_teach.tasks import Task
from mha_teach.training.model import Config, Parameters


@dataclass
class Table:
    """A table that shows itself as text, and as HTML in a notebook."""

    head: list[str]
    rows: list[list[str]]
    note: str = ""

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = [
            "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in [self.head, *self.rows]
        ]
        return "\n".join([*lines, self.note] if self.note else lines)

    def _repr_html_(self) -> str:
        def line(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(line(row, "td") for row in self.rows)
        note = f"<caption>{escape(self.note)}</caption>" if self.note else ""
        return f"<table>{note}<thead>{line(self.head, 'th')}</thead><tbody>{body}</tbody></table>"


@dataclass
class Sweep:
    """Scores and losses of every (config, seed).

    scores: share of right answers on fresh data, averaged over roles. losses: nats, at ``logged`` steps.
    peaks: mean largest attention weight of a row at ``logged`` steps (1 = every row looks at one item).
    slopes: length of the gradient over all weights of a seed's model, at ``logged`` steps.
    """

    task: Task
    configs: list[dict]
    seeds: list[int]
    steps: int
    logged: list[int]
    role_scores: Float[Tensor, "config seed role"]
    losses: Float[Tensor, "config seed logged"]
    peaks: Float[Tensor, "config seed logged"]
    slopes: Float[Tensor, "config seed logged"]
    parameters: list[Parameters] = field(repr=False, default_factory=list)

    @property
    def scores(self) -> Float[Tensor, "config seed"]:
        return self.role_scores.mean(-1)

    def mean(self) -> Float[Tensor, " config"]:
        """Mean score over seeds."""
        return self.scores.mean(-1)

    def std(self) -> Float[Tensor, " config"]:
        """Sample standard deviation over seeds; 0 for a single seed."""
        return self.scores.std(-1) if len(self.seeds) > 1 else torch.zeros(len(self.configs))

    def model(self, config: int, seed: int = 0) -> tuple[Config, Parameters]:
        """Config and trained weights of the ``seed``-th seed, with a seed axis of length 1, for ``forward``."""
        return Config.of(self.configs[config]), {
            n: w[seed : seed + 1] for n, w in self.parameters[config].items()
        }

    def table(self, digits: int = 2) -> Table:
        """One row per config: the options that were given, d_k, mean ± sd over seeds, and lowest to highest."""
        given = [f.name for f in fields(Config) if any(f.name in config for config in self.configs)]
        names = [*given, *(["d_k"] if "d_k" not in given else [])]
        rows = []
        for config, mean, std, scores in zip(self.configs, self.mean(), self.std(), self.scores, strict=True):
            full = Config.of(config)
            cells = [str(full.width if n == "d_k" else getattr(full, n)) for n in names]
            low, high = scores.min(), scores.max()
            rows.append(
                [*cells, f"{mean:.{digits}f} ± {std:.{digits}f}", f"{low:.{digits}f}…{high:.{digits}f}"]
            )
        note = f"{len(self.seeds)} seeds, {self.steps} steps each"
        return Table([*names, "score", "lowest…highest"], rows, note)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
