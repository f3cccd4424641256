"""What the page for teachers lists: every exercise as the package has it, so that no list can go stale."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

import yaml

from mha_teach.exercises import all as every_exercise

KINDS = {"break": "break and mend"}
READING = re.compile(r" · (\d+) minutes")  # in the byline of a chapter's notebook


def exercise_list(root: Path) -> str:
    """One unfolding table a chapter: exercise, kind, difficulty, minutes, marks, whether it can draw numbers."""
    titles = chapter_titles(root)
    every = every_exercise()
    parts = [_total(every)]
    for number, group in groupby(every, key=lambda exercise: exercise.id[:2]):
        if name := next((name for name in titles if name.split("/")[-1].startswith(f"{number}_")), None):
            parts.append(_chapter(root, name, titles[name], list(group)))
    return "\n".join(parts)


def chapter_titles(root: Path) -> dict[str, str]:
    """Page and title of every chapter that ``_toc.yml`` lists, in its order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    listed = [chapter for part in toc.get("parts", []) for chapter in part["chapters"]]
    return {c["file"]: c.get("title", c["file"]) for c in listed if c["file"].startswith("notebooks/")}


def _total(every: Sequence[object]) -> str:
    scored = [exercise for exercise in every if exercise.points]
    marks = sum(exercise.marks for exercise in scored)
    return (
        f"<p>{len(every)} exercises: {len(scored)} are graded and are worth {marks} marks in all, "
        f"{len(every) - len(scored)} are open questions without a score.</p>"
    )


def _chapter(root: Path, name: str, title: str, group: Sequence[object]) -> str:
    marks = sum(exercise.marks for exercise in group if exercise.points)
    minutes = sum(exercise.minutes for exercise in group)
    reading = READING.search(_opening(root / f"{name}.ipynb"))
    text = f", after {reading[1]} minutes of reading" if reading else ""
    head = "".join(f'<th scope="col">{word}</th>' for word in _HEAD)
    rows = "\n".join(_row(name, exercise) for exercise in group)
    return (
        f"<details>\n<summary>{escape(title, quote=False)}: {len(group)} exercises, {marks} marks</summary>\n"
        f"<p>About {minutes} minutes of exercises{text}.</p>\n"
        '<div class="pst-scrollable-table-container">\n<table class="table">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n</details>"
    )


_HEAD = ("exercise", "kind", "level", "min", "marks", "own numbers")


def _row(name: str, exercise: object) -> str:
    link = f'<a href="../{name}.html#exercises">{escape(exercise.title, quote=False)}</a>'
    cells = (
        KINDS.get(exercise.kind, exercise.kind),
        str(exercise.difficulty),
        str(exercise.minutes),
        str(exercise.marks) if exercise.points else "–",
        "yes" if getattr(exercise, "vary", None) else "",
    )
    first = f'<th scope="row">{link}<br><code>{exercise.id}</code></th>'
    return "<tr>" + first + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _opening(notebook: Path) -> str:
    """The first cell's text."""
    return "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
