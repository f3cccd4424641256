"""Record chapter 01's slow evidence: ``python benchmarks/measure_collapse.py [row ...]``.

Writes ``mha_teach/data/measured/collapse.json``: every score of every seed, with the machine and versions.
Rows that are there already are kept unless they are named on the command line. All rows take some ten minutes of CPU.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from mha_teach import devices, tasks
from mha_teach.training import sweep

FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "collapse.json"


def heads(*numbers: int, **options) -> list[dict]:
    return [{"num_heads": h, **options} for h in numbers]


SWEEPS = {
    "two look-ups, 800 steps": (tasks.TwoNoisyLookups(), heads(1, 2, 4, 8, 16, 32, 64), 800),
    "two look-ups, 4000 steps": (tasks.TwoNoisyLookups(), heads(1), 4000),
    "two look-ups, MLP after": (tasks.TwoNoisyLookups(), heads(1, mlp=True), 2000),
    "nearest neighbour": (tasks.NearestNeighbour(), heads(1, 4, 16), 400),
    "four look-ups, longer": (tasks.KeyedLookups(), heads(1, 2), 1200),
    "four look-ups, deeper": (tasks.KeyedLookups(), heads(1, layers=4, residual=True), 800),
    "one offset, far away": (tasks.FixedOffsets(offsets=(8,)), heads(1), 200),
    "two offsets, 600 steps": (tasks.FixedOffsets(offsets=(-1, 5)), heads(1, 2), 600),
    "two offsets, longer": (tasks.FixedOffsets(offsets=(-1, 5)), heads(1), 2000),
    "two offsets, two layers": (tasks.FixedOffsets(offsets=(-1, 5)), heads(1, layers=2, residual=True), 800),
}
TEXT = "next character, nats"


class Characters(nn.Module):
    """A small causal model of characters: two blocks of attention and MLP with residuals and layer norm."""

    def __init__(
        self, symbols: int, num_heads: int, d_model: int = 64, context: int = 64, layers: int = 2
    ) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(symbols, d_model), nn.Embedding(context, d_model)
        block = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(d_model, num_heads, 4 * d_model, **block) for _ in range(layers)
        )
        self.read = nn.Linear(d_model, symbols)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        y = self.embed(x) + self.place(torch.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y, src_mask=mask, is_causal=True)
        return self.read(y)


def characters(num_heads: int, seed: int, steps: int = 250, context: int = 64) -> float:
    """Nats per character on held-out text: the last tenth of Python's language reference (``pydoc_data.topics``)."""
    from pydoc_data.topics import topics

    text = "".join(topics[name] for name in sorted(topics))
    symbols = sorted(set(text))
    ids = torch.tensor([symbols.index(c) for c in text[: 10**6]])
    cut = int(0.9 * len(ids))
    torch.manual_seed(seed)
    model = Characters(len(symbols), num_heads)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        at = torch.randint(cut - context - 1, (16,))[:, None] + torch.arange(context + 1)
        loss = F.cross_entropy(model(ids[at[:, :-1]]).flatten(0, 1), ids[at[:, 1:]].flatten())
        optimizer.param_groups[0]["lr"] = 3e-3 * min(1.0, (steps - step) / (0.3 * steps))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        held = ids[cut:][: (len(ids) - cut) // (context + 1) * (context + 1)].view(-1, context + 1)[::4]
        return F.cross_entropy(model(held[:, :-1]).flatten(0, 1), held[:, 1:].flatten()).item()


def main(wanted: list[str]) -> None:
    devices.reproducible(0)
    present = json.loads(FILE.read_text("utf-8"))["rows"] if FILE.exists() else {}
    for name in wanted or [name for name in (*SWEEPS, TEXT) if name not in present]:
        if name == TEXT:
            many = (1, 8)
            scores = [[round(characters(h, seed), 3) for seed in range(5)] for h in many]
            task = "Python's language reference, 2 blocks with MLP, d_model 64, context 64"
            row = {"task": task, "steps": 250, "configs": heads(*many), "scores": scores}
        else:
            task, configs, steps = SWEEPS[name]
            result = sweep(task, configs, steps=steps, jobs=1)
            scores = [[round(s, 4) for s in scores] for scores in result.scores.tolist()]
            row = {"task": repr(task), "steps": steps, "configs": configs, "scores": scores}
        print(name, *scores, sep="\n", flush=True)
        save(name, row)


def hardware() -> str:
    """The processor's name, and how many threads a run used."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{(names or [platform.processor() or platform.machine()])[0]}, {torch.get_num_threads()} thread a run"


def save(name: str, row: dict) -> None:
    """Add one row to what the file holds now, so that several runs may share it."""
    found = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"rows": {}}
    found |= {
        "script": "benchmarks/measure_collapse.py",
        "hardware": hardware(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "date": time.strftime("%Y-%m-%d"),
    }
    rows = found["rows"] | {name: row}
    found["rows"] = {key: rows[key] for key in (*SWEEPS, TEXT) if key in rows}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
