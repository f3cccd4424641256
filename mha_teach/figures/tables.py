"""Chapter 06's records as text tables that fit the page: no line longer than 74 characters."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import torch

from mha_teach.shapes import Float, Tensor

WIDTH = 74  # characters that the text column shows without a scroll bar


def pm(runs: Sequence[float] | Tensor, digits: int = 2) -> str:
    """Mean ± standard deviation."""
    runs = torch.as_tensor(runs, dtype=torch.float32)
    return f"{runs.mean() + 0.0:.{digits}f} ± {runs.std():.{digits}f}"


def source(record: dict) -> str:
    """Where a record comes from."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return "\n".join(
        [
            record["hardware"],
            fill(versions, WIDTH, break_on_hyphens=False),
            f"{record['date']}, {record['script']}",
        ]
    )


def roles(rows: dict[str, dict]) -> str:
    """One line a role: its best head, and what controls reach."""
    lines = [f"{'role':15}{'head':8}{'score':13}{'all':5}{'even':6}{'random':7}{'permuted':9}shuffled"]
    for role, row in rows.items():
        best = [sum(row[f"{c}: best of 72"]) / len(row[f"{c}: best of 72"]) for c in ("random", "permuted")]
        score = f"{row['mean']:.2f} ± {row['sd over sentences']:.2f}"
        lines.append(
            f"{role:15}{tuple(row['head'])!s:8}{score:13}{row['mean of 72']:<5.2f}{row['even']:<6.2f}"
            f"{best[0]:<7.2f}{best[1]:<9.2f}{pm(row['shuffled: this head'])}"
        )
    return "\n".join(lines)


def grammar(rows: dict[str, dict]) -> str:
    """One line a relation and direction: best head, best fixed distance, the gain with its interval, what is found and
    gained with the halves swapped, and how many the head finds of those that the distance misses."""
    lines = [f"{'relation':12}{'way':8}{'head':8}{'found':6}{'fixed':8}{'gain':17}{'swapped':9}missed"]
    for name, row in rows.items():
        relation, way = name.replace("dependent", "dep").replace("governor", "gov").split(", ")
        low, high = row["gain interval"]
        gain = short(f"{row['gain']:+.2f} [{low:.2f}, {high:.2f}]")
        swapped = row["halves swapped"]
        turned = short(f"{swapped['held out']:.2f} {swapped['gain']:+.2f}")
        by = short(f"{row['offset']:+}: {row['offset held out']:.2f}")
        missed, share = row["where the offset misses"]
        found = short(f"{row['held out']:.2f}")
        lines.append(
            f"{relation:12}{way.replace(' ', ''):8}{tuple(row['head'])!s:8}{found:6}"
            f"{by:8}{gain:17}{turned:9}{round(missed * share)}/{missed}"
        )
    return "\n".join(lines)


def short(numbers: str) -> str:
    """Numbers below 1 without their leading zero, as the prose writes them."""
    return numbers.replace("0.", ".")


def closings(rows: dict[str, dict]) -> str:
    """Changes of the mean score, over seeds: two heads, as many units, and the heads that seemed lazy; last, in how many
    seeds these cost over .2, which is nearly one relation of four."""
    lines = [f"{'closed:':19}{'2 heads':13}{'16 units':13}{'lazy: alone → at once':22}over .2"]
    for name, row in rows.items():
        two, units = pm(row["two heads dropped"]), pm(row["sixteen units dropped"])
        alone = torch.tensor(row["lazy heads, sum of single changes"]).mean()
        together = torch.tensor(row["lazy heads, all at once"])
        lines.append(
            f"{name:19}{two:13}{units:13}{f'{alone:.2f} → {pm(together)}':22}"
            f"{int((together < -0.2).sum())} of {len(together)}"
        )
    return "\n".join(lines)


def drifts(row: dict, first: Sequence[Sequence[float]]) -> str:
    """Drifts of the real encoder without heads; ``first`` is every head's score for [CLS]."""
    single, sinks = torch.tensor(row["single"]), torch.tensor(first) > 0.6  # (layer, head)
    inside, total = row["parameters"]
    share = len(row["fifth"]) / single.numel()
    below = int((single[sinks] < single.median()).sum())
    lines = [
        f"one head: median {single.median():.4f}",
        f"  layers 0 to 4 at most {single[:5].max():.3f}, layer 5 at least {single[5].min():.3f}",
        f"  heads with over .6 on [CLS]: {int(sinks.sum())}, of them below the median {below}",
        f"the {len(row['fifth'])} least needed {row['fifth, together']:.3f}",
        f"  as many of the same layers {pm(row['random fifths of the same layers'])}",
        f"  as many anywhere {pm(row['random fifths'])}",
        f"all {single.numel()} heads {row['all heads']:.2f}, another sentence {row['another sentence']:.2f}",
        f"2 of 12 heads a layer {pm(row['two of twelve heads a layer'])}",
        f"64 of 384 units a layer {pm(row['64 of 384 units a layer'])}",
        f"parameters in heads {inside / total:.1%}, in a fifth of them {share * inside / total:.1%}",
    ]
    return "\n".join(lines)


def overlaps(row: dict[str, dict]) -> str:
    """How far what two heads of MiniLM read of their inputs overlaps, beside random weights on the same inputs."""
    found = ", ".join(f"W_{name} {one['on inputs']:.2f}" for name, one in row.items())
    chance = pm([draw for one in row.values() for draw in one["random weights on inputs"]])
    return f"overlap on the inputs: {found}, random W {chance}"


def by_head(rows: dict[str, Float[Tensor, "layer head"]]) -> str:
    """One line a role, one number a head, (layer, head) before it."""
    places = [
        (layer, head) for layer, row in enumerate(next(iter(rows.values()))) for head in range(len(row))
    ]
    return "\n".join(
        f"{name:24}" + "  ".join(f"{place} {scores[place]:.2f}" for place in places)
        for name, scores in rows.items()
    )


def sayings(losses: dict[str, Float[Tensor, " position"]], period: int) -> str:
    """Mean loss while a piece is new, and from its first token that can be copied on."""
    return "\n".join(
        f"{name:25}first saying {loss[: period - 1].mean():.1f}, later {loss[period:].mean():.1f} nats"
        for name, loss in losses.items()
    )


def matrix(change: Float[Tensor, "head relation"], relations: Sequence[str], title: str) -> str:
    """One knock-out matrix, two decimals."""
    lines = [f"{title:16}" + "".join(f"{name:>10}" for name in relations)]
    for i, row in enumerate(change.tolist()):
        lines.append(f"{f'head {i}':16}" + "".join(f"{round(value, 2) + 0.0:10.2f}" for value in row))
    return "\n".join(lines)


def copying(row: dict) -> str:
    """Loss on both sayings without the best induction heads or the previous-token head, beside as many other heads."""
    layers, heads = row["layers, heads"]
    best = ", ".join(f"({layer}, {head}) {score:.2f}" for layer, head, score, *_ in row["best heads"][:3])
    before, (again, first) = (row["without the best previous-token head"][key] for key in ("head", "loss"))
    looks = row["previous"][before[0]][before[1]]
    lines = [
        fill(row["model"], WIDTH, break_on_hyphens=False),
        row["text"],
        f"best of {layers * heads} for induction: {best}",
        f"best for the previous token: {tuple(before)} {looks:.2f}",
        f"{'closed':15}{'copying':9}{'first saying':14}{'others, copying':17}worst",
        f"{'none':15}{row['loss'][0]:<9.1f}{row['loss'][1]:.1f}",
        f"{'previous-token':15}{again:<9.1f}{first:.1f}",
    ]
    for size, (again, first) in row["without the best"].items():
        others = [other for other, _ in row["without others"][size]]
        lines.append(f"{f'best {size}':15}{again:<9.1f}{first:<14.1f}{pm(others, 1):17}{max(others):.1f}")
    singles = [tuple(head) for (head,) in row["which others"]["1"]]
    twice = ", ".join(str(head) for head in dict.fromkeys(singles) if singles.count(head) > 1)
    lines.append(
        f"single others: {len(singles)} draws, {len(set(singles))} heads, drawn twice: {twice or 'none'}"
    )
    return "\n".join(lines)
