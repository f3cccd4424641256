"""Take one chapter through nbgrader as a teacher would. Runs in nbgrader's environment: ``run_nbgrader.py COURSE``.

Reads ``order.json``, writes ``nbgrader.json``: the scores of every cell as nbgrader's own gradebook holds them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path


def fill(notebook: dict, cells: dict[str, str]) -> dict:
    """The student's work: other text in the cells that begin with ``# exercise: ID``, and nothing else."""
    filled = set()
    for cell in notebook["cells"]:
        head, _, id = "".join(cell["source"]).partition("\n")[0].partition("# exercise: ")
        if cell["cell_type"] == "code" and not head and id in cells:
            cell["source"] = cells[id].splitlines(keepends=True)
            filled.add(id)
    if filled != set(cells):
        raise SystemExit(f"the students' notebook has no cell for {', '.join(sorted(set(cells) - filled))}")
    return notebook


def busy() -> float:
    """Seconds of processor time that this process and its finished children took; other programs don't matter to it."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def nbgrader(*arguments: str) -> None:
    """Run one of nbgrader's commands; the programs that it calls stand beside it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [str(Path(sys.executable).with_name("nbgrader")), *arguments],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout[-4000:]}\nnbgrader {' '.join(arguments)} failed")


def main(course: Path) -> None:
    """Generate, hand in, autograde, give feedback, read the gradebook."""
    os.chdir(course)
    order = json.loads(Path("order.json").read_text(encoding="utf-8"))
    slug, handed_in = order["slug"], order["submissions"]
    nbgrader("generate_assignment", slug)
    released = Path("release", slug, f"{slug}.ipynb").read_text(encoding="utf-8")
    for k, cells in enumerate(handed_in):
        path = Path("submitted", f"s{k:03}", slug, f"{slug}.ipynb")
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(fill(json.loads(released), cells)), encoding="utf-8")
    started, before = time.monotonic(), busy()
    nbgrader("autograde", slug)
    times = {"seconds": time.monotonic() - started, "busy": busy() - before}
    nbgrader("generate_feedback", slug, "--student=s002")  # the first mutants
    feedback = Path("feedback", "s002", slug, f"{slug}.html")
    if not feedback.exists() or "AssertionError" not in feedback.read_text(encoding="utf-8"):
        raise SystemExit("nbgrader's feedback doesn't say what is wrong")

    from nbgrader.api import Gradebook

    scores = []
    with Gradebook("sqlite:///gradebook.db") as book:
        for k in range(len(handed_in)):
            (notebook,) = book.find_submission(slug, f"s{k:03}").notebooks
            scores.append({grade.name: float(grade.score) for grade in notebook.grades})
    result = {"scores": scores, **times}
    Path("nbgrader.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
