"""Saturation: how d_k, the scale and correlation move scores, the softmax row and its gradients (chapter 02)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import torch

from mha_teach import scaling
from mha_teach.shapes import Float, Tensor
from mha_teach.widgets import pictures, static
from mha_teach.widgets.base import Choice, Problem, Widget, judged
from mha_teach.widgets.draws import normals

FULL = D_MODEL = 1024
LADDER = [2**i for i in range(11)]


def draw(
    n: int, d_k: int, correlation: float, seed: int
) -> tuple[Float[Tensor, "query d_k"], Float[Tensor, "key d_k"]]:
    """Like ``scaling.draw_qk``, from numbers that JavaScript can draw too: k_i = ρ q_i + √(1-ρ²) ε_i.

    A wider head sees the numbers of a narrower one and more, so that nothing else changes along the slider.
    """
    q, noise = (full[:, :d_k] for full in _drawn(n, seed))
    return q, correlation * q + math.sqrt(1 - correlation**2) * noise


@lru_cache(maxsize=4)
def _drawn(n: int, seed: int) -> tuple[Tensor, Tensor]:
    # A slider of d_k moves often, and its numbers are always the same.
    q, noise = (normals(seed, stream, n * FULL).view(n, FULL) for stream in (4, 5))
    return q, noise


class Saturation(Widget):
    """Scores of random queries and keys at any ``d_k`` from 1 to 1024, scaled by one of ``scaling.SCALES``.

    ``n`` queries and keys; key i has ``correlation`` with query i. ``query`` (from 1) is the row shown.
    """

    NAME = "saturation"
    CHOICES: ClassVar = {"d_k": 64, "scale": "none", "correlation": 0.0, "n": 32, "query": 1, "seed": 0}
    STATIC: ClassVar = {
        "d_k": [1, FULL, 1],
        "correlation": [0, 1, 0],
        "n": [2, 32, 1],
        "query": [1, 256, 1],
        "seed": [0, 9999, 1],
    }
    LIVE: ClassVar = STATIC | {"n": [2, 256, 1]}

    d_k = Choice(64).tag(sync=True)
    scale = Choice("none").tag(sync=True)
    correlation = Choice(0.0).tag(sync=True)
    n = Choice(32).tag(sync=True)
    query = Choice(1).tag(sync=True)
    seed = Choice(0).tag(sync=True)
    _admit = judged(CHOICES)

    @classmethod
    def misfit(cls, choices: dict, limits: dict, words: dict) -> Problem | None:
        if choices["scale"] in scaling.SCALES:
            return None
        values = {"label": words["field_names"]["scale"], "options": ", ".join(scaling.SCALES)}
        return "scale", words["choose"].format(**values)

    @classmethod
    def compute(cls, choices: dict, device: str = "cpu", dtype: torch.dtype = torch.float32) -> dict:
        n, d_k, kind = int(choices["n"]), int(choices["d_k"]), choices["scale"]
        where = (n, float(choices["correlation"]), int(choices["seed"]), device, dtype)
        now, scores = _measure(d_k, kind, *where)
        return {
            "n": n,
            "d_k": d_k,
            "scores": scores,
            "weights": scores.softmax(-1),
            "curve": _curve(kind, *where),
            "now": _named(now),
            "reference": _named(_measure(d_k, "sqrt_d_k", *where)[0]),
        }

    @classmethod
    def picture(cls, choices: dict) -> tuple[str, str, str]:
        found = cls.compute(choices, dtype=torch.float64)
        words = static.words(cls.NAME)
        values = {"d_k": found["d_k"], "variance": f"{found['now']['variance']:.1f}"}
        svg = pictures.scores_and_row(found["scores"], found["weights"][int(choices["query"]) - 1])
        return svg, words["picture_alt"].format(**values), words["picture_caption"].format(**values)


def _measure(
    d: int, kind: str, n: int, rho: float, seed: int, device: str, dtype: torch.dtype
) -> tuple[dict, Float[Tensor, "query key"]]:
    q, k = (x.to(device, dtype) for x in draw(n, d, rho, seed))
    scale = scaling.score_scale(kind, d, D_MODEL)
    scores = q @ k.T * scale
    others = scores[~torch.eye(n, dtype=torch.bool, device=scores.device)]
    numbers = {name: float(row.mean()) for name, row in scaling.saturation(q, k, scale)._asdict().items()}
    numbers["dead"] = round(n * float(scaling.dead_rows(scores.softmax(-1))))
    numbers["variance"] = float(others.var(unbiased=False))
    numbers["own_mean"] = float(scores.diagonal().mean())
    return numbers, scores


@lru_cache(maxsize=8)
def _curve(kind: str, *where: object) -> list[list[float]]:
    # It doesn't depend on d_k, whose slider moves most.
    points = [_measure(d, kind, *where)[0] for d in LADDER]
    return [[point["to_scores"], point["to_query"]] for point in points]


def _named(numbers: dict) -> dict:
    names = ("max_weight", "entropy", "to_scores", "to_query", "dead", "variance", "own_mean")
    return {name: numbers[name] for name in names}
