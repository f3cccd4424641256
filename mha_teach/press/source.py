"""Read a chapter: a MyST notebook whose cells know the line where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat import ValidationError
from yaml import YAMLError

from mha_teach.press.problems import Finding, PressError


@dataclass(frozen=True)
class Cell:
    kind: str  # "markdown" or "code"
    text: str
    line: int  # 1-based line of the source where the text begins
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Chapter:
    path: Path
    name: str  # as messages spell it: book/01_collapse.md
    slug: str
    meta: dict[str, Any]  # front matter
    cells: list[Cell]

    @property
    def idea(self) -> str:
        """``collapse`` for ``01_collapse``: the name of the chapter's module and test."""
        return self.slug.split("_", 1)[1]

    @property
    def promise(self) -> dict[str, Any]:
        """The ``chapter:`` block of the front matter."""
        block = self.meta.get("chapter")
        return block if isinstance(block, dict) else {}


def read(root: Path, path: Path) -> Chapter:
    """Parse ``path``; raises PressError for a file that is missing, not UTF-8 or not MyST."""
    name = path.relative_to(root).as_posix()
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise PressError(Finding(name, 1, "no such file", f"make it with `mha new {path.stem}`")) from None
    except UnicodeDecodeError as error:
        raise PressError(Finding(name, 1, f"not UTF-8 at byte {error.start}", "save it as UTF-8")) from None
    return parse(text, path, name)


def parse(text: str, path: Path, name: str) -> Chapter:
    """Cells of ``text``, each with the line that it begins on."""
    try:
        notebook = myst_to_notebook(text, add_source_map=True)
    except (MystMetadataParsingError, YAMLError) as error:
        raise PressError(Finding(name, 1, " ".join(str(error).split()), "mend the YAML")) from None
    except ValidationError as error:
        wrong = f"front matter or a cell's options: {error.message.splitlines()[0]}"
        raise PressError(Finding(name, 1, wrong, "see how another chapter begins")) from None
    meta = dict(notebook.metadata)
    starts = meta.pop("source_map")
    lines = text.splitlines()
    cells = [
        Cell(cell.cell_type, cell.source, _first_line(lines, start, cell.source), dict(cell.metadata))
        for cell, start in zip(notebook.cells, starts, strict=True)
    ]
    return Chapter(path, name, path.stem, meta, cells)


def _first_line(lines: list[str], start: int, body: str) -> int:
    """jupytext gives the line of the fence or of a blank; step on to where the body really begins."""
    wanted = body.splitlines()
    for at in range(start, len(lines) - len(wanted) + 1):
        if [line.rstrip() for line in lines[at : at + len(wanted)]] == [line.rstrip() for line in wanted]:
            return at + 1
    return start + 1
