"""Record chapter 06's slow evidence: ``python benchmarks/measure_specialisation.py [row ...]``.

Writes ``mha_teach/data/measured/specialisation.json``: for 20 seeds the score of every relation, the knock-out matrix,
and what it costs to close two random heads of eight, as many random units, and all heads that seemed lazy. In the
real encoder the same by drift of the sentence embedding: a fifth of the heads, chosen on other sentences, beside
random fifths from anywhere and from the same layers, and heads beside units; and how far its heads' subspaces overlap,
beside random weights on the same inputs. With the machine and versions. Rows that are there already are kept unless
named. All rows take some ten minutes of CPU.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

import torch

from mha_teach import devices, specialisation, tasks
from mha_teach.data import encoder, sentences, without_heads
from mha_teach.shapes import Tensor
from mha_teach.training import gate_score, sweep

FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "specialisation.json"
SEEDS, BATCH = 20, 16
LAZY = 0.05  # a head whose removal costs no relation more than this seems lazy

REAL, SUBSPACES = "real encoder", "real subspaces"
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


def real(draws: int = 10, fifth: int = 14) -> dict:
    """Drifts, 1 − cosine with the whole model's sentence embedding: means over 50 sentences, one for each draw."""
    model, text = encoder(), sentences(100)
    source = torch.Generator().manual_seed(0)

    def drifter(texts: list[str]):
        ids, mask = model.tokenise(texts)
        whole = model.run(ids, mask).embedding
        return lambda: (1 - (model.run(ids, mask).embedding * whole).sum(-1)).mean().item()

    def closed(drift, heads) -> float:
        with without_heads(model, [divmod(int(at), 12) for at in heads]):
            return drift()

    def gated(drift, gates) -> float:
        """``gates``: for each layer one gate, of heads or of units."""
        before = [layer.attention.out_proj.weight for layer in model.layers]
        try:
            for layer, gate in zip(model.layers, gates, strict=True):
                weight = specialisation.gated(layer.attention.out_proj.weight.T, gate).T
                layer.attention.out_proj.weight = torch.nn.Parameter(weight, requires_grad=False)
            return drift()
        finally:
            for layer, weight in zip(model.layers, before, strict=True):
                layer.attention.out_proj.weight = weight

    chosen, held_out = drifter(text[:50]), drifter(text[50:])
    single = torch.tensor([closed(chosen, [head]) for head in range(72)])
    least = single.argsort()[:fifth]
    heads = [specialisation.drop_gates(12, 2, 6, source) for _ in range(draws)]
    units = [specialisation.drop_gates(384, 64, 6, source) for _ in range(draws)]
    counts = torch.bincount(
        least // 12, minlength=6
    ).tolist()  # how many of the least needed each layer holds
    alike = torch.Generator().manual_seed(1)

    def same_layers() -> list[int]:
        return [
            12 * layer + int(head)
            for layer, count in enumerate(counts)
            for head in torch.randperm(12, generator=alike)[:count]
        ]

    return {
        "sentences": "50 to choose by, 50 others to measure on",
        "single": rounded(single.view(6, 12), 5),
        "fifth": [list(divmod(int(at), 12)) for at in least],
        "fifth, sum of singles": round(single[least].sum().item(), 4),
        "fifth, together": round(closed(held_out, least), 4),
        "random fifths": [
            round(closed(held_out, torch.randperm(72, generator=source)[:fifth]), 4) for _ in range(draws)
        ],
        "random fifths of the same layers": [round(closed(held_out, same_layers()), 4) for _ in range(draws)],
        "two of twelve heads a layer": [round(gated(held_out, gates), 4) for gates in heads],
        "64 of 384 units a layer": [round(gated(held_out, gates), 4) for gates in units],
        "all heads": round(closed(held_out, range(72)), 4),
        "another sentence": round(other(model, text[50:]), 4),
        "parameters": [6 * 4 * 384 * 384, sum(w.numel() for w in model.parameters())],
    }


def subspaces(draws: int = 5) -> dict:
    """Mean overlap of two heads of one layer: of the columns of W, and of X W, where X are the layer's inputs.

    Inputs that fill few directions bring any two heads together, so the control is random weights on the same inputs.
    """
    model, seen = encoder(), []
    ids, mask = model.tokenise(sentences(400))
    hooks = [
        layer.attention.register_forward_pre_hook(lambda _, given: seen.append(given[0][mask]))
        for layer in model.layers
    ]
    model.run(ids, mask)
    for hook in hooks:
        hook.remove()
    inputs = torch.linalg.qr(torch.stack(seen).double()).R  # (layer, d_model, d_model): XᵀX = RᵀR
    source = torch.Generator().manual_seed(0)

    def shared(w: Tensor) -> float:
        found = specialisation.subspace_overlap(w, 12)  # (layer, head, head)
        return found[:, ~torch.eye(12, dtype=torch.bool)].mean().item()

    rows = {}
    for at, name in enumerate("qkv"):
        w = torch.stack([layer.attention.in_proj_weight.chunk(3)[at].T for layer in model.layers]).double()
        chance = [torch.randn(w.shape, generator=source, dtype=w.dtype) for _ in range(draws)]
        rows[name] = {
            "weights": round(shared(w), 3),
            "on inputs": round(shared(inputs @ w), 3),
            "random weights on inputs": [round(shared(inputs @ draw), 3) for draw in chance],
        }
    return rows


def other(model, texts: list[str]) -> float:
    """Mean distance between the embeddings of two different sentences: how large a drift can be called large."""
    found = model(texts).embedding
    return (1 - found @ found.T)[torch.ones(len(texts), len(texts)).triu(1).bool()].mean().item()


def rounded(x: Tensor, digits: int = 3) -> list:
    """Three decimals: 256 sequences of 12 support no more."""
    return [rounded(part, digits) for part in x] if x.ndim else round(x.item(), digits) + 0.0


def main(wanted: list[str]) -> None:
    devices.reproducible(0)
    torch.set_num_threads(1)
    present = json.loads(FILE.read_text("utf-8"))["rows"] if FILE.exists() else {}
    for name in wanted or [name for name in (*RUNS, REAL, SUBSPACES) if name not in present]:
        special = {REAL: real, SUBSPACES: subspaces}
        row = special[name]() if name in special else measure(name)
        print(name, row.get("scores", row), flush=True)
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
        "rows": {name: rows[name] for name in (*RUNS, REAL, SUBSPACES) if name in rows},
        "script": "benchmarks/measure_specialisation.py",
        "hardware": hardware(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "date": time.strftime("%Y-%m-%d"),
    }
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(record) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
