"""Find the notebooks of a class below one folder: loose files, a folder per student, zip files. Nothing is unpacked to disk."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mha_teach.grading.reading import LARGEST, Note, note

_CANVAS = re.compile(r"^(?P<name>[^_\W\d][^_]*?)(?:_LATE)?_(?P<id>\d+)_\d+_(?P<rest>.+)$")
_SKIPPED = (".", "__MACOSX")
_ENTRIES, _DEPTH = 2000, 6
_LISTED = 1_000_000  # lines of a zip's list, which is read anew for each of its notebooks
_MB = 1024**2


@dataclass(frozen=True)
class Entry:
    """One file that was handed in. ``name`` is its place below the folder; ``data`` reads it, ``problem`` says why not."""

    student: str
    name: str
    canvas: str = ""
    path: Path | None = None
    member: str = ""
    problem: Note | None = None

    def data(self) -> bytes | Note:
        """The file's bytes, at most a little more than is allowed; or the reason why there are none."""
        if self.problem:
            return self.problem
        try:
            if not self.member:
                if (size := self.path.stat().st_size) > LARGEST:
                    return note("too large", size=size // _MB, most=LARGEST // _MB)
                return self.path.read_bytes()
            with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
                return file.read(LARGEST + 1)
        except (OSError, ValueError, RuntimeError, EOFError, KeyError, NotImplementedError) as error:
            return note("can't be opened", why=_why(error))
        except zipfile.BadZipFile as error:
            return note("bad zip", why=_why(error))
        except Exception as error:  # noqa: BLE001  zlib, lzma and bz2 raise classes of their own
            return note("can't be opened", why=_why(error))

    def digest(self) -> str:
        """What tells this content from any other."""
        return digest(self.data())


def digest(found: bytes | Note) -> str:
    """The same for what :meth:`Entry.data` returned."""
    text = found if isinstance(found, bytes) else f"{found.kind}: {found.words}".encode()
    return hashlib.sha256(text).hexdigest()


def collect(folder: Path) -> list[Entry]:
    """Every file that was handed in, in the order of students; what is no notebook is an entry with a problem."""
    found: list[Entry] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(_SKIPPED):
            continue
        student, canvas = who(path.stem if not path.is_dir() else path.name)
        found += _below(path, folder, student, canvas, 0)
    return found


def one(path: Path) -> Entry:
    """A single file, whoever's it is."""
    return Entry(who(path.stem)[0], _shown(path.name), path=path)


def who(stem: str) -> tuple[str, str]:
    """The student whom a file name names, and the number that Canvas gives, if the name is one of its own."""
    canvas = _CANVAS.match(stem)
    name = canvas["name"] if canvas else stem
    return "".join(c if c.isprintable() else "?" for c in name)[:100], canvas["id"] if canvas else ""


def _below(path: Path, folder: Path, student: str, canvas: str, depth: int) -> Iterator[Entry]:
    name = _shown(path.relative_to(folder).as_posix())
    entry = {"student": student, "name": name, "canvas": canvas, "path": path}
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        yield Entry(**entry, problem=note("can't be opened", why=_why(error)))
        return
    if stat.S_ISLNK(mode):
        yield Entry(**entry, problem=note("link"))
    elif stat.S_ISDIR(mode):
        yield from _inside(path, folder, student, canvas, depth, name)
    elif not stat.S_ISREG(mode):
        yield Entry(**entry, problem=note("can't be opened", why="it is no ordinary file"))
    elif path.suffix.casefold() == ".zip":
        yield from _zipped(path, student, canvas, name)
    elif path.suffix.casefold() == ".ipynb":
        yield Entry(**entry)
    elif depth == 0 and path.suffix.casefold() not in (".csv", ".db", ".sqlite", ".html"):
        yield Entry(**entry, problem=note("not a notebook", why="its name does not end in .ipynb or .zip"))


def _inside(path: Path, folder: Path, student: str, canvas: str, depth: int, name: str) -> Iterator[Entry]:
    found: list[Entry] = []
    try:
        names = sorted(entry for entry in os.listdir(path) if not entry.startswith(_SKIPPED))[:_ENTRIES]
    except OSError as error:
        yield Entry(student, name, canvas, path, problem=note("can't be opened", why=_why(error)))
        return
    for entry in names if depth < _DEPTH else ():
        found += _below(path / entry, folder, student, canvas, depth + 1)
    if not found and depth == 0:
        found = [Entry(student, name, canvas, path, problem=note("nothing inside"))]
    yield from found


def _zipped(path: Path, student: str, canvas: str, name: str) -> Iterator[Entry]:
    """The notebooks in a zip file; a bomb, a name that leads elsewhere, a broken file: each is said."""

    def bad(kind: str, **values: object) -> Entry:
        return Entry(student, name, canvas, path, problem=note(kind, **values))

    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        yield bad("bad zip", why=_why(error))
        return
    total = read = number = 0
    for info in members:
        if not info.filename.casefold().endswith(".ipynb") or _hidden(info.filename):
            continue
        number, inner = number + 1, f"{name}/{_shown(info.filename)}"
        if _unsafe(info):
            yield Entry(student, inner, canvas, path, problem=note("unsafe name", name=_shown(info.filename)))
            continue
        total += info.file_size
        read += len(members)
        if total > 2 * LARGEST:
            yield Entry(student, inner, canvas, path, problem=note("zip too large", most=2 * LARGEST // _MB))
            return
        if number > _ENTRIES or read > _LISTED:
            yield Entry(student, inner, canvas, path, problem=note("zip too long", count=number - 1))
            return
        yield Entry(student, inner, canvas, path, member=info.filename)
    if not number:
        yield bad("nothing inside")


def _unsafe(info: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(info.filename.replace("\\", "/")).parts
    link = stat.S_ISLNK(info.external_attr >> 16)
    return (
        link
        or ".." in parts
        or info.filename.startswith(("/", "\\"))
        or bool(re.match(r"\w:", info.filename))
    )


def _hidden(name: str) -> bool:
    return any(part.startswith(_SKIPPED) and part != ".." for part in PurePosixPath(name).parts)


def _shown(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)[:200]


def _why(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:120].rstrip(".")
