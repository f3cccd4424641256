"""Runs in the environment of nbgrader or of otter, for ``classroom.py``; knows nothing of this project.

    _real_tools.py otter ZIP RESULT NOTEBOOK ...     grade them one after the other, as ``otter run`` does each
    _real_tools.py nbgrader DATABASE SLUG RESULT     read what ``nbgrader autograde`` has graded

Either writes a JSON file: student → marks, or ``null`` where the tool gave none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def otter(archive: str, result: str, *notebooks: str) -> None:
    """One process for all: otter is imported once, which the command ``otter run`` does anew for each."""
    from otter.api import grade_submission

    marks = {}
    for path in notebooks:
        try:
            marks[Path(path).stem] = grade_submission(path, archive, quiet=True).total
        except Exception as error:  # noqa: BLE001  the class goes on
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
            marks[Path(path).stem] = None
    Path(result).write_text(json.dumps(marks), "utf-8")


def nbgrader(database: str, slug: str, result: str) -> None:
    """The marks in nbgrader's own gradebook."""
    from nbgrader.api import Gradebook

    with Gradebook(database) as book:
        marks = {one.student.id: float(one.score) for one in book.assignment_submissions(slug)}
    Path(result).write_text(json.dumps(marks), "utf-8")


if __name__ == "__main__":
    {"otter": otter, "nbgrader": nbgrader}[sys.argv[1]](*sys.argv[2:])
