"""Record chapter 04's longer evidence: ``python benchmarks/measure_masking.py``.

Trains the model of ``mha_teach/training/noise.py`` on sequences twice as long as in the chapter's cell, with ten seeds,
and with two more placements: no mask at all, and −10 added where nothing may be seen. Writes
``mha_teach/data/measured/masking.json``: every number of every seed, with the machine and versions. Some ten minutes of CPU.
"""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict
from pathlib import Path

import torch
from measure_collapse import hardware

from mha_teach import devices
from mha_teach.training.noise import Placement, Size, train_on_noise

FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "masking.json"
SIZE = Size(length=16)
SETTINGS = {"seeds": 10, "steps": 1000, "batch": 16}
LONGER = {"−10 added": 3000}


def renormalised(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


PLACEMENTS: dict[str, Placement] = {
    "before": lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(-1),
    "after": lambda scores, mask: scores.softmax(-1) * mask,
    "after, renormalised": renormalised,
    "ones added": lambda scores, mask: (scores + mask).softmax(-1),
    "−10 added": lambda scores, mask: (scores - 10.0 * ~mask).softmax(-1),
    "no mask": lambda scores, mask: scores.softmax(-1),
}


def main() -> None:
    devices.reproducible(0)
    rows = {}
    for name, place in PLACEMENTS.items():
        steps = LONGER.get(name, SETTINGS["steps"])
        run = train_on_noise({name: place}, size=SIZE, **SETTINGS | {"steps": steps})
        found = {"last_loss": run.losses[..., -1], "shown": run.shown, "alone": run.alone}
        found |= {"alone_loss": run.alone_loss, "repeats": run.repeats}
        rows[name] = {"steps": steps} | {
            key: [round(x, 4) for x in value[0].tolist()] for key, value in found.items()
        }
        print(run.table(), flush=True)
    record = {
        "rows": rows,
        "settings": SETTINGS | {"size": asdict(SIZE)},
        "script": "benchmarks/measure_masking.py",
        "hardware": hardware(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "date": time.strftime("%Y-%m-%d"),
    }
    FILE.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
