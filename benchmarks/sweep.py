"""By what factor does ``training.sweep`` beat the plain loop over configurations and seeds?

Both train the same models on the same data to the same scores (a test says so). The plain loop is an ordinary
``nn.Module`` with torch's Adam, once with torch's default threads and once with one. The contenders take turns
in one run, so that a busy machine hurts all alike; the order turns round every round.

    python benchmarks/sweep.py [--steps 200] [--seeds 5] [--rounds 3] [--only NAME ...] [--json FILE]

On a machine that does other work as well, torch's default threads wait for each other and that row says little:
``--only one-thread one-job sweep`` leaves it out. CPU seconds suffer less from company than wall seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from mha_teach.tasks import TwoNoisyLookups
from mha_teach.training import Config, sweep
from mha_teach.training.plain import train_plain

ROWS = {
    "default-threads": "plain loop, torch's default threads",
    "one-thread": "plain loop, one thread",
    "one-job": "sweep, one job",
    "sweep": "sweep",
}
HEADS = (1, 2, 4, 8, 16, 32, 64)


def contenders(steps: int, seeds: int, threads: int) -> dict[str, Callable[[], object]]:
    """Name → a call that trains everything once."""
    task = TwoNoisyLookups()

    def plain(use: int) -> None:
        torch.set_num_threads(use)
        for h in HEADS:
            for seed in range(seeds):
                train_plain(task, Config(num_heads=h), seed, steps=steps)

    def ours(jobs: int | None) -> None:
        torch.set_num_threads(threads)
        sweep(task, [{"num_heads": h} for h in HEADS], seeds=seeds, steps=steps, jobs=jobs, progress=False)

    return {
        "default-threads": lambda: plain(threads),
        "one-thread": lambda: plain(1),
        "one-job": lambda: ours(1),
        "sweep": lambda: ours(None),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="contenders to run; sweep is always among them")
    parser.add_argument("--json", help="also write the numbers to this file")
    options = parser.parse_args()
    threads = torch.get_num_threads()
    runs = contenders(options.steps, options.seeds, threads)
    if options.only:
        runs = {name: call for name, call in runs.items() if name in [*options.only, "sweep"]}
    small = contenders(2, 1, threads)
    for name in runs:
        small[name]()  # the first calls load code
    wall: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(options.rounds):
        for name in list(runs) if turn % 2 == 0 else reversed(list(runs)):
            start, used = time.perf_counter(), time.process_time()
            runs[name]()
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - used)
    print(
        f"{len(HEADS)} head counts × {options.seeds} seeds × {options.steps} steps, {options.rounds} rounds"
    )
    print(f"{'':38}{'wall s':>8}{'CPU s':>8}{'sweep is × faster':>20}")
    for name in runs:
        ratio = statistics.median(a / b for a, b in zip(wall[name], wall["sweep"], strict=True))
        w, c = statistics.median(wall[name]), statistics.median(cpu[name])
        print(f"{ROWS[name]:38}{w:8.2f}{c:8.2f}{ratio:20.2f}")
    if options.json:
        record = {"wall": wall, "cpu": cpu, "torch": torch.__version__, "threads": threads, **vars(options)}
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
