"""The exports in the hands of the real nbgrader and the real otter: their scores are ours, for every known answer.

Right answers, stubs and every mutant of the chapters named are handed in. ``make test ONLY=exports``
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import handed_in
import plain
from run_nbgrader import fill

from mha_teach.release import nbgrader, otter
from mha_teach.release.assignment import Assignment, assignments
from mha_teach.release.packing import WHEEL, wheel

HERE = Path(__file__).parent
TOOLS = {
    "nbgrader": (nbgrader.write, "scores", handed_in.from_nbgrader),
    "otter": (otter.write, "results", handed_in.from_otter),
}
RELEASED = {"nbgrader": "release/{slug}/{slug}.ipynb", "otter": "dist/student/{slug}.ipynb"}
TIMES = {"seconds": "time", "busy": "processor"}


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
    (folder / WHEEL).write_bytes(wheel())  # as ``mha release`` does
    write(assignment, folder, handed_in.SEED)
    handed_in.order(assignment, folder)
    run([python, HERE / f"run_{tool}.py", folder])
    told = json.loads((folder / f"{tool}.json").read_text(encoding="utf-8"))
    ours, theirs = handed_in.expected(assignment), read(assignment, told[key])
    each = " and ".join(f"{told[kind] / len(ours):.1f} s of {what}" for kind, what in TIMES.items())
    what = f"{tool}, {assignment.slug}, {len(ours)} submissions ({each} each)"
    return Finding(what, sum(map(len, ours)), tuple(handed_in.differences(ours, theirs)))


def shown(tool: str, assignment: Assignment, python: Path, work: Path) -> Finding:
    """Run the students' notebook that a tool made where no tool is installed: as it comes, and with right answers."""
    folder = work / f"{tool}-{assignment.slug}"
    path = folder / RELEASED[tool].format(slug=assignment.slug)
    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    wrong = [f"{python} has {found}" for found in [plain.tools_in(python)] if found]
    for status, cells in (("not attempted", {}), ("right", order["submissions"][0])):
        notebook = fill(json.loads(path.read_text(encoding="utf-8")), cells)
        wrong += plain.executed(notebook, python, plain.checks_of(assignment, status), folder)
    what = f"{assignment.slug}, the students' notebook from {tool} where no tool is"
    return Finding(what, 2 * sum(bool(one.points) for one in assignment.exercises), tuple(wrong))


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


def tried(task: partial[Finding]) -> Finding:
    """The finding, or a finding that says what broke: one tool's trouble doesn't hide the other's result."""
    try:
        return task()
    except Exception as error:  # noqa: BLE001
        tool, assignment, *_ = task.args
        return Finding(f"{tool}, {assignment.slug}", 1, (f"{type(error).__name__}: {error}",))


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
        findings = []

        def all_of(task: Callable, environments: dict[str, Path]) -> None:
            pairs = [(tool, one) for tool in TOOLS for one in chosen]
            jobs = [
                pool.submit(
                    tried, partial(task, tool, one, environments[tool] / "bin" / "python", Path(made))
                )
                for tool, one in pairs
            ]
            for job in jobs:
                findings.append(job.result())
                print(findings[-1], flush=True)

        all_of(graded, {tool: getattr(options, tool) for tool in TOOLS})
        if options.plain:
            all_of(shown, dict.fromkeys(TOOLS, options.plain))
    failed = sum(len(one.wrong) for one in findings)
    count = {"passed": sum(max(one.compared - len(one.wrong), 0) for one in findings), "failed": failed}
    if options.count:
        options.count.write_text(json.dumps(count), encoding="utf-8")
    print(f"{count['passed']} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
