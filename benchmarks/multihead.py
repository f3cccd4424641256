"""Is our ``MultiHeadAttention`` as fast as ``nn.MultiheadAttention`` with the same weights?

Self-attention at d_model 512, with and without per-head weights, forward (no gradient, eval) and forward + backward.
The two take turns in one run, the order turns round every round, and each row is a ratio of median CPU seconds: below 1,
ours is faster. Peak memory is the growth of the process's resident peak in a fresh process for each contender.

    python benchmarks/multihead.py [--rounds 9] [--threads 1] [--only 4x128 ...] [--heads 1 8 32] [--memory] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from mha_teach.multihead import MultiHeadAttention

D_MODEL = 512
SIZES = {"4x128": (4, 128), "1x512": (1, 512), "1x2048": (1, 2048)}


def contenders(
    batch: int, n: int, heads: int, weights: bool, backward: bool
) -> dict[str, Callable[[], None]]:
    """Name → one call on the same input with equal weights."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D_MODEL, heads, batch_first=True).train(backward)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(batch, n, D_MODEL, requires_grad=backward)
    asked = {"need_weights": weights, "average_attn_weights": False}
    calls = {
        "ours": lambda: ours(x, need_weights=weights)[0],
        "torch": lambda: theirs(x, x, x, **asked)[0],
    }

    def run(call: Callable[[], torch.Tensor]) -> None:
        with torch.set_grad_enabled(backward):
            y = call()
            if backward:
                y.sum().backward()

    return {name: lambda call=call: run(call) for name, call in calls.items()}


def race(calls: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Median CPU seconds of each, taking turns: other work on the machine disturbs them less than it disturbs a clock."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name in list(calls) if turn % 2 else reversed(calls):
            began = time.process_time()
            calls[name]()
            if turn:  # the first round warms up
                times[name].append(time.process_time() - began)
    return {name: statistics.median(each) for name, each in times.items()}


def peak(name: str, *case: int) -> float:
    """MiB by which a fresh process's resident peak grows in three calls."""
    code = f"import sys; sys.path.insert(0, 'benchmarks'); import multihead as m; print(m.growth({name!r}, {case!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def growth(name: str, case: tuple) -> float:
    """What ``peak`` runs in the fresh process."""
    torch.set_num_threads(1)
    contenders(1, 2, case[2], *case[3:])[name]()  # libraries load, threads start
    call = contenders(*case)[name]
    before = high_water()
    for _ in range(3):
        call()
    return (high_water() - before) / 1024


def high_water() -> int:
    """This process's peak in KiB. Not ``ru_maxrss``: that one starts at the parent's peak."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.split("VmHWM:")[1].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--heads", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--memory", action="store_true", help="also measure peak memory (Linux)")
    parser.add_argument("--json", help="write every row to this file")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rows = []
    print(f"torch {torch.__version__}, {args.threads} thread(s), {args.rounds} rounds; ratios ours / torch")
    for size in args.only:
        for heads in args.heads:
            for weights in (False, True):
                for backward in (False, True):
                    case = (*SIZES[size], heads, weights, backward)
                    seconds = race(contenders(*case), args.rounds)
                    row = {"size": size, "heads": heads, "weights": weights, "backward": backward}
                    row |= {"ratio": seconds["ours"] / seconds["torch"], "seconds": seconds}
                    what = f"{size:7} h={heads:<3} {'weights' if weights else 'no weights':10} "
                    what += "forward+backward" if backward else "forward"
                    line = f"{what:40} {row['ratio']:.2f}x   ({seconds['torch'] * 1000:.1f} ms torch)"
                    if args.memory:
                        row["peak_mib"] = {name: peak(name, *case) for name in ("ours", "torch")}
                        line += "   peak {ours:.0f} against {torch:.0f} MiB".format(**row["peak_mib"])
                    print(line, flush=True)
                    rows.append(row)
    if args.json:
        machine = {"torch": torch.__version__, "processor": platform.machine(), "threads": args.threads}
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({**machine, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
