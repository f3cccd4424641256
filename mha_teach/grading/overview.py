"""What the teacher gets to read: which exercises fail, at which point, by which misconception; and whose files were odd."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean, median

from mha_teach import exercises
from mha_teach.exercises.display import plain
from mha_teach.grading.chart import STYLE, Bar, chart, legend
from mha_teach.grading.feedback import file_name
from mha_teach.grading.marks import Student, in_order, possible
from mha_teach.grading.page import table, tag, text, write
from mha_teach.grading.sandbox import LOST

STATUSES = ("right", "wrong", "error", "timeout", "not attempted", "unreadable")
NOT_TRIED = ("not attempted", "unreadable")
KINDS = {
    "right": "right",
    "wrong": "wrong",
    "error": "error",
    "timeout": "timeout",
    **dict.fromkeys(NOT_TRIED, "none"),
}
LEGEND = (
    ("right", "right"),
    ("wrong", "wrong"),
    ("error", "stopped with an error"),
    ("timeout", "out of time"),
    ("none", "not attempted or unreadable"),
)
SHOWN = 12  # bars of one chart


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
    parts += _marks(graded, sum(marks.values()))
    parts += [tag("h2", "Exercises"), *_exercises(everyone, marks)]
    parts += [tag("h2", "Where answers fail"), *_points(everyone, marks)]
    parts += [tag("h2", "Misconceptions"), *_misconceptions(everyone)]
    parts += [tag("h2", "To look at"), _odd(everyone)]
    parts += [tag("h2", "Students"), _students(everyone, marks, pages)]
    write(path, "Overview of the class", parts, STYLE)


def _marks(graded: list[Student], of: float) -> list[str]:
    """How the class did in two sentences, and who needs a word."""
    if not graded or not of:
        return []
    totals = [one.total for one in graded]
    low = [one for one in sorted(graded, key=lambda one: one.total) if one.total < of / 2]
    said = f"Of those graded, the mean is {fmean(totals):.3g} and the median {median(totals):.3g} marks. "
    said += f"{len(low)} of them {'has' if len(low) == 1 else 'have'} less than half of the marks"
    names = ", ".join(one.name for one in low[:SHOWN]) + (", …" if len(low) > SHOWN else "")
    return [tag("p", text(f"{said}: {names}." if low else f"{said}."))]


def _absent(everyone: list[Student]) -> str:
    number = sum(one.status == "not handed in" for one in everyone)
    return f"{number} not handed in, " if any(one.id for one in everyone) else ""


def _exercises(everyone: list[Student], marks: dict[str, float]) -> list[str]:
    rows, bars = [], []
    for id in marks:
        grades = [one.grades[id] for one in everyone if id in one.grades]
        counts = Counter(grade.status for grade in grades)
        tried = [g for g in grades if g.status not in NOT_TRIED]
        mean = f"{sum(g.score for g in tried) / len(tried):.0%}" if tried else "–"
        rows.append([text(id), *(str(counts[status]) for status in STATUSES), mean])
        parts = Counter({kind: sum(counts[s] for s in STATUSES if KINDS[s] == kind) for kind, _ in LEGEND})
        bars.append(Bar(_called(id), tuple((kind, parts[kind]) for kind, _ in LEGEND)))
    if not rows:
        return [tag("p", "None.")]
    told = "; ".join(
        f"{bar.label}: "
        + ", ".join(f"{n} {name}" for (_, n), (_, name) in zip(bar.parts, LEGEND, strict=True) if n)
        for bar in bars
    )
    head = ("exercise", *STATUSES, "mean of those who tried")
    drawn = chart("exercises", "How the answers to each exercise came out", told, bars)
    return [drawn, legend(LEGEND), table(head, rows, range(1, 8), "Answers by exercise")]


def _points(everyone: list[Student], marks: dict[str, float]) -> list[str]:
    counts: Counter = Counter()
    for one in everyone:
        for id in marks:
            if (grade := one.grades.get(id)) and grade.status not in NOT_TRIED:
                counts.update((id, p.point, p.status) for p in grade.points if p.status != "passed")
    if not counts:
        return [tag("p", "Nowhere.")]
    rows = [[text(id), text(point), text(status), str(n)] for (id, point, status), n in _ordered(counts)]
    whole: Counter = Counter()
    for (id, point, _), n in counts.items():
        whole[id, point] += n
    drawn = _most("points", "The points at which most answers fail", whole)
    head = ("exercise", "point", "status", "answers")
    return [*drawn, table(head, rows, [3], "Points that were not passed")]


def _misconceptions(everyone: list[Student]) -> list[str]:
    """One misconception is one row, also where students' own numbers put different ones into its words."""
    who: dict[tuple[str, str], list[str]] = {}
    words: dict[tuple[str, str], Counter] = {}
    for one in everyone:
        for g in filter(lambda g: g.diagnosis, one.grades.values()):
            who.setdefault((g.exercise, g.diagnosis), []).append(one.name)
            words.setdefault((g.exercise, g.diagnosis), Counter())[g.words] += 1
    counts = Counter({key: len(names) for key, names in who.items()})
    if not counts:
        return [tag("p", "None was recognised.")]
    rows = []
    for key, n in _ordered(counts):
        example = "for example: " if len(words[key]) > 1 else ""
        told = example + words[key].most_common(1)[0][0]
        names = ", ".join(who[key][:SHOWN]) + (", …" if n > SHOWN else "")
        rows.append([*map(text, (*key, told)), str(n), text(names)])
    head = ("exercise", "behaves like", "what is wrong with it", "answers", "whose")
    drawn = _most("misconceptions", "The misconceptions seen most often", counts)
    return [*drawn, table(head, rows, [3], "Misconceptions")]


def _most(id: str, title: str, counts: Counter) -> list[str]:
    """The greatest counts as bars; a note where there are more than are drawn."""
    chosen = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:SHOWN]
    bars = [Bar(f"{key[0]}: {key[1]}", (("count", n),)) for key, n in chosen]
    told = "; ".join(f"{bar.label}: {bar.total}" for bar in bars)
    rest = [tag("p", f"The {SHOWN} greatest; the table holds all.")] if len(counts) > SHOWN else []
    return [chart(id, title, told, bars), *rest]


def _called(id: str) -> str:
    try:
        return plain(f"{id} {exercises.get(id).title}")
    except KeyError:  # a gradebook of another edition
        return id


def _ordered(counts: Counter) -> list[tuple]:
    place = {id: n for n, id in enumerate(in_order({key[0] for key in counts}))}
    return sorted(counts.items(), key=lambda pair: (place[pair[0][0]], -pair[1], pair[0]))


def _odd(everyone: list[Student]) -> str:
    rows = []
    for one in sorted(everyone, key=lambda one: one.status == "graded"):  # who has no marks stands first
        rows += [[text(one.name), text(a.file), text(n.words)] for a in one.attempts for n in a.notes]
        rows += [[text(one.name), "", text(n.words)] for n in one.notes]
        there = {
            g.exercise[:2] for g in one.grades.values() if all(n.kind != "missing" for n in g.notes)
        }  # a chapter that was handed in, so that an answer which is not in it is odd
        rows += [
            [text(one.name), text(g.exercise), text(n.words)]
            for g in one.grades.values()
            for n in g.notes
            if n.kind not in ("missing", "check")
            or (n.kind == "missing" and g.points and g.exercise[:2] in there)
        ]
    return table(("student", "where", "what"), rows, name="What was odd") if rows else tag("p", "Nothing.")


def _coloured(status: str) -> str:
    """The word in the colour of the chart, so that a long list can be skimmed."""
    return tag("span", text(status), f"s-{KINDS.get(status, 'none')}")


def _students(everyone: list[Student], marks: dict[str, float], pages: str) -> str:
    rows = []
    for one in everyone:
        link = (
            f'<a href="{pages}/{file_name(one.name)}">{text(one.name)}</a>'
            if one.attempts
            else text(one.name)
        )
        total = f"{one.total:.4g}" if one.status == "graded" else ""
        statuses = [_coloured(one.grades[id].status) if id in one.grades else "–" for id in marks]
        rows.append([link, text(one.status), total, *statuses])
    return table(("student", "status", "marks", *map(text, marks)), rows, [2], "Students")
