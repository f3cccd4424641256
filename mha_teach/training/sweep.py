"""Many configurations and seeds in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any

import joblib
import torch

from mha_teach.tasks import Task
from mha_teach.training.loop import Run, logged_steps, train
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
    ``jobs`` processes (default: the cores this process may use), the longest first. The processes stay for the next
    sweep, so only the first one waits for them to start. A result depends on (task, config, seed, steps, lr, batch)
    alone: not on ``jobs``, nor on what else is in the sweep.
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
    options = {"steps": steps, "lr": lr, "batch": batch}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are small: a second thread inside an operation mostly waits
    try:
        with bar(steps * len(chosen), progress) as shown:
            runs = spread(task, chosen, names, options, jobs, shown.update)
    finally:
        torch.set_num_threads(threads)
    return Sweep(
        task,
        given,
        names,
        steps,
        logged_steps(steps),
        torch.stack([r.scores for r in runs]),
        torch.stack([r.losses for r in runs]),
        torch.stack([r.peaks for r in runs]),
        torch.stack([r.slopes for r in runs]),
        [r.parameters for r in runs],
    )


def spread(
    task: Task,
    configs: Sequence[Config],
    seeds: Sequence[int],
    options: dict[str, Any],
    jobs: int,
    show: Callable[[int], object],
) -> list[Run]:
    """Train every config, in ``jobs`` processes, and tell ``show`` how many steps are done.

    Where processes can't start (a browser's Python, a locked-down machine) or one is enough, all run here.
    """
    if jobs > 1:
        order = sorted(
            range(len(configs)), key=lambda i: -cost(configs[i])
        )  # the longest first: none is late
        try:
            runs = _elsewhere(task, [configs[i] for i in order], seeds, options, jobs, show)
            return [runs[order.index(i)] for i in range(len(configs))]
        except (OSError, ImportError, NotImplementedError, BrokenExecutor) as problem:
            warnings.warn(f"no second process could be used ({problem}); training here instead", stacklevel=3)
    return [train(task, config, seeds, tick=show, **options) for config in configs]


def _elsewhere(task, configs, seeds, options, jobs, show) -> list[Run]:
    pool = joblib.Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered")
    made: dict[int, Run] = {}
    done = pool(joblib.delayed(_one)(i, task, config, seeds, options) for i, config in enumerate(configs))
    try:
        for i, run in done:
            made[i] = _with(run, torch.from_numpy)
            show(options["steps"])
    finally:
        done.close()  # after an error or Ctrl-C the others stop too
    return [made[i] for i in range(len(configs))]


def _one(
    i: int, task: Task, config: Config, seeds: Sequence[int], options: dict[str, Any]
) -> tuple[int, Run]:
    torch.set_num_threads(1)
    run = train(task, config, seeds, **options)
    return i, _with(run, torch.Tensor.numpy)  # unpickling a tensor warns in older torch


def _with(run: Run, form: Callable) -> Run:
    """The run with every tensor or array in another form."""
    parts = (form(part) for part in (run.scores, run.losses, run.peaks, run.slopes))
    return Run({name: form(w) for name, w in run.parameters.items()}, *parts)


def cost(config: Config) -> float:
    """Rough work per step, in arbitrary units: projections, the heads' softmaxes, the MLP."""
    inner = config.num_heads * config.width
    return config.layers * (2.5 * inner / 64 + 0.025 * config.num_heads + config.hidden / 256 + 0.5)
