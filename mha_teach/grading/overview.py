"""What the teacher gets to read: which exercises fail, at which point, by which misconception; and whose files were odd."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mha_teach.grading.feedback import file_name
from mha_teach.grading.marks import Student, possible
from mha_teach.grading.page import table, tag, text, write
from mha_teach.grading.sandbox import LOST


def write_overview(
    path: Path, everyone: list[Student], missing: tuple[str, ...], pages: str = "feedback"
) -> None:
    """Write the page; ``missing`` are the protections that the sandbox did not have."""
    marks = possible(everyone)
    parts = [
        tag("p", text(f"Protection that was missing: {LOST[name]}."), "warning")
        for name in missing
        if name in LOST
    ]
    graded = [one for one in everyone if one.status == "graded"]
    parts.append(
        tag(
            "p",
            text(
                f"{len(everyone)} students, {len(graded)} graded, {_absent(everyone)}{sum(marks.values()):g} marks in all."
            ),
        )
    )
    parts += [tag("h2", "Exercises"), _exercises(everyone, marks)]
    parts += [tag("h2", "Where answers fail"), _points(everyone, marks)]
    parts += [tag("h2", "Misconceptions"), _misconceptions(everyone)]
    parts += [tag("h2", "To look at"), _odd(everyone)]
    parts += [tag("h2", "Students"), _students(everyone, marks, pages)]
    write(path, "Overview of the class", parts)


def _absent(everyone: list[Student]) -> str:
    number = sum(one.status == "not handed in" for one in everyone)
    return f"{number} not handed in, " if any(one.id for one in everyone) else ""


def _exercises(everyone: list[Student], marks: dict[str, float]) -> str:
    rows = []
    for id in marks:
        grades = [one.grades[id] for one in everyone if id in one.grades]
        counts = Counter(grade.status for grade in grades)
        tried = [g for g in grades if g.status not in ("not attempted", "unreadable")]
        mean = sum(g.score for g in tried) / len(tried) if tried else 0.0
        columns = ("right", "wrong", "error", "timeout", "not attempted", "unreadable")
        bar = f'<span class="bar" style="width: {mean * 6:.2f}rem"></span> {mean:.0%}' if tried else "–"
        rows.append([text(id), *(str(counts[status]) for status in columns), bar])
    head = (
        "exercise",
        "right",
        "wrong",
        "error",
        "timeout",
        "not attempted",
        "unreadable",
        "mean of those who tried",
    )
    return table(head, rows, range(1, 7)) if rows else tag("p", "None.")


def _points(everyone: list[Student], marks: dict[str, float]) -> str:
    counts: Counter = Counter()
    for one in everyone:
        for id in marks:
            if (grade := one.grades.get(id)) and grade.status not in ("not attempted", "unreadable"):
                counts.update((id, p.point, p.status) for p in grade.points if p.status != "passed")
    rows = [[text(id), text(point), text(status), str(n)] for (id, point, status), n in _ordered(counts)]
    return table(("exercise", "point", "status", "answers"), rows, [3]) if rows else tag("p", "Nowhere.")


def _misconceptions(everyone: list[Student]) -> str:
    counts = Counter(
        (g.exercise, g.diagnosis, g.words) for one in everyone for g in one.grades.values() if g.diagnosis
    )
    rows = [[text(id), text(name), text(words), str(n)] for (id, name, words), n in _ordered(counts)]
    head = ("exercise", "behaves like", "what is wrong with it", "answers")
    return table(head, rows, [3]) if rows else tag("p", "None was recognised.")


def _ordered(counts: Counter) -> list[tuple]:
    return sorted(counts.items(), key=lambda pair: (pair[0][0], -pair[1], pair[0]))


def _odd(everyone: list[Student]) -> str:
    rows = []
    for one in everyone:
        rows += [[text(one.name), text(a.file), text(n.words)] for a in one.attempts for n in a.notes]
        rows += [[text(one.name), "", text(n.words)] for n in one.notes]
        rows += [
            [text(one.name), text(g.exercise), text(n.words)]
            for g in one.grades.values()
            for n in g.notes
            if n.kind not in ("missing", "check")
        ]
    return table(("student", "where", "what"), rows) if rows else tag("p", "Nothing.")


def _students(everyone: list[Student], marks: dict[str, float], pages: str) -> str:
    rows = []
    for one in everyone:
        link = (
            f'<a href="{pages}/{file_name(one.name)}">{text(one.name)}</a>'
            if one.attempts
            else text(one.name)
        )
        total = f"{one.total:.4g}" if one.status == "graded" else ""
        statuses = [text(one.grades[id].status) if id in one.grades else "–" for id in marks]
        rows.append([link, text(one.status), total, *statuses])
    return table(("student", "status", "marks", *map(text, marks)), rows, [2])
