"""Many configurations and seeds in one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
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

    def work(group: list[int], tick: Callable[[int], None]) -> list[Run]:
        torch.set_num_threads(1)  # a new thread does not inherit the setting
        return train(task, [chosen[i] for i in group], names, steps=steps, lr=lr, batch=batch, tick=tick)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are small: a second thread inside an operation mostly waits
    try:
        with bar(steps * len(chosen), progress) as shown:
            done = spread(groups, work, shown.update)
    finally:
        torch.set_num_threads(threads)
    runs = {
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


def spread(
    groups: Sequence[list[int]],
    work: Callable[[list[int], Callable[[int], None]], list[Run]],
    show: Callable[[int], object],
) -> list[list[Run]]:
    """Run ``work(group, tick)`` for every group, each on a thread of its own, and tell ``show`` about progress.

    An error or Ctrl-C stops all of them at their next step. Where threads cannot start (a browser's Python) or
    there is one group, the groups run here, one after the other.
    """
    if len(groups) == 1:
        return [work(groups[0], show)]
    stop, finished, shown = threading.Event(), [0] * len(groups), 0

    def start(i: int) -> list[Run]:
        def tick(steps: int) -> None:
            if stop.is_set():
                raise Stopped
            finished[i] += steps  # only this thread writes here, so no lock

        return work(groups[i], tick)

    pool = ThreadPoolExecutor(len(groups), thread_name_prefix="sweep")
    try:
        order = [pool.submit(start, i) for i in range(len(groups))]
        waiting = set(order)
        while waiting:
            over, waiting = wait(waiting, timeout=0.1, return_when="FIRST_EXCEPTION")
            for future in over:
                future.result()  # raises what stopped it, before the others are told to stop
            now = sum(finished)
            show(now - shown)
            shown = now
        return [future.result() for future in order]
    except RuntimeError as problem:
        if "start new thread" not in str(problem):
            raise
        stop.set()
        pool.shutdown(cancel_futures=True)
        return [work(group, show) for group in groups]
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def cost(config: Config) -> float:
    """Rough work per step, in arbitrary units: projections, the heads' softmaxes, the MLP."""
    inner = config.num_heads * config.width
    return config.layers * (2.5 * inner / 64 + 0.025 * config.num_heads + config.hidden / 256 + 0.5)


def shared_out(costs: Sequence[float], jobs: int) -> list[list[int]]:
    """Indices in ``jobs`` groups of nearly equal cost: longest first, each to the group with the least so far."""
    groups: list[list[int]] = [[] for _ in range(jobs)]
    load = [0.0] * jobs
    for i in sorted(range(len(costs)), key=lambda i: -costs[i]):
        least = load.index(min(load))
        groups[least].append(i)
        load[least] += costs[i]
    return groups
