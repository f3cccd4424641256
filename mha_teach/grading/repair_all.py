"""``mha repair DIR_OR_FILE``: mend every notebook below a folder into a new place; the originals are never touched."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mha_teach.grading.collect import Entry, collect, one
from mha_teach.grading.reading import Note
from mha_teach.grading.repair import repair


class RepairError(RuntimeError):
    """Something that the teacher can mend; the text is one line."""


@dataclass(frozen=True)
class Mended:
    """What came of one file: ``kind`` is "mended", "whole" (nothing was wrong), "kept" (copied as it is) or "left out"."""

    name: str
    kind: str
    did: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = {
            "mended": f"restored {', '.join(_counted(self.did))}",
            "whole": "nothing was missing",
            "kept": "copied as it is",
            "left out": "left out",
        }
        return ": ".join(
            [self.name, ". ".join([words[self.kind], *(text.rstrip(".") for text in self.left)])]
        )


def run(place: Path, out: Path | None, chapters: tuple[str, ...] = ()) -> list[Mended]:
    """Mend what lies in ``place``, a folder or one file, into ``out``; says what it did for each file."""
    if not place.exists():
        raise RepairError(
            f"{place} does not exist: give a notebook, or the folder that holds what the class handed in"
        )
    place, alone = place.resolve(), place.is_file()
    out = (out or place.with_name(f"{place.stem}-repaired{place.suffix if alone else ''}")).resolve()
    if out == place or place in out.parents:
        raise RepairError(f"{out} lies where the originals are: give another --out")
    if out.is_dir() and any(out.iterdir()) if not alone else out.exists():
        raise RepairError(
            f"{out} exists already, and nothing is overwritten: remove it, or give another --out"
        )
    if alone and place.suffix.casefold() != ".ipynb":
        raise RepairError(f"{place.name} is no notebook: give a file that ends in .ipynb, or a folder")
    entries = [one(place)] if alone else collect(place)
    if not entries:
        raise RepairError(f"{place} holds no file: put notebooks, zip files or a folder per student there")
    found, taken = [], set()
    for entry in entries:
        target = out if alone else out / _inside(entry, taken)
        found.append(_mend(entry, target, chapters))
        print(found[-1], file=sys.stderr)
    return found


def _mend(entry: Entry, target: Path, chapters: tuple[str, ...]) -> Mended:
    data = entry.data()
    if isinstance(data, Note):
        return Mended(entry.name, "left out", left=(data.words,))
    try:
        made = repair(data, chapters)
    except Exception as error:  # noqa: BLE001  one odd file must not stop the class
        made = None
        left = (f"It could not be mended ({type(error).__name__}: {error})"[:200],)
    target.parent.mkdir(parents=True, exist_ok=True)
    if made is None or made.text is None:
        _write(target, data)
        return Mended(entry.name, "kept", left=left if made is None else tuple(made.left))
    _write(target, made.text.encode("utf-8", "replace"))
    return Mended(entry.name, "mended" if made.did else "whole", tuple(made.did), tuple(made.left))


def _write(target: Path, data: bytes) -> None:
    with target.open("xb") as file:  # never over a file that is there
        file.write(data)


def _inside(entry: Entry, taken: set[str]) -> PurePosixPath:
    """The place of a file below the new folder, which gives the same student when it is graded; no two are the same."""
    parts = [part for part in PurePosixPath(entry.name).parts if part not in ("/", "..", ".")]
    parts = [part[:-4] if part.casefold().endswith(".zip") else part for part in parts[:-1]] + parts[-1:]
    if entry.member and len(parts) == 1:
        parts = [entry.student, *parts]
    stem = PurePosixPath(parts[-1]).stem[:100] or "notebook"
    name, number = f"{stem}.ipynb", 1
    while "/".join([*parts[:-1], name]).casefold() in taken:
        number += 1
        name = f"{stem}-{number}.ipynb"
    taken.add("/".join([*parts[:-1], name]).casefold())
    return PurePosixPath(*parts[:-1], name)


def _counted(did: tuple[str, ...]) -> Iterator[str]:
    """Each thing once, with how often it was done."""
    for what in dict.fromkeys(did):
        number = did.count(what)
        yield what if number == 1 else f"{what} ({number} times)"
