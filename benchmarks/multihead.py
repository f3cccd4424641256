"""Is our ``MultiHeadAttention`` as fast as ``nn.MultiheadAttention`` with the same weights?

Self-attention at d_model 512, with and without per-head weights, with and without a causal mask, forward (no gradient,
eval) and forward + backward. The two take turns, the order turns round every round, and a process has a ratio of median
CPU seconds: below 1, ours is faster. Where a process's memory happens to lie moves its ratio by a few percent, so each
row is the median of five fresh processes, with the lowest and the highest beside it. How much that owes to chance is
told by torch's module that races a twin of itself. Peak memory is the growth of a process's resident peak in one call, in a
fresh process for each contender (Linux).

    python benchmarks/multihead.py [--rounds 15 7 2] [--only 4x128 ...] [--heads 1 8 32] [--save]

``--save`` writes ``mha_teach/data/measured/multihead.json``, which chapter 05 shows. All of it takes twenty minutes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the processes that measure memory as well

import torch
from measure_collapse import hardware
from torch import nn

from mha_teach.masking import causal
from mha_teach.multihead import MultiHeadAttention

D_MODEL = 512
SIZES = {"4x128": (4, 128), "1x512": (1, 512), "1x2048": (1, 2048)}
PROCESSES = 5
FILE = Path(__file__).parents[1] / "mha_teach" / "data" / "measured" / "multihead.json"


def contenders(
    batch: int, n: int, heads: int, weights: bool, masked: bool, backward: bool
) -> dict[str, Callable[[], None]]:
    """Name → one call on the same input with equal weights, each with the mask in its own spelling."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D_MODEL, heads, batch_first=True).train(backward)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(batch, n, D_MODEL, requires_grad=backward)
    may = causal(n) if masked else None
    asked = {"need_weights": weights, "average_attn_weights": False, "attn_mask": ~may if masked else None}
    calls = {
        "ours": lambda: ours(x, mask=may, need_weights=weights)[0],
        "torch": lambda: theirs(x, x, x, **asked)[0],
    }

    def run(call: Callable[[], torch.Tensor]) -> None:
        with torch.set_grad_enabled(backward):
            y = call()
            if backward:
                y.sum().backward()

    return {name: lambda call=call: run(call) for name, call in calls.items()}


def twins(
    batch: int, n: int, heads: int, weights: bool, masked: bool, backward: bool
) -> dict[str, Callable[[], None]]:
    """Two copies of torch's module with the same work: what their ratio differs from 1 is noise."""
    case = batch, n, heads, weights, masked, backward
    return {"torch": contenders(*case)["torch"], "its twin": contenders(*case)["torch"]}


def projections(batch: int, n: int, backward: bool) -> dict[str, Callable[[], None]]:
    """q, k and v of one input: by three ``Linear`` of their own, or by one that is three times as wide."""
    torch.manual_seed(0)
    fused, x = nn.Linear(D_MODEL, 3 * D_MODEL), torch.randn(batch, n, D_MODEL, requires_grad=backward)
    three = [nn.Linear(D_MODEL, D_MODEL) for _ in range(3)]

    def run(project: Callable[[], list[torch.Tensor]]) -> None:
        with torch.set_grad_enabled(backward):
            parts = project()
            if backward:
                sum(part.sum() for part in parts).backward()

    return {
        "three": lambda: run(lambda: [linear(x) for linear in three]),
        "fused": lambda: run(lambda: fused(x).chunk(3, -1)),
    }


def race(make: Callable, case: tuple, rounds: int) -> dict[str, float]:
    """Median CPU seconds of each, taking turns: other work on the machine disturbs them less than it disturbs a clock."""
    torch.set_num_threads(1)
    calls = make(*case)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name in list(calls) if turn % 2 else reversed(calls):
            began = time.process_time()
            calls[name]()
            if turn:  # the first round warms up
                times[name].append(time.process_time() - began)
    return {name: statistics.median(each) for name, each in times.items()}


def races(make: Callable, case: tuple, rounds: int, one: str, other: str) -> dict:
    """The ratio of ``one`` to ``other`` in the median process, the lowest and the highest, and both in milliseconds."""
    seconds = [apart(race, make, case, rounds) for _ in range(PROCESSES)]
    ratios = sorted(round(each[one] / each[other], 3) for each in seconds)
    ms = {name: round(1000 * statistics.median(each[name] for each in seconds), 1) for name in (one, other)}
    return {"ratio": statistics.median(ratios), "interval": [ratios[0], ratios[-1]], "ms": ms}


def apart(job: Callable, *args):
    """What ``job`` returns in a fresh process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mha_teach.multihead"])
    here, there = context.Pipe()
    process = context.Process(target=tell, args=(there, job, args))
    process.start()
    there.close()
    told = here.recv()
    process.join()
    return told


def tell(pipe, job: Callable, args: tuple) -> None:
    """What ``apart`` runs in the fresh process."""
    pipe.send(job(*args))


def peak(name: str, case: tuple, make: Callable = contenders) -> float:
    """MiB by which the resident peak of a fresh process grows in one call."""
    return round(apart(growth, name, case, make), 1)


def growth(name: str, case: tuple, make: Callable) -> float:
    """What ``peak`` measures in the fresh process."""
    torch.set_num_threads(1)
    make(1, 2, *case[2:])[name]()  # libraries load, threads start
    call = make(*case)[name]
    before = high_water()
    call()
    return (high_water() - before) / 1024


def high_water() -> int:
    """This process's peak in KiB. Not ``ru_maxrss``: that one starts at the parent's peak."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.split("VmHWM:")[1].split()[0])


def measure(size: str, heads: int, weights: bool, masked: bool, backward: bool, rounds: int) -> dict:
    """One row: what was asked, the ratio ours / torch, both medians in milliseconds, both peaks in MiB."""
    case = (*SIZES[size], heads, weights, masked, backward)
    found = races(contenders, case, rounds, "ours", "torch")
    asked = {"size": size, "heads": heads, "weights": weights, "masked": masked, "backward": backward}
    return asked | found | {"peak_mib": {name: peak(name, case) for name in found["ms"]}, "rounds": rounds}


def measure_projections(size: str, backward: bool, rounds: int) -> dict:
    """One row of three ``Linear`` against one fused, as ``measure``."""
    case = (*SIZES[size], backward)
    found = races(projections, case, rounds, "three", "fused")
    peaks = {name: peak(name, case, projections) for name in found["ms"]}
    return {"size": size, "backward": backward} | found | {"peak_mib": peaks, "rounds": rounds}


def label(row: dict) -> str:
    """The row's name, from what was asked."""
    asked = [row["size"], f"h={row['heads']}", "weights" if row["weights"] else "no weights"]
    asked += ["causal"] * row["masked"] + ["forward+backward" if row["backward"] else "forward"]
    return ", ".join(asked)


def between(row: dict) -> str:
    """The ratio with the lowest and the highest, to print."""
    low, high = row["interval"]
    return f"{row['ratio']:.2f}x [{low:.2f}, {high:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, nargs=3, default=[15, 7, 2], help="in a process, for each size in turn"
    )
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--heads", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--save", action="store_true", help="write the record that chapter 05 shows")
    args = parser.parse_args()
    torch.set_num_threads(1)
    began, rows, rounds = time.perf_counter(), {}, dict(zip(SIZES, args.rounds, strict=True))
    print(f"torch {torch.__version__}, {hardware()}; CPU time, ours / torch")
    for size, heads, *options in product(args.only, args.heads, *[(False, True)] * 3):
        row = measure(size, heads, *options, rounds=rounds[size])
        rows[label(row)] = row
        took, peaks = "{ours:8.1f} against {torch:.1f} ms", "{ours:6.0f} against {torch:.0f} MiB"
        print(
            f"{label(row):52}{between(row)}",
            took.format(**row["ms"]),
            peaks.format(**row["peak_mib"]),
            flush=True,
        )
    fused = {}
    for size, backward in product(args.only, (False, True)):
        row = measure_projections(size, backward, rounds[size])
        fused[f"{size}, {'forward+backward' if backward else 'forward'}"] = row
        print(
            f"three Linears / fused, {size}, backward {backward}: {between(row)}, peaks {row['peak_mib']} MiB"
        )
    noise = {}
    for size, weights, backward in product(args.only, (False, True), (False, True)):
        asked = {"size": size, "heads": 8, "weights": weights, "masked": False, "backward": backward}
        case = (*SIZES[size], 8, weights, False, backward)
        noise[label(asked)] = races(twins, case, rounds[size], "its twin", "torch")
        print(f"torch's twin / torch, {label(asked)}: {between(noise[label(asked)])}", flush=True)
    worst = max(rows.values(), key=lambda row: row["ratio"])
    slower = [name for name, row in rows.items() if row["interval"][0] > 1]
    print(f"slower in every process: {', '.join(slower) or 'none'}")
    print(f"largest ratio {between(worst)} at {label(worst)}; {time.perf_counter() - began:.0f} s")
    if args.save:
        facts = {
            "script": "benchmarks/multihead.py --save",
            "hardware": hardware(),
            "date": time.strftime("%Y-%m-%d"),
        }
        facts["versions"] = {"python": platform.python_version(), "torch": torch.__version__}
        FILE.write_text(
            json.dumps({"rows": rows, "projections": fused, "noise": noise, **facts}, indent=1) + "\n",
            "utf-8",
        )


if __name__ == "__main__":
    sys.exit(main())
