"""What torch computes for some hundred states of the mask composer, for the tests that node runs.

``python tests/widgets/record_mask_composer.py`` writes ``recorded_mask_composer.json`` anew; test_mask_composer.py
notices when it is stale. Each step is computed in float64 and rounded to the chosen type, so that every machine
records the same numbers.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path

import torch

from mha_teach.widgets import MaskComposer

FILE = Path(__file__).with_name("recorded_mask_composer.json")
TYPES = ("float32", "float16", "bfloat16")
PLACED = [("before", low) for low in ("inf", "1e9", "min", "product")]
PLACED += [(place, "inf") for place in ("after", "renormalised", "added", "multiplied")]
ROWS = ("sums", "leak", "leak_ahead", "loose", "loose_ahead", "low")


def masks() -> list[dict]:
    """Rules alone, rules together, blind rows, a mask that blocks nothing, and cells drawn over all of them."""
    chance = random.Random(7)
    made = [
        {"n": 7, "causal": True},
        {"n": 5, "causal": False},
        {"n": 11, "causal": True, "padding": 3, "side": "left"},
        {"n": 7, "causal": True, "padding": 2, "window": 3},
        {"n": 2, "causal": False, "padding": 12},
        {"n": 12, "causal": False, "window": 1, "padding": 5},
        {"n": 3, "causal": True, "drawn": [[0, 0, 0], [0, 2, 1], [11, 11, 0]]},
    ]
    for _ in range(6):
        n = chance.choice((3, 5, 7, 11, 12))
        cells = chance.sample(list(itertools.product(range(n), repeat=2)), n)
        drawn = [[i, j, chance.randrange(2)] for i, j in cells]
        rule = {
            "causal": chance.random() < 0.6,
            "padding": chance.randrange(4),
            "window": chance.randrange(5),
        }
        made.append({"n": n, "drawn": drawn, "side": chance.choice(("left", "right")), **rule})
    return made


def states() -> list[dict]:
    """Every placement and every number to add, in every float type, with every mask."""
    chance, usual = random.Random(11), MaskComposer.CHOICES
    return [
        usual | mask | {"placement": place, "sentinel": low, "float_type": kind, "seed": chance.randrange(50)}
        for mask in masks()
        for place, low in PLACED
        for kind in TYPES
    ]


def said(value: object) -> object:
    """Nine significant digits, which tell any float32; NaN and −∞ as words, which JSON has no numbers for."""
    if isinstance(value, torch.Tensor):
        return [said(x) for x in value.flatten().tolist()]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def roundings() -> list[list]:
    """[x, x in float16, x in bfloat16] for float32 numbers: ordinary, tiny, huge, and half-way between two neighbours."""
    chance = torch.Generator().manual_seed(3)
    x = torch.randn(300, generator=chance) * 2.0 ** torch.randint(-30, 20, (300,), generator=chance)
    near = torch.tensor([1.0, 1.5, 1023.0, 2.0**-14, 2.0**-24, 2.0**-25, 65504.0, 65519.0, 65520.0])
    half = torch.cat([1 + torch.arange(1.0, 30) / 2**k for k in (8, 9, 11, 12)])
    huge = torch.tensor([3.3895313892515355e38, 3.39e38, 3.396e38, 3.4028234663852886e38, 1e9, 1e-40])
    every = torch.cat([x, near, -near, half, -half, huge, -huge]).float()
    kinds = [every.double(), every.half().double(), every.bfloat16().double()]
    return [[a if math.isfinite(a) else str(a) for a in row] for row in torch.stack(kinds, 1).tolist()]


def record() -> dict:
    """Choices, counts, everything that is said of rows, and a sample of the weights."""
    cases = []
    for choices in states():
        found = MaskComposer.compute(choices, dtype=torch.float64)
        counts = {name: value for name, value in found.items() if isinstance(value, int)}
        at = list(range(0, choices["n"] ** 2, max(1, choices["n"] ** 2 // 9)))
        weights = said(found["weights"].flatten()[at])
        rows = {name: said(found[name]) for name in ROWS}
        mask = "".join(str(int(look)) for look in found["mask"].flatten())
        short = {name: value for name, value in choices.items() if value != MaskComposer.CHOICES[name]}
        cases.append(
            {"choices": short, "counts": counts, "mask": mask, "at": at, "weights": weights, "rows": rows}
        )
    return {"usual": MaskComposer.CHOICES, "roundings": roundings(), "cases": cases}


if __name__ == "__main__":
    FILE.write_text(json.dumps(record(), separators=(",", ":")) + "\n", encoding="utf-8")
