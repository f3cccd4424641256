"""From bytes to cells: whatever a student's file holds, it is read, or it is said why not. Never raises for content."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from mha_teach.grading.words import say

LARGEST, LARGE = 64 * 1024**2, 20 * 1024**2
PARTS, CELLS = 2_000_000, 20_000
_MB = 1024**2
_MARKS = (re.compile(rb"^<{7} ", re.MULTILINE), re.compile(rb"^>{7} ", re.MULTILINE))


@dataclass(frozen=True)
class Note:
    """Something to say about a file or a cell: ``kind`` is the key of the sentence."""

    kind: str
    words: str


def note(kind: str, **values: object) -> Note:
    """The note ``kind`` with its sentence."""
    return Note(kind, say(kind, **values))


@dataclass
class Cell:
    """A cell: what kind it says it is, and its text with ordinary line ends."""

    kind: str
    source: str


@dataclass
class Notebook:
    """The cells of a file, or with ``problem`` the reason why there are none; ``notes`` says what is odd about it."""

    cells: list[Cell] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    problem: Note | None = None


def parse(data: bytes) -> Notebook:
    """Read a notebook of any format version, with or without a mark, in the encodings that editors write."""
    found = Notebook()
    if len(data) > LARGEST:
        found.problem = note("too large", size=len(data) // _MB, most=LARGEST // _MB)
        return found
    if not data.strip(b"\0 \t\r\n"):
        found.problem = note("empty")
        return found
    if data.startswith(b"PK\x03\x04"):
        found.problem = note(
            "not a notebook", why="it is a zip file or an office document under another name"
        )
        return found
    if data.lstrip()[:15].lower().startswith((b"<!doctype", b"<html")):
        found.problem = note("not a notebook", why="it is a web page that was saved under its name")
        return found
    text, encoding = _decode(data)
    if encoding == "utf-8-sig":
        found.notes.append(note("byte order mark"))
    elif encoding != "utf-8":
        found.notes.append(note("encoding", encoding=encoding))
    if len(data) > LARGE:
        found.notes.append(note("large", size=len(data) // _MB))
    if data.count(b"[") + data.count(b"{") > PARTS or data.count(b",") > 20 * PARTS:
        found.problem = note("too many parts")
        return found
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        conflict = all(mark.search(data) for mark in _MARKS)
        where = (
            f"line {error.lineno} is no JSON" if isinstance(error, json.JSONDecodeError) else "it is no JSON"
        )
        found.problem = note("merge conflict") if conflict else note("not a notebook", why=where)
        return found
    _cells_of(tree, found)
    return found


def _decode(data: bytes) -> tuple[str, str]:
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:].decode("utf-8", "replace"), "utf-8-sig"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), "utf-16"
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def _cells_of(tree: object, found: Notebook) -> None:
    if not isinstance(tree, dict):
        found.problem = note("not a notebook", why="its outermost part is no object")
        return
    version = tree.get("nbformat")
    cells = tree.get("cells")
    if not isinstance(cells, list) and isinstance(tree.get("worksheets"), list):
        sheets = [sheet for sheet in tree["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in _listed(sheet.get("cells"))]
        found.notes.append(note("old format", version=version if isinstance(version, int) else "3"))
    if not isinstance(cells, list):
        found.problem = note("not a notebook", why="it has no list of cells")
        return
    if len(cells) > CELLS:
        found.problem = note("too many cells", count=len(cells), most=CELLS)
        return
    for cell in cells:
        if isinstance(cell, dict):
            kind = cell.get("cell_type")
            source = _joined(cell.get("source", cell.get("input")))
            found.cells.append(Cell(kind if isinstance(kind, str) else "code", source))
    if any("\r" in cell.source for cell in found.cells):
        found.notes.append(note("windows line ends"))
        for cell in found.cells:
            cell.source = cell.source.replace("\r\n", "\n").replace("\r", "\n")
    if any(
        all(mark.search(cell.source.encode("utf-8", "replace")) for mark in _MARKS) for cell in found.cells
    ):
        found.notes.append(note("merge conflict in cells"))
    language = _language(tree.get("metadata"))
    if language and "python" not in language.casefold():
        found.notes.append(note("wrong kernel", language=language))


def _listed(value: object) -> list:
    return value if isinstance(value, list) else []


def _joined(source: object) -> str:
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source.replace("\0", "") if isinstance(source, str) else ""


def _language(metadata: object) -> str:
    if not isinstance(metadata, dict):
        return ""
    for part, key in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        value = metadata.get(part)
        if isinstance(value, dict) and isinstance(value.get(key), str):
            return value[key][:40]
    return ""
