"""Mask composer: what a mask does to the weights, and what happens when it is put in the wrong place (chapter 04)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import torch

from mha_teach import masking
from mha_teach.shapes import Bool, Float, Tensor
from mha_teach.widgets import pictures, static
from mha_teach.widgets.base import Choice, Problem, Widget, judged
from mha_teach.widgets.draws import normals

MOST, STREAM = 64, 8
LISTS = {
    "side": "sides",
    "placement": "placements",
    "sentinel": "sentinels",
    "float_type": "float_types",
    "library": "libraries",
}
PULLED = ("before", "after", "added")  # where a blocked score still stands in the sum of a row


def mask_of(choices: dict) -> Bool[Tensor, "query key"]:
    """True = may look: every rule must allow it, and a cell drawn by hand overrides the rules."""
    n = int(choices["n"])
    real = [n - min(int(choices["padding"]), n)]
    rules = [masking.padding(real, n, choices["side"])[0].expand(n, n)]
    if choices["causal"]:
        rules.append(masking.causal(n))
    if choices["window"]:
        reach = int(choices["window"]) - 1
        rules.append(masking.window(n, reach, reach))
    mask = masking.combine(*rules).clone()
    for i, j, look in choices["drawn"]:
        if i < n and j < n:
            mask[int(i), int(j)] = bool(look)
    return mask


def low(sentinel: str, kind: torch.dtype) -> float:
    """What a blocked score has added to it, before ``kind`` rounds it: −10⁹ is −∞ in float16."""
    return {"1e9": -1e9, "min": torch.finfo(kind).min}.get(sentinel, -math.inf)


def labels_of(choices: dict, words: dict) -> list[str]:
    """A word for every position, and a sign for filler."""
    filler = min(int(choices["padding"]), int(choices["n"]))
    tokens = [*words["tokens"], *map(str, range(len(words["tokens"]) + 1, MOST + 1))]
    real, empty = tokens[: int(choices["n"]) - filler], [words["pad"]] * filler
    return empty + real if choices["side"] == "left" else real + empty


@lru_cache(maxsize=4)
def _drawn(seed: int) -> Float[Tensor, "query key"]:
    return normals(seed, STREAM, MOST * MOST).view(MOST, MOST)


class MaskComposer(Widget):
    """One mask over ``n`` queries and keys, put before the softmax, after it, or in a wrong way, in one float type.

    The mask is ``causal``, hides ``padding`` keys at one ``side``, keeps keys less than ``window`` away (0: all), and
    ``drawn`` holds cells drawn by hand: [query, key, 1 = may look], counted from 0.
    """

    NAME = "mask_composer"
    CHOICES: ClassVar = {
        "n": 6,
        "causal": True,
        "padding": 0,
        "side": "right",
        "window": 0,
        "drawn": [],
        "placement": "before",
        "sentinel": "inf",
        "float_type": "float32",
        "library": "sdpa.bool",
        "seed": 0,
    }
    SHOWN = ("library",)
    STATIC: ClassVar = {"n": [2, 12, 1], "padding": [0, 12, 1], "window": [0, 12, 1], "seed": [0, 9999, 1]}
    LIVE: ClassVar = STATIC | {"n": [2, MOST, 1], "padding": [0, MOST, 1], "window": [0, MOST, 1]}

    n = Choice(6).tag(sync=True)
    causal = Choice(True).tag(sync=True)
    padding = Choice(0).tag(sync=True)
    side = Choice("right").tag(sync=True)
    window = Choice(0).tag(sync=True)
    drawn = Choice([]).tag(sync=True)
    placement = Choice("before").tag(sync=True)
    sentinel = Choice("inf").tag(sync=True)
    float_type = Choice("float32").tag(sync=True)
    library = Choice("sdpa.bool").tag(sync=True)
    seed = Choice(0).tag(sync=True)
    _admit = judged(CHOICES)

    @classmethod
    def misfit(cls, choices: dict, limits: dict, words: dict) -> Problem | None:
        options = {name: [key for key, *_ in words[key_list]] for name, key_list in LISTS.items()}
        if not isinstance(choices["causal"], bool):
            return cls._choose("causal", ["True", "False"], words)
        for name, known in options.items():
            if choices[name] not in known:
                return cls._choose(name, known, words)
        top, drawn = limits["n"][1], choices["drawn"]
        good = isinstance(drawn, list | tuple) and len(drawn) <= top * top
        if good and all(_is_cell(cell, top) for cell in drawn):
            return None
        return "drawn", words["cells"].format(last=top - 1)

    @staticmethod
    def _choose(name: str, options: list[str], words: dict) -> Problem:
        return name, words["choose"].format(label=words["field_names"][name], options=", ".join(options))

    @classmethod
    def compute(cls, choices: dict, device: str = "cpu", dtype: torch.dtype | None = None) -> dict:
        """Weights, row sums and leaks.

        Without ``dtype`` each step runs in the chosen float type, as torch runs it. With ``dtype`` each step runs in
        ``dtype`` and its result is rounded to the float type: the same numbers but for the last digit, on any machine.
        """
        n, placement, kind = int(choices["n"]), choices["placement"], getattr(torch, choices["float_type"])

        def kept(x: Tensor) -> Tensor:
            return x.to(kind).to(dtype or kind)

        mask = mask_of(choices).to(device)
        look = kept(mask)
        scores = kept(_drawn(int(choices["seed"]))[:n, :n].float().to(device))
        lowest = kept(torch.tensor(low(choices["sentinel"], kind), device=device))
        if placement == "before":
            product = choices["sentinel"] == "product"
            bias = (1 - look) * lowest if product else torch.zeros_like(scores).masked_fill(~mask, lowest)
            scores = kept(scores + bias)
        elif placement == "added":
            scores = kept(scores + look)
        elif placement == "multiplied":
            scores = kept(scores * look)
        total = weights = kept(scores.softmax(-1))
        if placement in ("after", "renormalised"):
            weights = weights * look
        if placement == "renormalised":
            weights = kept(weights / kept(weights.sum(-1, keepdim=True)))
        exact = dtype or torch.float32
        return _measure(mask, weights.to(exact), total.to(exact), placement) | {
            "n": n,
            "low": lowest.reshape(1),
        }

    @classmethod
    def picture(cls, choices: dict) -> tuple[str, str, str]:
        found, words = cls.compute(choices, dtype=torch.float64), static.words(cls.NAME)
        values = {name: dict(words[LISTS[name]])[choices[name]] for name in ("placement", "float_type")}
        sums, blocked = found["sums"], found["blocked"]
        finite = sums[~sums.isnan()]
        values |= {"blocked": blocked, "all": found["n"] ** 2, "n": found["n"], "nan": found["nan"]}
        values |= {
            "leak": f"{found['leak'].nan_to_num().max():.2f}",
            "sum": f"{finite.min() if len(finite) else math.nan:.2f}",
        }
        svg = pictures.mask_and_weights(found["mask"].bool(), found["weights"], labels_of(choices, words))
        return svg, words["picture_alt"].format(**values), words["picture_caption"].format(**values)


def _is_cell(cell: object, top: int) -> bool:
    if not isinstance(cell, list | tuple) or len(cell) != 3:
        return False
    whole = all(isinstance(x, int) and not isinstance(x, bool) for x in cell)
    return whole and 0 <= cell[0] < top and 0 <= cell[1] < top and cell[2] in (0, 1)


def _measure(
    mask: Bool[Tensor, "query key"],
    weights: Float[Tensor, "query key"],
    total: Float[Tensor, "query key"],
    placement: str,
) -> dict:
    """Row sums, weight on blocked keys, and the leak: Σ |∂w_j / ∂s_b| over allowed keys j and blocked keys b.

    For a softmax ``p`` over all keys, ∂p_j/∂s_b = −p_j p_b, so the leak is (Σ allowed p)(Σ blocked p); where blocked
    scores are divided out again or multiplied by 0, it is 0.
    """
    n = len(mask)
    ahead = torch.ones_like(mask).triu(1)
    hidden = {"": ~mask, "_ahead": ~mask & ahead}
    sums = weights.sum(-1)
    pull = (total * mask).sum(-1) if placement in PULLED else torch.zeros_like(sums)
    out: dict = {"mask": mask.to(weights.dtype), "weights": weights, "sums": sums}
    for name, cells in hidden.items():
        out["leak" + name] = pull * (total * cells).sum(-1) + 0 * sums  # NaN in a row of NaN
        out["loose" + name] = (weights * cells).sum(-1)
        out["blocked" + name] = int(cells.sum())
    out["open_ahead"] = int((mask & ahead).sum())
    out["nan"] = int(sums.isnan().sum())
    out["blind"] = n - int(mask.any(-1).sum())
    return out
