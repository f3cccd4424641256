"""The exports in the hands of the real nbgrader and the real otter: their scores are ours, for every known answer.

Right answers, stubs, every mutant and every variant of the chapters named are handed in. ``make test ONLY=exports``
runs this with the environments that it needs; by itself, for other chapters:

    python tests/release/real/exports.py --nbgrader ENV --otter ENV [--plain ENV] CHAPTER ...
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import handed_in

from mha_teach.release import nbgrader, otter
from mha_teach.release.assignment import Assignment, assignments

HERE = Path(__file__).parent
TOOLS = {
    "nbgrader": (nbgrader.write, "scores", handed_in.from_nbgrader),
    "otter": (otter.write, "results", handed_in.from_otter),
}


@dataclass(frozen=True)
class Finding:
    """What came of one comparison: how many things were compared, and a line for each that is wrong."""

    what: str
    compared: int
    wrong: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.what}: {self.compared - len(self.wrong)} of {self.compared} as they should be"]
        return "\n".join([*lines, *(f"  {line}" for line in self.wrong)])


def graded(tool: str, assignment: Assignment, python: Path, work: Path) -> Finding:
    """Hand every known answer in to one tool and compare what it says with what our check says."""
    write, key, read = TOOLS[tool]
    folder = work / f"{tool}-{assignment.slug}"
    folder.mkdir()
    write(assignment, folder, handed_in.SEED)
    handed_in.order(assignment, folder)
    started = time.monotonic()
    run([python, HERE / f"run_{tool}.py", folder])
    seconds = time.monotonic() - started
    told = json.loads((folder / f"{tool}.json").read_text(encoding="utf-8"))
    ours, theirs = handed_in.expected(assignment), read(assignment, told[key])
    each = told["seconds"] / len(ours)
    what = f"{tool}, {assignment.slug}, {len(ours)} submissions in {seconds:.0f} s ({each:.1f} s each)"
    return Finding(what, sum(map(len, ours)), tuple(handed_in.differences(ours, theirs)))


def plain(assignment: Assignment, python: Path, work: Path) -> Finding:
    """Run both students' notebooks where neither tool is installed, as they come and with the right answers."""
    there = subprocess.run(
        [
            python,
            "-c",
            "import importlib.util as u; print([n for n in ('nbgrader', 'otter') if u.find_spec(n)])",
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    wrong = [] if there.stdout.strip() == "[]" else [f"{there.stdout.strip()} are installed there"]
    right = json.loads((work / f"otter-{assignment.slug}" / "order.json").read_text(encoding="utf-8"))
    released = {
        "nbgrader": work / f"nbgrader-{assignment.slug}" / "release" / assignment.slug,
        "otter": work / f"otter-{assignment.slug}" / "dist" / "student",
    }
    from run_nbgrader import fill

    for tool, place in released.items():
        text = (place / f"{assignment.slug}.ipynb").read_text(encoding="utf-8")
        for state, cells in (("as it comes", {}), ("with the right answers", right["submissions"][0])):
            notebook = json.loads(text) if not cells else fill(json.loads(text), cells)
            trouble = executed(notebook, python, assignment, "not attempted" if not cells else "right")
            wrong += [f"{tool}'s notebook {state}: {line}" for line in trouble]
    return Finding(f"students' notebooks of {assignment.slug}, without the tools", 4, tuple(wrong))


def executed(notebook: dict, python: Path, assignment: Assignment, status: str) -> list[str]:
    """Run a notebook in another environment's kernel; a line for each check that doesn't say ``status``."""
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    from mha_teach.exercises.wording import say

    node = nbformat.reads(json.dumps(notebook), as_version=4)
    nbformat.validate(node)
    manager = AsyncKernelManager()
    manager.kernel_spec_manager = manager.kernel_spec_manager
    client = NotebookClient(node, km=manager, timeout=120)
    try:
        client.execute()
    except Exception as error:  # noqa: BLE001  whatever it is, it is one line of this report
        return [f"{type(error).__name__}: {str(error)[-300:]}"]
    said = [
        "".join(str(out) for out in cell.get("outputs", []))
        for cell in node.cells
        if cell.cell_type == "code"
    ]
    checks = [
        text
        for cell, text in zip((c for c in node.cells if c.cell_type == "code"), said, strict=True)
        if cell.source.startswith("check(")
    ]
    wanted = sum(bool(one.points) for one in assignment.exercises)
    lines = [f"{len(checks)} checks, not {wanted}"] if len(checks) != wanted else []
    word = say(status, seconds=0)
    return lines + [f"a check doesn't say {word!r}: {text[:200]}" for text in checks if word not in text]


def run(command: list[object]) -> None:
    """Run a tool's script with one thread; what it says when it fails is the error."""
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout[-3000:])


def tried(task: Callable[[], Finding], what: str) -> Finding:
    """The finding, or a finding that says what broke: one tool's trouble doesn't hide the other's result."""
    try:
        return task()
    except Exception as error:  # noqa: BLE001
        return Finding(what, 1, (f"{type(error).__name__}: {error}",))


def main(arguments: list[str]) -> int:
    """Two jobs at a time; the last line is the count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for tool in (*TOOLS, "plain"):
        parser.add_argument(f"--{tool}", type=Path, metavar="ENV", help="a virtual environment")
    parser.add_argument("--count", type=Path, help="where the count is written")
    parser.add_argument("chapters", nargs="+")
    options = parser.parse_args(arguments)
    chosen = assignments(options.chapters)
    with tempfile.TemporaryDirectory(prefix="exports-") as made, ThreadPoolExecutor(2) as pool:
        jobs = []
        for tool in TOOLS:
            for one in chosen:
                task = partial(graded, tool, one, getattr(options, tool) / "bin" / "python", Path(made))
                jobs.append(pool.submit(tried, task, f"{tool}, {one.slug}"))
        findings = []
        for job in jobs:
            findings.append(job.result())
            print(findings[-1], flush=True)
        for one in chosen if options.plain else ():
            task = partial(plain, one, options.plain / "bin" / "python", Path(made))
            findings.append(tried(task, f"students' notebooks of {one.slug}"))
            print(findings[-1], flush=True)
    failed = sum(len(one.wrong) for one in findings)
    count = {"passed": sum(max(one.compared - len(one.wrong), 0) for one in findings), "failed": failed}
    if options.count:
        options.count.write_text(json.dumps(count), encoding="utf-8")
    print(f"{count['passed']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
