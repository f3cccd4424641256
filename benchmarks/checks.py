"""How long one check takes: cold, in a process that has loaded torch and nothing of the book, and warm, the second time.

Run: python benchmarks/checks.py [processes]. The aim is under 1 s cold and under 0.2 s warm on two cores.
Each exercise is checked with the solution, with its last mutant, and with an answer that no mutant resembles, so
that the diagnosis looks through all of them. Cold holds the import of the checks and of the exercise's chapter.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from multiprocessing import get_context

import torch  # a notebook has loaded it long before its first check

KINDS = ("right", "last mutant", "stranger")
COLD, WARM = 1.0, 0.2  # seconds


def stranger(*_: object, **__: object) -> object:
    """An answer that resembles nothing."""
    return torch.full((2, 3), 0.123)


def clocks() -> tuple[float, float]:
    """Seconds on the wall, and seconds that this process has had a processor."""
    return time.perf_counter(), time.process_time()


def since(began: tuple[float, float]) -> tuple[float, float]:
    """Both clocks' seconds since then."""
    return tuple(now - then for now, then in zip(clocks(), began, strict=True))


def timed(job: tuple[str, str]) -> tuple:
    """Id, kind, and seconds of the first check (with imports) and of later ones, wall and processor, in a new process."""
    id, kind = job
    torch.set_num_threads(1)
    began = clocks()
    from mha_teach.exercises import get

    exercise = get(id)
    loaded = since(began)
    source = exercise.source_of(exercise.mutants[-1]) if kind == "last mutant" else exercise.solution
    answer = exercise.build(source, "answer")
    answers = answer if len(exercise.names) > 1 else (answer,)
    if kind == "stranger":
        answers = tuple(stranger if callable(one) else 0.123 for one in answers)
    times = []
    for _ in range(4):
        began = clocks()
        verdict = exercise.check(*answers)
        str(verdict), verdict._repr_html_()
        times.append(since(began))
    if bool(verdict) != (kind == "right"):
        raise RuntimeError(f"{id}: the answer {kind!r} is judged {verdict.status!r}")
    cold = [a + b for a, b in zip(loaded, times[0], strict=True)]
    return id, kind, *cold, *(statistics.median(later) for later in zip(*times[1:], strict=True))


def ids() -> list[str]:
    """Every exercise with a score; asked of another process, so that this one stays cold."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(_ids)


def _ids() -> list[str]:
    from mha_teach.exercises import all

    return [exercise.id for exercise in all() if exercise.points]


def row(name: str, found: list[tuple], column: int, limit: float) -> bool:
    """Print one line of the table; whether the worst is within the limit."""
    ordered = sorted(found, key=lambda one: one[column])
    worst = ordered[-1]
    print(
        f"{name:5} median {statistics.median(one[column] for one in found) * 1000:5.0f} ms, "
        f"worst {worst[column] * 1000:5.0f} ms ({worst[0]}, {worst[1]}), limit {limit * 1000:.0f} ms"
    )
    for id, kind, *times in ordered[-4:-1][::-1]:
        print(f"{'':22}then {times[column - 2] * 1000:5.0f} ms ({id}, {kind})")
    return worst[column] < limit


def main() -> int:
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    jobs = [(id, kind) for id in ids() for kind in KINDS]
    with get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        found = pool.map(timed, jobs, chunksize=1)
    print(
        f"{len(jobs)} checks of {len(jobs) // len(KINDS)} exercises, {processes} at a time on {os.cpu_count()} cores"
    )
    within = [row("cold", found, 2, COLD), row("warm", found, 4, WARM)]
    print("the same in processor seconds, which a busy machine does not stretch:")
    row("cold", found, 3, COLD), row("warm", found, 5, WARM)
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
