"""Who is in the class: a table with a line for each student, as spreadsheets and Canvas save it.

The column that identifies a student is called ``id``, ``SIS Login ID`` or ``student``, the first of them that is
there; ``name`` (or ``student``, where it isn't the id) is optional. Whatever is wrong is told with its line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from mha_teach import exercises
from mha_teach.release import ReleaseError

IDS = ("id", "sis login id", "student")
NAMES = ("name", "student")
LARGEST = 8 * 1024**2
_RESERVED = {"", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_SHORTENED = re.compile(r"\d[.,]\d+E\+\d+", re.IGNORECASE)  # what a spreadsheet makes of a long number


@dataclass(frozen=True)
class Member:
    """A student. ``id`` decides the numbers, ``line`` is where the roster says so; ``login`` and ``canvas`` are Canvas's, if there."""

    id: str
    name: str = ""
    line: int = 0
    login: str = ""
    canvas: str = ""

    @property
    def tag(self) -> str:
        """The tag that this student's exercises carry."""
        return exercises.tag(self.id)

    @property
    def file(self) -> str:
        """A name for this student's file or folder that is safe on every system; other ids get other names."""
        return safe(self.id)


def read_roster(path: Path) -> list[Member]:
    """The students in the order of the file. Raises ReleaseError that names the line and the cure."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise ReleaseError(f"{path}: {why}: give a table (CSV) with a line for each student") from None
    if len(data) > LARGEST:
        raise ReleaseError(f"{path.name} is larger than {LARGEST // 1024**2} MB: is it the roster?")
    return parse_roster(data, path.name)


def parse_roster(data: bytes, name: str = "roster.csv") -> list[Member]:
    """The same for the file's bytes; ``name`` is how messages call it."""
    text = _decode(data, name)
    rows = _rows(text, name)
    if not rows:
        raise ReleaseError(f"{name} is empty: its first line names the columns, id and name")
    (first, head), *rest = rows
    keys = [" ".join(title.casefold().split()) for title in head]
    own = next((key for key in IDS if key in keys), None)
    if own is None:
        found = ", ".join(title.strip() for title in head)[:80]
        raise ReleaseError(
            f"{name}, line {first}: no column id, SIS Login ID or student (found: {found}): "
            "name the column that identifies a student id"
        )
    called = next((key for key in NAMES if key in keys and key != own), None)
    exported = {"student", "id", "section"} <= set(keys)  # by Canvas: its ID is its own number
    members, wrong, seen = [], [], {}
    for line, row in rest:
        fields = dict(zip(keys, map(_tidy, row), strict=False))
        id, shown = fields.get(own, ""), fields.get(called, "") if called else ""
        if not id and "points possible" in (shown.casefold(), fields.get("student", "").casefold()):
            continue  # Canvas's line below the titles
        if exported and not id and not shown:
            continue  # Canvas's line of posting policies
        problem = _problem(id, row, head, own)
        if (
            not problem
            and (before := seen.setdefault(unicodedata.normalize("NFKC", id).casefold(), line)) != line
        ):
            problem = f"{id} is on line {before} already: each student stands on one line"
        if problem:
            wrong.append(f"{name}, line {line}: {problem}")
        canvas = id if exported and own == "id" else ""
        members.append(Member(id, shown, line, fields.get("sis login id", ""), canvas))
    if wrong:
        more = f" (and {len(wrong) - 1} more such lines)" if len(wrong) > 1 else ""
        raise ReleaseError(wrong[0] + more)
    if not members:
        raise ReleaseError(f"{name} holds no student: put one on each line below the first")
    return members


def safe(id: str) -> str:
    """``id`` as a file name: letters, digits, ``-``, ``_`` and inner dots; where that changes it, a piece of its hash follows.

    No name leads out of a folder, is hidden, is one that Windows keeps for itself, or equals that of another id.
    """
    name = re.sub(r"[^\w.-]+|\.{2,}", "_", unicodedata.normalize("NFC", id)).strip("._-")[:40].rstrip("._-")
    kept = unicodedata.normalize("NFKC", name).split(".")[0].casefold() in _RESERVED
    if name == id and not kept:
        return name
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"student-{digest}" if kept else f"{name}-{digest}"


def _decode(data: bytes, name: str) -> str:
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise ReleaseError(f"{name} is a spreadsheet's own file: save it as CSV UTF-8 and give that")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ReleaseError(
            f"{name}, line {line}: not UTF-8, names would be garbled: save it as CSV UTF-8"
        ) from None


def _rows(text: str, name: str) -> list[tuple[int, list[str]]]:
    """(line, fields) of every line that is not empty; the separator is the one that the first of them uses."""
    lines = text.splitlines(keepends=True)
    skip, mark = 0, None
    if lines and (told := re.fullmatch(r"sep=(.)\s*", lines[0], re.IGNORECASE)):
        skip, mark = 1, told[1]
    head = re.sub(r'"[^"]*"', "", next((line for line in lines[skip:] if line.strip()), ""))
    mark = mark or max(",;\t", key=head.count)
    reader, rows, line = (
        csv.reader(io.StringIO("".join(lines[skip:]), newline=""), delimiter=mark),
        [],
        skip + 1,
    )
    try:
        for row in reader:
            if any(field.strip() for field in row):
                rows.append((line, row))
            line = reader.line_num + skip + 1
    except csv.Error as error:
        raise ReleaseError(
            f"{name}, line {line}: {error}: mend the line, or save the table as CSV again"
        ) from None
    return rows


def _tidy(field: str) -> str:
    return " ".join(unicodedata.normalize("NFC", field).split())


def _problem(id: str, row: list[str], head: list[str], own: str) -> str:
    extra = [field for field in row[len(head) :] if field.strip()]
    if extra:
        return f"{len(row)} fields under {len(head)} titles: put quotes round a name that holds the separator"
    if not id:
        return f"nothing in the column {own}: give each student one"
    if not id.isprintable():
        return "the id holds a sign that can't be seen: type it again"
    if len(id) > 100:
        return f"the id has {len(id)} signs: take the column that identifies a student"
    if _SHORTENED.fullmatch(id):
        return f"{id} is a number that the spreadsheet has shortened: make the column text, and save again"
    return ""
