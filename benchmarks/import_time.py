"""By how much `import mha_teach` adds to `import torch`: paired fresh processes, in alternating order.

Run: python benchmarks/import_time.py [pairs]. The aim is under 5 %.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

CLOCK = "import time; began = time.perf_counter(); import {}; print(time.perf_counter() - began)"


def seconds(modules: str) -> float:
    """Time that a fresh interpreter needs for the import."""
    done = subprocess.run(
        [sys.executable, "-c", CLOCK.format(modules)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> int:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    seconds("torch, mha_teach")  # warm the disk cache
    alone, both = [], []
    for turn in range(pairs):
        order = [("torch", alone), ("torch, mha_teach", both)]
        for modules, times in order if turn % 2 else reversed(order):
            times.append(seconds(modules))
    ratios = [b / a for a, b in zip(alone, both, strict=True)]
    fastest = min(both) / min(alone)
    package = min(seconds("mha_teach") for _ in range(3))
    print(f"import torch             {min(alone):.3f} s (fastest of {pairs})")
    print(f"import torch, mha_teach  {min(both):.3f} s, ratio of the fastest {fastest:.3f}")
    print(
        f"paired ratios            median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}"
    )
    print(f"import mha_teach alone   {package * 1000:.1f} ms = {package / min(alone):.2%} of import torch")
    return 0 if package < 0.05 * min(alone) else 1


if __name__ == "__main__":
    sys.exit(main())
