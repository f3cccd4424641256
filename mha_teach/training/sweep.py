"""Many configurations and seeds in one call."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import joblib
import torch

from mha_teach.tasks import Task
from mha_teach.training.loop import Run, Stopped, logged_steps, train
from mha_teach.training.model import Config, initial
from mha_teach.training.progress import bar
from mha_teach.training.result import Sweep


def sweep(
    task: Task,
    configs: Iterable[dict[str, Any]],
    *,
    seeds: int | Sequence[int] = 5,
    steps: int = 800,
    lr: float = 3e-3,
    batch: int = 32,
    jobs: int | None = None,
    progress: bool = True,
) -> Sweep:
    """Train the small attention model on ``task`` for every config and seed, and score it on fresh data.

    All seeds of a config train at once, as one model whose weights have a seed axis. Configs are shared out over
    ``jobs`` threads (default: the cores this process may use): torch works outside Python's lock, and threads start
    at once in every notebook, on every system. A result depends on (task, config, seed, steps, lr, batch) alone:
    not on ``jobs``, nor on what else is in the sweep.
    """
    given = [dict(c) for c in configs]
    chosen = [Config.of(c) for c in given]
    names = list(range(seeds)) if isinstance(seeds, int) else [int(s) for s in seeds]
    if not chosen or not names or steps < 1 or batch < 1:
        raise ValueError(
            f"nothing to train: {len(chosen)} configs, {len(names)} seeds, steps={steps}, batch={batch}; "
            f"take at least one of each"
        )
    for config in chosen:
        initial(config, task, 0)  # sizes that do not fit are reported before anything starts
    jobs = max(1, min(joblib.cpu_count() if jobs is None else jobs, len(chosen)))
    groups = shared_out([cost(c) for c in chosen], jobs)
    stop = threading.Event()
    with bar(steps * len(chosen), progress) as advance:

        def tick(done: int) -> None:
            if stop.is_set():
                raise Stopped
            advance(done)

        def work(group: list[int]) -> list[Run]:
            threads = torch.get_num_threads()
            torch.set_num_threads(1)  # the tensors are small: a second thread inside an operation only waits
            try:
                return train(
                    task, [chosen[i] for i in group], names, steps=steps, lr=lr, batch=batch, tick=tick
                )
            finally:
                torch.set_num_threads(threads)

        if jobs == 1:
            done = [work(groups[0])]
        else:
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    futures = [pool.submit(work, group) for group in groups]
                    wait(futures, return_when="FIRST_EXCEPTION")
                    done = [future.result() for future in futures]
                except BaseException:
                    stop.set()
                    raise
    runs: dict[int, Run] = {
        i: run for group, part in zip(groups, done, strict=True) for i, run in zip(group, part, strict=True)
    }
    ordered = [runs[i] for i in range(len(chosen))]
    return Sweep(
        task,
        given,
        names,
        steps,
        logged_steps(steps),
        torch.stack([r.scores for r in ordered]),
        torch.stack([r.losses for r in ordered]),
        torch.stack([r.peaks for r in ordered]),
        torch.stack([r.slopes for r in ordered]),
        [r.parameters for r in ordered],
    )


def cost(config: Config) -> float:
    """Rough work per step, in arbitrary units: projections, the heads' softmaxes, the MLP."""
    inner = config.num_heads * config.width
    return config.layers * (2.5 * inner / 64 + 0.06 * config.num_heads + config.hidden / 256 + 0.5)


def shared_out(costs: Sequence[float], jobs: int) -> list[list[int]]:
    """Indices in ``jobs`` groups of nearly equal cost: longest first, each to the group with the least so far."""
    groups: list[list[int]] = [[] for _ in range(jobs)]
    load = [0.0] * jobs
    for i in sorted(range(len(costs)), key=lambda i: -costs[i]):
        least = load.index(min(load))
        groups[least].append(i)
        load[least] += costs[i]
    return groups
