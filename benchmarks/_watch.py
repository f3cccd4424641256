"""Run programs and watch what they and their descendants use: seconds, processor time, memory. Linux."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

TICK, MIB = os.sysconf("SC_CLK_TCK"), 1024
SANDBOX = "zygote.py"  # stands in the command line of everything that runs in the sandbox


@dataclass
class Used:
    """Wall seconds, CPU seconds, and peaks in MiB of what ran: all together, in the sandbox, outside of it.

    Memory is the proportional share (a page that n processes share counts 1/n for each), read several times a second.
    """

    seconds: float = 0.0
    cpu: float = 0.0
    peaks: dict[str, float] = field(default_factory=dict)


def watch(commands: list[list[str]], cwd: Path, environment: dict[str, str], every: float = 0.3) -> Used:
    """Run the commands at once and wait for all. Raises ``RuntimeError`` with the end of what one said if it fails."""
    used, stop = Used(), threading.Event()
    before, began = _waited_for(), time.perf_counter()
    logs = [_log(cwd, number) for number in range(len(commands))]
    running = [
        subprocess.Popen(line, cwd=cwd, env=environment, stdout=log, stderr=subprocess.STDOUT)
        for line, log in zip(commands, logs, strict=True)
    ]
    clock = threading.Thread(target=_sample, args=({p.pid for p in running}, used, stop, every))
    clock.start()
    codes = [process.wait() for process in running]
    used.seconds = time.perf_counter() - began
    stop.set()
    clock.join()
    # A process that nobody waits for is in the samples alone, one that was short is in the waited time alone.
    used.cpu = max(used.cpu, _waited_for() - before)
    for log in logs:
        log.close()
    for line, code, log in zip(commands, codes, logs, strict=True):
        if code:
            raise RuntimeError(
                f"{' '.join(line)} failed ({code}):\n{Path(log.name).read_text('utf-8')[-3000:]}"
            )
    return used


def _log(folder: Path, number: int):
    return (folder / f"said-{number}.txt").open("w", encoding="utf-8")


def _waited_for() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def _sample(roots: set[int], used: Used, stop: threading.Event, every: float) -> None:
    while not stop.wait(every):
        stats = _stats()
        tree = {number for number in stats if _below(number, roots, stats)}
        used.cpu = max(used.cpu, sum(stats[number][1] for number in tree) / TICK)
        inside = {number for number in tree if SANDBOX in _text(number, "cmdline")}
        memory = {number: _share(number) for number in tree}
        now = {"all": sum(memory.values()), "sandbox": sum(memory[number] for number in inside)}
        now["outside"] = now["all"] - now["sandbox"]
        now["largest process"] = max(memory.values(), default=0.0)
        for name, value in now.items():
            used.peaks[name] = max(used.peaks.get(name, 0.0), value / MIB)


def _stats() -> dict[int, tuple[int, int]]:
    """Process → its parent, and the ticks of itself and of those it has waited for."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (text := _text(int(name), "stat")):
            parts = text.rsplit(")", 1)[1].split()
            found[int(name)] = int(parts[1]), sum(map(int, parts[11:15]))
    return found


def _below(number: int, roots: set[int], stats: dict) -> bool:
    while number in stats and number not in roots:
        number = stats[number][0]
    return number in roots


def _share(number: int) -> float:
    """KiB. Where another account's memory can't be read: what is resident, the shared pages too."""
    for name, mark in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        for line in _text(number, name).splitlines():
            if line.startswith(mark):
                return float(line.split()[1])
    return 0.0


def _text(number: int, name: str) -> str:
    try:
        return Path(f"/proc/{number}/{name}").read_text("utf-8", "replace")
    except OSError:
        return ""
