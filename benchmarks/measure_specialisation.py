"""Record chapter 06's slow evidence: ``python benchmarks/measure_specialisation.py [row ...]``.

Writes ``mha_teach/data/measured/specialisation.json``: for 20 seeds the score of every relation, the knock-out matrix,
and what it costs to close two random heads of eight, as many random units, and all heads that seemed lazy. With the
machine and versions. Rows that are there already are kept unless named. All rows take some ten minutes of CPU.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

import torch

from mha_teach import devices, specialisation, tasks
from mha_teach.shapes import Tensor
from mha_teach.training import gate_score, sweep

FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "specialisation.json"
SEEDS, BATCH = 20, 16
LAZY = 0.05  # a head whose removal costs no relation more than this seems lazy

LIKE, UNLIKE = tasks.FixedOffsets(length=12), tasks.UnlikeRelations()
RUNS = {
    "like, 4 heads": (LIKE, 4, 600),
    "like, 8 heads": (LIKE, 8, 600),
    "unlike, 4 heads, 600 steps": (UNLIKE, 4, 600),
    "unlike, 4 heads, 800 steps": (UNLIKE, 4, 800),
    "unlike, 4 heads, 2400 steps": (UNLIKE, 4, 2400),
    "unlike, 8 heads, 800 steps": (UNLIKE, 8, 800),
    "unlike, 8 heads, 2400 steps": (UNLIKE, 8, 2400),
}


def measure(name: str) -> dict:
    task, heads, steps = RUNS[name]
    run = sweep(task, [{"num_heads": heads}], seeds=SEEDS, steps=steps, batch=BATCH, jobs=1, progress=False)
    score = gate_score(run)
    scores, change = score(torch.ones(heads)), specialisation.knockout_matrix(score, heads)
    row = {"task": repr(task), "num_heads": heads, "steps": steps, "batch": BATCH}
    row |= {"scores": rounded(scores), "knockouts": rounded(change)}
    if heads == 8:
        two = specialisation.head_drop(score, specialisation.drop_gates(heads, 2)).mean((0, -1))
        source = torch.Generator().manual_seed(0)
        sixteen = specialisation.head_drop(score, specialisation.drop_gates(64, 16, 28, source)).mean((0, -1))
        seems_lazy = (-change).amax(-1) < LAZY  # (seed, head)
        alone = (change.mean(-1) * seems_lazy).sum(-1)  # what the single knock-outs promise
        together = (score((~seems_lazy).float()) - scores).mean(-1)
        row |= {"two heads dropped": rounded(two), "sixteen units dropped": rounded(sixteen)}
        row |= {"seem lazy": seems_lazy.sum(-1).tolist()}
        row |= {
            "lazy heads, sum of single changes": rounded(alone),
            "lazy heads, all at once": rounded(together),
        }
    return row


def rounded(x: Tensor) -> list:
    """Three decimals: 256 sequences of 12 support no more."""
    return [rounded(part) for part in x] if x.ndim else round(x.item(), 3) + 0.0


def main(wanted: list[str]) -> None:
    devices.reproducible(0)
    torch.set_num_threads(1)
    present = json.loads(FILE.read_text("utf-8"))["rows"] if FILE.exists() else {}
    for name in wanted or [name for name in RUNS if name not in present]:
        row = measure(name)
        print(name, torch.tensor(row["scores"]).mean(-1).tolist(), flush=True)
        present[name] = row
        save(present)


def hardware() -> str:
    """The processor's name, and how many threads a run used."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{(names or [platform.processor() or platform.machine()])[0]}, {torch.get_num_threads()} thread a run"


def save(rows: dict) -> None:
    record = {
        "rows": {name: rows[name] for name in RUNS if name in rows},
        "script": "benchmarks/measure_specialisation.py",
        "hardware": hardware(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "date": time.strftime("%Y-%m-%d"),
    }
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(record) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
