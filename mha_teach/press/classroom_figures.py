"""What was measured about grading, as the teachers' page shows it: straight from the record, with the machine it ran on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

RECORD = Path("mha_teach", "data", "measured", "classroom.json")


def classroom_figures(root: Path) -> str:
    """Seconds a submission beside nbgrader and otter, a whole class, how often the right mistake is named. Empty without a record."""
    path = root / RECORD
    if not path.exists():
        return ""
    record = json.loads(path.read_text(encoding="utf-8"))
    parts = [_tools(record.get("tools")), _class(record.get("class")), _diagnosis(record.get("diagnosis"))]
    return "\n".join([*filter(None, parts), _machine(record)])


def _tools(found: Mapping | None) -> str:
    if not found:
        return ""
    rows = "\n".join(_row(name, row) for name, row in found["rows"].items() if row)
    head = "".join(
        f'<th scope="col">{word}</th>'
        for word in ("grader", "a submission", "times mha grade", "other marks than mha grade")
    )
    return (
        f"<p>The same {found['submissions']} submissions of <code>{escape(found['assignment'])}</code>, {found['jobs']} at a time, "
        f"went to each grader in turn: {found['exercises']} exercises with {found['points']} test points in all.</p>\n"
        '<div class="pst-scrollable-table-container">\n<table class="table">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def _row(name: str, row: Mapping) -> str:
    label = escape(f"{name} {row['version']}".strip())
    cells = (f"{row['seconds_each']:.2f} s", f"{row['ratio']:.1f}", str(row["differ"] or "none"))
    return f'<tr><th scope="row">{label}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _class(found: Mapping | None) -> str:
    if not found:
        return ""
    memory = found.get("peak_mib", {}).get("all")
    took = f", and {memory / 1024:.1f} GiB of memory at the most" if memory else ""
    return (
        f"<p>A class of {found['students']} with {found['answers']:,} answers, made of right and of wrong ones, took "
        f"{found['seconds'] / 60:.1f} minutes with {found['jobs']} jobs: {found['seconds_each']:.2f} s a submission{took}.</p>"
    )


def _diagnosis(found: Mapping | None) -> str:
    if not found:
        return ""
    misjudged = len(found["misjudged"])
    return (
        f"<p>Of {found['mutants']:,} wrong answers of {found['kinds']} kinds, graded under {found['seeds']} seeds, the feedback named "
        f"{100 * found['named']:.1f} % for what they are, and {100 * found['least']:.1f} % under the least lucky seed. "
        f"{_misjudged(misjudged)}</p>"
    )


def _misjudged(count: int) -> str:
    return (
        "None was taken for right, and no right answer for wrong."
        if count == 0
        else f"{count} answers were judged otherwise than they are; the record names them."
    )


def _machine(record: Mapping) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    wall = "behind bubblewrap" if record["bubblewrap"] else "without bubblewrap"
    facts = f"{record['hardware']}; {versions}; {wall}; {record['date']}"
    return (
        f"<p>Measured on {escape(facts)}. The record is <code>{RECORD.as_posix()}</code>; "
        "<code>benchmarks/classroom.py</code> makes it.</p>"
    )
