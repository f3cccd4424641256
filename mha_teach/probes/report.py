"""What a leak probe found: a number, the pairs, and words."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import torch

from mha_teach.shapes import Bool, Float, Tensor

WORDS = {
    "causal": ("position", "Causal leak", "No causal leak"),
    "batch": ("sample", "Batch leak", "No batch leak"),
    "mask": ("position", "Mask leak", "No mask leak"),
}
NOTES = {
    "batch_norm": "Batch norm in training mode mixes samples and positions by design. It ran on running "
    "statistics here and does not count as a leak: probe in eval mode too, where the mixing must stop.",
    "random": "The module draws at random, as dropout in training mode does{kinds}. The draws were held fixed, "
    "so they are no leak; a pair that they drop is not seen: probe in eval mode too.",
    "unsteady": "The module is not deterministic: equal inputs gave outputs that differ by {noise:.1e} of the largest. "
    "That is no leak. Only the gradient was read, so a path without gradient is not seen.",
    "not_finite": "The output holds NaN or infinity before anything is changed: look for a row that is fully masked. "
    "Gradients were not read.",
    "nan_gradient": "Some gradients are NaN and were left out: look for a row that is fully masked.",
    "no_gradient": "No gradient reaches the input, so only the perturbation speaks.",
    "sampled": "{most} of {size} places were tested, evenly chosen: raise `most` to test all.",
    "unread": "The gradient could not be read ({error}), so only the perturbation speaks.",
    "faint": "All of it is within a few roundings of the largest output and has no gradient: it may be rounding, as of an "
    "FFT or a difference of sums. {cure}",
    "silent": "No output reads any other position. If this is attention, heads may be attending to heads: "
    "a forgotten transpose.",
    "hidden": "Some pairs show only by perturbation: a path without gradient (detach, argmax, ids, .data).",
    "coarse": "The output holds numbers as large as {largest:.1g}, so in {blind} of {features} features changes below "
    "{least:.1g} are rounding and are not seen.",
    "nothing": "Neither method could run, so nothing is known.",
}
FAINT_CURES = {
    False: "Probe in float64: rounding shrinks a billionfold, a leak stays.",
    True: "This is float64 already: give tolerance=1e-13.",
}
METHODS = {"gradient": "gradient", "perturbation": "perturbation"}


class Pair(NamedTuple):
    """One forbidden dependence; strengths are relative to the strongest dependence anywhere (0 to 1)."""

    output: int
    input: int
    name: str
    gradient: float
    perturbation: float

    @property
    def strength(self) -> float:
        return max(self.gradient, self.perturbation)


@dataclass(frozen=True, eq=False)
class Leak:
    """The finding of a leak probe. True in a condition when there is a leak: ``assert not causal_leak(…)``.

    ``pairs``: forbidden dependences, strongest first. ``allowed``, ``gradient`` and ``perturbation``: one matrix
    (output, input) per input, strengths from 0 to 1 relative to the strongest dependence anywhere; a method that
    could not run is absent from ``methods``. ``silent``: no output reads another place. ``notes``: what else was met.
    ``finite``: the share of outputs that are finite before anything is changed; at 0 nothing can be said.
    """

    kind: str
    pairs: tuple[Pair, ...]
    methods: tuple[str, ...]
    allowed: dict[str, Bool[Tensor, "output input"]] = field(repr=False)
    gradient: dict[str, Float[Tensor, "output input"]] = field(repr=False)
    perturbation: dict[str, Float[Tensor, "output input"]] = field(repr=False)
    silent: bool
    notes: tuple[str, ...]
    finite: float = 1.0

    @classmethod
    def of(cls, kind, allowed, gradient, changes, tolerance, faint, notes, finite) -> Leak:
        """From raw dependences: gradients below ``tolerance`` · peak are none, and changes come without rounding."""
        peak = max((float(m.max()) for m in (gradient or {}).values()), default=0.0)
        slopes, moves = _scaled(gradient, tolerance * peak, allowed), _scaled(changes, 0.0, allowed)
        pairs, silent = [], True
        for name, may in allowed.items():
            either = (slopes[name] > 0) | (moves[name] > 0)
            for i, j in (either & ~may).nonzero().tolist():
                pairs.append(Pair(i, j, name, float(slopes[name][i, j]), float(moves[name][i, j])))
            silent &= not bool((either & ~torch.eye(*may.shape, dtype=torch.bool)).any())
        methods = tuple(
            m for m, ran in (("gradient", gradient), ("perturbation", changes)) if ran is not None
        )
        if not methods:
            notes += (NOTES["nothing"],)
        elif silent and kind == "causal" and finite:
            notes += (NOTES["silent"],)
        part = any("places were tested" in note for note in notes)  # a row without any gradient was not asked
        asked = [p for p in pairs if not part or slopes[p.name][p.output].any()]
        if len(methods) == 2 and any(p.gradient == 0 for p in asked):
            notes += (NOTES["hidden"],)
        if pairs and gradient is not None and all(p.gradient == 0 and p.perturbation <= faint for p in pairs):
            double = faint < torch.finfo(torch.float32).eps
            notes += (NOTES["faint"].format(cure=FAINT_CURES[double]),)
        pairs.sort(key=lambda p: (-p.strength, p.output, p.input))
        return cls(
            kind, tuple(pairs), methods, allowed, slopes, moves, silent and bool(methods), notes, finite
        )

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @property
    def number(self) -> float:
        """The strongest forbidden dependence over the strongest of all: 0 none, 1 as strong as anything seen."""
        return max((pair.strength for pair in self.pairs), default=0.0)

    @property
    def unread(self) -> tuple[tuple[int, int], ...]:
        """Permitted pairs (output, input) that show no dependence at all: a mask that forbids too much leaves some."""
        found = []
        for name, may in self.allowed.items():
            idle = may & (self.gradient[name] == 0) & (self.perturbation[name] == 0)
            found += [(i, j) for i, j in idle.nonzero().tolist()]
        return tuple(found)

    @property
    def forbidden(self) -> int:
        """How many pairs must not depend."""
        return sum(int((~may).sum()) for may in self.allowed.values())

    def __str__(self) -> str:
        place, found, clear = WORDS[self.kind]
        by = " and ".join(METHODS[m] for m in self.methods)
        if not self.pairs and not (self.finite and self.methods):
            why = "neither method could run" if self.finite else "every output is NaN or infinite"
            return "\n".join([f"No verdict on {self.forbidden} forbidden pairs: {why}.", *self.notes])
        if not self.pairs:
            where = "" if self.finite == 1 else " found among the finite outputs,"
            return "\n".join([f"{clear}{where} in {self.forbidden} forbidden pairs, by {by}.", *self.notes])
        top = self.pairs[0]
        counts = ", ".join(
            f"{sum(getattr(p, m) > 0 for p in self.pairs)} by {METHODS[m]}" for m in self.methods
        )
        source = "input" if top.name == "input" else f"{top.name} input"
        said = f"{found}: {len(self.pairs)} of {self.forbidden} forbidden pairs ({counts})."
        strongest = (
            f"The strongest: the output at {place} {top.output} depends on the {source} at {place} {top.input}, "
            f"{top.strength:.2g} of the strongest dependence anywhere."
        )
        return "\n".join([said, strongest, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *rest = str(self).split("\n")
        lines = "".join(f"<p>{escape(line)}</p>" for line in rest)
        rows = "".join(
            f"<tr><td>{p.output}</td><td>{escape(p.name)} {p.input}</td><td>{p.gradient:.2g}</td><td>{p.perturbation:.2g}</td></tr>"
            for p in self.pairs[:6]
        )
        head = "<tr><th>output</th><th>depends on</th><th>gradient</th><th>perturbation</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>" if rows else ""
        return f"<div><p><strong>{escape(first)}</strong></p>{lines}{table}</div>"


def _scaled(raw: dict[str, Tensor] | None, floor: float, allowed: dict[str, Tensor]) -> dict[str, Tensor]:
    """Strengths from 0 to 1: what is not above ``floor`` is 0, an infinite change is 1."""
    if raw is None:
        return {name: torch.zeros(may.shape, dtype=torch.float64) for name, may in allowed.items()}
    peak = max((float(m[m.isfinite()].max()) for m in raw.values() if m.isfinite().any()), default=0.0) or 1.0
    return {name: torch.where(m > floor, (m / peak).clamp(max=1.0), 0.0) for name, m in raw.items()}
