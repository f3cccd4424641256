"""``mha repair``: give a submission back what editors, merges and conversions took from it, by the exercise ids.

What a student wrote stays to the letter. Restored is what is known without them: ids, tags, the line that says which
exercise a cell answers, check cells, the setup cell, the kernel, the format. What only a person can decide is named.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

from mha_teach import exercises
from mha_teach.exercises import Exercise
from mha_teach.grading import reading, submission
from mha_teach.grading import repair_format as frame
from mha_teach.grading.words import say
from mha_teach.release import assignment as release

_SETUP = re.compile(r"^[^\S\n]*from mha_teach\.exercises import .*\bcheck\b", re.MULTILINE)
_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass
class Repaired:
    """A notebook's new text, or ``None`` where it can't be mended; what was done, and what is left to a person."""

    text: str | None = None
    did: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def repair(data: bytes, chapters: tuple[str, ...] = ()) -> Repaired:
    """Mend the notebook that ``data`` holds. ``chapters`` ("00") helps where no cell tells to which it belongs."""
    read = reading.parse(data)
    if read.problem is not None:
        return Repaired(left=[read.problem.words])
    tree = json.loads(reading._decode(data)[0])
    found = Repaired()
    for kind in ("byte order mark", "encoding", "windows line ends"):
        found.did += [say(f"repair {kind}") for n in read.notes if n.kind == kind]
    cells = frame.modern(tree, read, found.did)
    _recognise(cells, found.did)
    read.cells = [reading.Cell(cell["cell_type"], cell["source"]) for cell in cells]
    matched = submission.match(read, chapters or _chapters(read))
    _mark_answers(cells, matched, found)
    used = [cell["exercise"] for cell in cells if "exercise" in cell]
    _complete(cells, used, found.did)
    _identify(cells, used, found.did)
    frame.kernel(tree, found.did)
    found.left += _left(cells, matched, read)
    made = {
        **{key: value for key, value in tree.items() if key not in ("worksheets", "orig_nbformat")},
        "cells": [frame.plain(cell) for cell in cells],
        "nbformat": 4,
        "nbformat_minor": max(5, tree["nbformat_minor"]) if frame.is_new(tree) else 5,
    }
    found.text = release.text_of(made)
    return found


def _recognise(cells: list[dict], did: list[str]) -> None:
    """Give a cell its lost first line if its own id tells the exercise, or its prompt, or the check that follows it."""
    every = {exercise.id: exercise for exercise in exercises.all()}
    taken = {_given(cell) for cell in cells}
    stubs = {stub_id(exercise): exercise.id for exercise in every.values()}
    titles = {f"### {exercise.title}": exercise.id for exercise in every.values()}
    for before, cell, after in zip([None, *cells], cells, [*cells[1:], None], strict=False):
        if (
            cell["cell_type"] != "code"
            or _given(cell)
            or _checked(cell)
            or not submission._body(cell["source"])
        ):
            continue
        found = [stubs.get(cell["id"], "") if isinstance(cell["id"], str) else ""]
        found += [_checked(after) if after else "", titles.get(_heading(before), "")]
        for id in filter(None, found):
            exercise = every.get(id.partition("@")[0])
            if exercise and exercise.id not in taken and (id == found[0] or _names(cell, exercise)):
                taken.add(exercise.id)
                cell["source"] = f"# exercise: {id}\n{cell['source']}"
                did.append(say("repair line", id=id))
                break


def _heading(cell: dict | None) -> str:
    return cell["source"].partition("\n")[0].strip() if cell and cell["cell_type"] == "markdown" else ""


def _names(cell: dict, exercise: Exercise) -> bool:
    """Whether every name of the exercise stands at the cell's left margin, as what is defined does."""
    return all(
        re.search(rf"^(?:(?:def|class)\s+)?{name}\b", cell["source"], re.MULTILINE) for name in exercise.names
    )


def _given(cell: dict) -> str:
    """The id that a cell's first line names, tidied, without its tag; or nothing."""
    given = submission._id_of(reading.Cell(cell["cell_type"], cell["source"]))
    return submission.tidy(given).partition("@")[0] if given else ""


def _checked(cell: dict) -> str:
    """The id of the exercise that a check cell checks, or nothing."""
    found = (
        submission._CHECK.search(cell["source"]) if cell["cell_type"] == "code" and not _given(cell) else None
    )
    return submission.tidy(found[1]) if found else ""


def _chapters(read: reading.Notebook) -> tuple[str, ...]:
    """The chapter of a notebook none of whose cells names an exercise: the one of which most cells define something."""
    if any(answer.source is not None for answer in submission.match(read).answers):
        return ()
    counts = Counter()
    for chapter in sorted({exercise.id[:2] for exercise in exercises.all()}):
        counts[chapter] = sum(a.source is not None for a in submission.match(read, (chapter,)).answers)
    chapter, number = max(counts.items(), key=lambda pair: pair[1])
    return (chapter,) if number else ()


def _mark_answers(cells: list[dict], matched: submission.Submission, found: Repaired) -> None:
    """The right first line for the cell that counts; another cell with the same id is put aside."""
    answered = [answer for answer in matched.answers if answer.source is not None]
    places = [[c for c in cells if c["source"][: submission._LONGEST] == a.source] for a in answered]
    for answer, mine in zip(answered, places, strict=True):
        id, base = answer.exercise.id, answer.exercise.base
        if "exercise" in mine[-1]:
            found.left.append(say("repair shared", id=base, other=mine[-1]["exercise"].base))
            continue
        others = [cell for cell in cells if _given(cell) == base and not any(cell is one for one in mine)]
        for cell in [*mine[:-1], *others]:
            cell["source"] = _first_line(cell["source"], f"# another answer to {base}, put aside")
            found.did.append(say("repair aside", id=base))
        cell = mine[-1]
        marked = _first_line(cell["source"], f"# exercise: {id}")
        if cell["cell_type"] != "code":
            found.did.append(say("repair code", id=base))
        if marked != cell["source"]:
            found.did.append(say("repair line", id=id))
        cell |= {"source": marked, "cell_type": "code", "exercise": answer.exercise}


def _first_line(source: str, line: str) -> str:
    """The source with ``line`` in place of the one that names an exercise, or before everything."""
    lines = source.splitlines(keepends=True)
    for place, text in enumerate(lines):
        if submission._ID.match(text.rstrip("\n")):
            if text.rstrip("\n") == line:
                return source
            return "".join([*lines[:place], line, "\n" if text.endswith("\n") else "", *lines[place + 1 :]])
        if text.strip() and not text.lstrip().startswith("%%"):
            break
    return f"{line}\n{source}"


def _complete(cells: list[dict], used: list[Exercise], did: list[str]) -> None:
    """The check cells and the setup cell that are gone."""
    checked = {_checked(cell).partition("@")[0] for cell in cells}
    for exercise in used:
        if exercise.points and exercise.base not in checked:
            place = next(i for i, cell in enumerate(cells) if cell.get("exercise") is exercise)
            cells.insert(place + 1, frame.new("code", release.check_source(exercise)))
            did.append(say("repair check", id=exercise.id))
    if used and not any(cell["cell_type"] == "code" and _SETUP.search(cell["source"]) for cell in cells):
        place = 1 if cells[0]["cell_type"] == "markdown" and cells[0]["source"].startswith("# ") else 0
        for found in reversed(release.assignments(sorted({exercise.id[:2] for exercise in used}))):
            cells.insert(place, frame.new("code", release.setup_source(found)))
            did.append(say("repair setup"))


def stub_id(exercise: Exercise) -> str:
    """The id of the cell that a released assignment has for the answer."""
    return release.cell_id(_assignment(exercise.id[:2]), exercise, "stub")


def _assignment(chapter: str) -> release.Assignment:
    return release.assignments((chapter,))[0]


def _identify(cells: list[dict], used: list[Exercise], did: list[str]) -> None:
    """An id for every cell, and tags for those that have them in a released assignment; ids that are there stay."""
    known: dict[tuple[str, str], tuple[str, str]] = {}
    slug = "cell"
    for found in release.assignments(sorted({exercise.id[:2] for exercise in used})) if used else ():
        slug = found.slug if slug == "cell" else slug
        tags = {exercise.id for exercise in used if exercise.id[:2] == found.number}
        one = next(iter(tags)).partition("@")[2]
        pieces = release.pieces(found.with_tag(one) if one else found)
        known |= {(piece.kind, piece.source): (piece.id, piece.role) for piece in pieces}
        known |= {
            ("check", piece.exercise.base): (piece.id, "check") for piece in pieces if piece.role == "check"
        }
        known |= {("setup", ""): (f"{found.slug}-setup", "setup")}
    taken: set[str] = set()
    ids = tags = 0
    wanted = [_wanted(cell, known) for cell in cells]
    sure = {cell["id"] for cell in cells if isinstance(cell["id"], str)}
    for number, (cell, (id, role)) in enumerate(zip(cells, wanted, strict=True), 1):
        old = cell["id"]
        if not isinstance(old, str) or not _CELL_ID.fullmatch(old) or old in taken:
            if not id or id in taken or id in sure:
                id = next(
                    n for i in range(len(cells) + 1) if (n := f"{slug}-{number + i:03d}") not in taken | sure
                )
            cell["id"], ids = id, ids + 1
        taken.add(cell["id"])
        if role and cell["id"] == id and role not in reading._listed(cell["metadata"].get("tags")):
            cell["metadata"]["tags"] = [*reading._listed(cell["metadata"].get("tags")), role]
            tags += 1
    did += [say("repair ids", count=ids)] if ids else []
    did += [say("repair tags", count=tags)] if tags else []


def _wanted(cell: dict, known: dict) -> tuple[str, str]:
    """The id and the role that a released assignment has for this cell, or nothing."""
    if exercise := cell.get("exercise"):
        return stub_id(exercise), "stub"
    if checked := _checked(cell):
        return known.get(("check", checked.partition("@")[0]), ("", ""))
    if cell["cell_type"] == "code" and _SETUP.search(cell["source"]):
        return known.get(("setup", ""), ("", ""))
    return known.get((cell["cell_type"], cell["source"]), ("", ""))


def _left(cells: list[dict], matched: submission.Submission, read: reading.Notebook) -> list[str]:
    marks = [
        number
        for number, cell in enumerate(cells, 1)
        if any(mark.search(cell["source"].encode("utf-8", "replace")) for mark in reading._MARKS)
    ]
    found = [say("repair marks", cells=", ".join(map(str, marks)))] if marks else []
    kinds = ("no exercises", "unknown id", "another assignment")
    found += [note.words for note in matched.notes if note.kind in kinds]
    gone = [a.exercise.base for a in matched.answers if a.source is None]
    return found + ([say("repair gone", ids=", ".join(gone))] if gone else [])
