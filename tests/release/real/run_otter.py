"""Take one chapter through otter as a teacher would. Runs in otter's environment: ``run_otter.py FOLDER``.

Reads ``order.json``, writes ``otter.json``: score and passed tests of every question, as otter's own results hold
them. The first notebook is graded by the command ``otter run`` too, the others by the function behind it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from run_nbgrader import busy, fill


def otter(*arguments: object) -> None:
    """Run one of otter's commands."""
    command = [sys.executable, "-m", "otter", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout[-4000:]}\notter {' '.join(map(str, arguments))} failed")


def main(folder: Path) -> None:
    """Assign, which tests the solutions; hand in; grade."""
    os.chdir(folder)
    order = json.loads(Path("order.json").read_text(encoding="utf-8"))
    slug = order["slug"]
    otter("assign", f"{slug}.ipynb", "dist")
    student = Path("dist", "student", f"{slug}.ipynb").read_text(encoding="utf-8")
    (zipped,) = Path("dist", "autograder").glob("*.zip")
    paths = []
    for k, cells in enumerate(order["submissions"]):
        paths.append(Path("submitted", f"s{k:03}.ipynb"))
        paths[-1].parent.mkdir(exist_ok=True)
        paths[-1].write_text(json.dumps(fill(json.loads(student), cells)), encoding="utf-8")

    from otter.api import grade_submission

    results, started, before = [], time.monotonic(), busy()
    for path in paths:
        graded = grade_submission(str(path), str(zipped), quiet=True)
        results.append(
            {
                name: {"score": test.score, "passed": [one.passed for one in test.test_case_results]}
                for name, test in graded.results.items()
            }
        )
    times = {"seconds": time.monotonic() - started, "busy": busy() - before}

    otter("run", "-a", zipped, "-o", "submitted", paths[0])
    written = json.loads(Path("submitted", "results.json").read_text(encoding="utf-8"))
    total = sum(test["score"] for test in written["tests"] if "max_score" in test)
    if abs(total - sum(question["score"] for question in results[0].values())) > 1e-6:
        raise SystemExit(f"otter run says {total}, otter's function says otherwise")
    Path("otter.json").write_text(json.dumps({"results": results, **times}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
