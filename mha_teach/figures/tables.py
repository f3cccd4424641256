"""Chapter 06's records as text tables that fit the page: no line longer than 80 characters."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import torch

from mha_teach.shapes import Float, Tensor


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
            fill(versions, 80, break_on_hyphens=False),
            f"{record['date']}, {record['script']}",
        ]
    )


def roles(rows: dict[str, dict]) -> str:
    """One line a role: its best head, and what controls reach."""
    lines = [f"{'role':15}{'head':9}{'score':13}{'all':6}{'even':6}{'random':8}{'permuted':10}shuffled"]
    for role, row in rows.items():
        best = [sum(row[f"{c}: best of 72"]) / len(row[f"{c}: best of 72"]) for c in ("random", "permuted")]
        score = f"{row['mean']:.2f} ± {row['sd over sentences']:.2f}"
        lines.append(
            f"{role:15}{tuple(row['head'])!s:9}{score:13}{row['mean of 72']:<6.2f}{row['even']:<6.2f}"
            f"{best[0]:<8.2f}{best[1]:<10.2f}{pm(row['shuffled: this head'])}"
        )
    return "\n".join(lines)


def grammar(rows: dict[str, dict]) -> str:
    """One line a relation and direction: best head, best fixed distance, the gain with its interval, and how often the
    head is right where the distance is not."""
    lines = [f"{'relation':12}{'from → to':11}{'head':8}{'found':7}{'by distance':13}{'gain':22}missed"]
    for name, row in rows.items():
        relation, way = name.replace("dependent", "dep").replace("governor", "gov").split(", ")
        by = f"{row['offset']:+}: {row['offset held out']:.2f}"
        low, high = row["gain interval"]
        gain = f"{row['gain']:+.2f} [{low:+.2f}, {high:+.2f}]"
        lines.append(
            f"{relation:12}{way:11}{tuple(row['head'])!s:8}{row['held out']:<7.2f}{by:13}{gain:22}"
            f"{row['where the offset misses'][1]:.2f}"
        )
    return "\n".join(lines)


def closings(rows: dict[str, dict]) -> str:
    """Changes of the mean score, over seeds: two heads, as many units, and the heads that seemed lazy."""
    lines = [f"{'closed:':28}{'2 heads':13}{'16 units':13}lazy, singly → at once"]
    for name, row in rows.items():
        two, units = pm(row["two heads dropped"]), pm(row["sixteen units dropped"])
        alone = torch.tensor(row["lazy heads, sum of single changes"]).mean()
        lines.append(f"{name:28}{two:13}{units:13}{alone:.2f} → {pm(row['lazy heads, all at once'])}")
    return "\n".join(lines)


def drifts(row: dict, first: Sequence[Sequence[float]]) -> str:
    """Drifts of the real encoder without heads; ``first`` is every head's score for [CLS]."""
    single, sinks = torch.tensor(row["single"]), torch.tensor(first) > 0.6  # (layer, head)
    inside, total = row["parameters"]
    share = len(row["fifth"]) / single.numel()
    below = int((single[sinks] < single.median()).sum())
    overlap = ", ".join(f"W_{name} {value:.2f}" for name, value in row["subspace overlap"].items())
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
        f"overlap of subspaces {overlap}, by chance {32 / 384:.2f}",
        f"parameters in heads {inside / total:.1%}, in a fifth of them {share * inside / total:.1%}",
    ]
    return "\n".join(lines)


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
        fill(row["model"], 80, break_on_hyphens=False),
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
    return "\n".join(lines)
