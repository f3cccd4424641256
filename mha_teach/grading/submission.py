"""Find in a notebook the answer to each exercise: by the id in a cell's first line, else by what the cell defines."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from mha_teach import exercises
from mha_teach.exercises import Exercise
from mha_teach.grading.reading import Cell, Note, Notebook, note
from mha_teach.grading.whose import Tags, of_cell, of_notebook

_ID = re.compile(r"^\s*#+\s*exercise\s*[:：]\s*(\S.*)", re.IGNORECASE)
_CHECK = re.compile(r"""^[^\S\n]*check\(\s*["']([^"'\n]{1,60})["']""", re.MULTILINE)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣-_"), "-")
_LONGEST = 200_000  # characters of one cell; so no pattern here may take more than one look at each of them
_TOLD = 12  # unknown ids that are named
# Letters that look like Latin ones, as a copied or retyped id may hold them.
_ALIKE = str.maketrans("асеорхуіѕԁɡһո", "aceopxyisdghn")


@dataclass(frozen=True)
class Answer:
    """The cell that answers an exercise, and what is odd about it; ``source`` is ``None`` where there is none.

    The exercise has the tag with which it is judged, if any.
    """

    exercise: Exercise
    source: str | None
    notes: tuple[Note, ...] = ()


@dataclass
class Submission:
    """All answers of one notebook, the other cells' code, and what there is to say about the whole."""

    answers: list[Answer] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def match(notebook: Notebook, chapters: tuple[str, ...] = (), tags: Tags | None = None) -> Submission:
    """The answers in a notebook. ``chapters`` ("00", "01") says which are expected; else those of which a cell is found.

    ``tags`` is what a roster says of the class; without it a cell is judged with the tag that it carries.
    """
    tags = tags or Tags()
    found = Submission(notes=list(notebook.notes))
    cells = [Cell(cell.kind, cell.source[:_LONGEST]) for cell in notebook.cells]
    found.code = [cell.source for cell in cells if cell.kind == "code"]
    every = {exercise.id: exercise for exercise in exercises.all()}
    unknown: list[str] = []
    named: dict[str, list[tuple[Cell, str]]] = {}
    for cell in cells:
        if (given := _id_of(cell)) is None:
            continue
        if (id := tidy(given).partition("@")[0]) in every:
            named.setdefault(id, []).append((cell, given))
        else:
            unknown.append(given[:60])
    found.notes += [note("unknown id", id=id) for id in list(dict.fromkeys(unknown))[:_TOLD]]
    there = {id[:2] for id in named}
    if not there:
        there = (
            {e.id[:2] for e in every.values() if any(_defines(c, e) for c in cells)} if chapters else set()
        )
    if chapters and not there & set(chapters):
        others = f", but some of chapter {', '.join(sorted(there))}" if there else ""
        found.notes.append(
            note("another assignment", chapters="chapter " + ", ".join(chapters), others=others)
        )
    elif not there:
        found.notes.append(note("no exercises"))
    written = [tidy(given) for pairs in named.values() for _, given in pairs]
    written += [tidy(id) for source in found.code for id in _CHECK.findall(source)]
    usual, notes = of_notebook([id.partition("@")[2] for id in written if "@" in id], tags)
    found.notes += notes if there else []
    wanted = set(chapters) or there
    for exercise in every.values():
        if exercise.id[:2] in wanted:
            found.answers.append(_answer(exercise, named.get(exercise.id, []), cells, named, usual, tags))
    return found


def tidy(id: str) -> str:
    """An id with look-alike signs as they are meant: dashes, full-width letters, Cyrillic letters."""
    return unicodedata.normalize("NFKC", id).casefold().translate(_DASHES).translate(_ALIKE).strip(" .;")


def _id_of(cell: Cell) -> str | None:
    for line in cell.source.splitlines():
        if line.strip() and not line.lstrip().startswith("%%"):
            found = _ID.match(line)
            if not found:
                return None
            return "@".join(part.strip() for part in re.split("[@＠]", found[1])).split()[0]
    return None


def _answer(
    exercise: Exercise, named: list, cells: list[Cell], every: dict, usual: str, tags: Tags
) -> Answer:
    notes, unnamed = [], not named
    if not named:
        taken = {id(cell) for pairs in every.values() for cell, _ in pairs}
        free = [c for c in cells if id(c) not in taken and c.kind == "code" and _defines(c, exercise)]
        shared = [c for c in cells if c.kind == "code" and _defines(c, exercise)] if not free else []
        if not free and not shared:
            return Answer(exercise, None, (note("missing", id=exercise.id),))
        notes.append(note("no id line" if free else "shared cell", id=exercise.id))
        free = free or shared
        named = [(cell, exercise.id) for cell in free]
    elif len({_body(cell.source) for cell, _ in named}) > 1:
        notes.append(note("several cells", count=len(named), id=exercise.id))
    stub = _body(exercise.stub)
    changed = [pair for pair in named if _body(pair[0].source) not in (stub, "")]
    cell, given = (changed or named)[-1]
    if given != (read := tidy(given)):
        notes.append(note("odd id", given=given[:60], id=read[:60]))
    _, at, tag = read.partition("@")
    tag, told = of_cell(exercise.id, tag if at else None, usual, tags)
    notes += [] if unnamed else told  # a cell that was found by what it defines has said so
    if tag:
        exercise = exercise.with_tag(tag)
    if cell.kind != "code":
        notes.append(note("no code cell", was=cell.kind[:20]))
    return Answer(exercise, cell.source, tuple(notes))


def _body(source: str) -> str:
    """The code without blank lines, comments that fill a line, and margins at the right."""
    lines = (line.rstrip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


def _defines(cell: Cell, exercise: Exercise) -> bool:
    """Whether the cell defines every name of the exercise, at its left margin. Code names only: plain values are too common."""
    names = exercise.names  # identifiers
    if len(names) == 1 and exercise.kind in ("recall", "derive", "explore"):
        return False
    return all(
        name in cell.source
        and re.search(rf"^(?:def|class)\s+{name}\b|^{name}\s*(?::[^=\n]*)?=(?!=)", cell.source, re.MULTILINE)
        for name in names
    )
