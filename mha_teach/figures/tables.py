"""Chapter 06's records as text tables that fit the page: no line longer than 80 characters."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mha_teach.shapes import Float, Tensor


def pm(runs: Sequence[float] | Tensor, digits: int = 2) -> str:
    """Mean ± standard deviation."""
    runs = torch.as_tensor(runs, dtype=torch.float32)
    return f"{runs.mean() + 0.0:.{digits}f} ± {runs.std():.{digits}f}"


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
    """One line a relation and direction: best head, best fixed distance, and the gain with its interval."""
    lines = [f"{'relation':13}{'from → to':12}{'head':8}{'found':7}{'by distance':14}gain"]
    for name, row in rows.items():
        relation, way = name.replace("dependent", "dep").replace("governor", "gov").split(", ")
        by = f"{row['offset']:+}: {row['offset held out']:.2f}"
        low, high = row["gain interval"]
        lines.append(
            f"{relation:13}{way:12}{tuple(row['head'])!s:8}{row['held out']:<7.2f}{by:14}{row['gain']:+.2f}"
            f" [{low:+.2f}, {high:+.2f}]"
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


def matrix(change: Float[Tensor, "head relation"], relations: Sequence[str], title: str) -> str:
    """One knock-out matrix, two decimals."""
    lines = [f"{title:16}" + "".join(f"{name:>10}" for name in relations)]
    for i, row in enumerate(change.tolist()):
        lines.append(f"{f'head {i}':16}" + "".join(f"{round(value, 2) + 0.0:10.2f}" for value in row))
    return "\n".join(lines)


def copying(row: dict) -> str:
    """Loss on the second saying without the best induction heads, beside as many other heads."""
    layers, heads = row["layers, heads"]
    best = ", ".join(f"({layer}, {head}) {score:.2f}" for layer, head, score, *_ in row["best heads"][:3])
    lines = [
        f"best of {layers * heads} heads: {best}",
        f"closed  loss when copying  {'others: mean ± sd':20}worst",
    ]
    lines.append(f"none    {row['loss'][0]:.1f}")
    for size, (loss, _) in row["without the best"].items():
        others = [other for other, _ in row["without others"][size]]
        lines.append(f"{size:8}{loss:<19.1f}{pm(others, 1):20}{max(others):.1f}")
    return "\n".join(lines)
