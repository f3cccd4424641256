"""What torch (float64) computes for some hundred states of each widget, for the tests that node runs.

``python tests/widgets/record.py`` writes ``recorded.json`` anew; test_recorded.py notices when it is stale.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import torch

from mha_teach.widgets import HeadSplitter, Saturation
from mha_teach.widgets.draws import normals

FILE = Path(__file__).with_name("recorded.json")
OWN = "to see a world in a grain of sand and heaven in a wild flower"


def states() -> dict[str, list[dict]]:
    """Every divisor with every sentence, odd widths that don't divide, all scales, and correlations with 0 and 1."""
    chance = random.Random(5)
    usual = HeadSplitter.CHOICES
    heads = [
        usual | {"num_heads": h, "sentence": s, "seed": seed, "text": OWN if s < 0 else ""}
        for h in (1, 2, 4, 8, 16, 32, 64)
        for s in (-1, 0, 1, 2)
        for seed in (0, 3, 9999)
    ]
    heads += [
        usual
        | {"num_heads": chance.choice((1, 3, 5, 7, 13, 64)), "d_k": chance.choice((1, 2, 3, 7, 31, 64))}
        | {"tied": False, "text": "", "sentence": chance.randrange(3), "seed": chance.randrange(10000)}
        for _ in range(120)
    ]
    rows = [
        Saturation.CHOICES
        | {"scale": scale, "d_k": d_k, "correlation": rho, "n": n, "seed": chance.randrange(9)}
        for scale in ("none", "sqrt_d_k", "d_k", "sqrt_d_model")
        for d_k in (1, 2, 7, 64, 101, 1024)
        for rho in (0.0, 0.35, 1.0)
        for n in (2, 13, 32)
    ]
    return {"head_splitter": heads, "saturation": rows}


def _samples(found: dict) -> dict:
    out = {}
    for name, values in found.items():
        if isinstance(values, torch.Tensor):
            at = list(range(0, values.numel(), max(1, values.numel() // 5)))[:7]
            out[name] = {"size": values.numel(), "at": at, "values": values.flatten()[at].tolist()}
    return out


def record() -> dict:
    """Draws, and per widget a list of choices, numbers and samples of the arrays."""
    draws = [
        {"seed": seed, "stream": stream, "values": normals(seed, stream, 29).tolist()}
        for seed, stream in ((0, 0), (1, 5), (9999, 4))
    ]
    out: dict = {"draws": draws}
    for widget in (HeadSplitter, Saturation):
        out[widget.NAME] = []
        for choices in states()[widget.NAME]:
            found = widget.compute(choices, dtype=torch.float64)
            skip = ("text", "sentence", "coarse")
            numbers = {n: v for n, v in found.items() if not isinstance(v, torch.Tensor) and n not in skip}
            out[widget.NAME].append({"choices": choices, "numbers": numbers, "samples": _samples(found)})
    return out


def rounded(value: object) -> object:
    """Nine significant digits: enough for 1e-5, few enough to be small."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    FILE.write_text(json.dumps(rounded(record()), separators=(",", ":")) + "\n", encoding="utf-8")
