"""Assemble the unexecuted notebook of a chapter: byline, setup, exercises, links, ids."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from nbformat import NotebookNode, v4

from mha_teach.press import markdown, opening
from mha_teach.press.address import Address, read_address
from mha_teach.press.closure import MAGIC
from mha_teach.press.problems import Finding, PressError
from mha_teach.press.project import wheel_name
from mha_teach.press.source import Cell, Chapter

MARKER = re.compile(r"^<!--\s*exercise:\s*(?P<id>[\w-]+)\s*-->\s*$", re.MULTILINE)
TITLE = re.compile(r"\A\s*# [^\n]+")
LINKED = re.compile(r"\]\((\d\d_[a-z0-9_]+)\.md")

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}

SETUP_METADATA = {
    "mystnb": {"code_prompt_hide": "Hide the setup", "code_prompt_show": "Show the setup"},
    "tags": ["hide-input", "setup"],
}


class Exercise(Protocol):
    """What the press needs of an exercise; ``mha_teach.exercises.get`` returns such a thing."""

    id: str
    title: str
    kind: str
    minutes: int
    difficulty: int  # 1 to 3
    marks: int
    prompt: str
    stub: str
    call: str  # the line of the check cell
    points: Sequence[object]  # none: an open exercise, which gets no check cell
    hints: Sequence[str]


@dataclass(frozen=True)
class Draft:
    """A notebook that has not run, and for each of its cells the source line that it comes from."""

    notebook: NotebookNode
    lines: list[int]
    exercises: list[str] = field(default_factory=list)

    def code_lines(self) -> list[int]:
        """Source lines of the code cells alone."""
        both = zip(self.notebook.cells, self.lines, strict=True)
        return [line for cell, line in both if cell.cell_type == "code"]


def find_exercise(exercise_id: str) -> Exercise:
    """The book's own listing; a test hands in another."""
    from mha_teach.exercises import get

    return get(exercise_id)


def draft(root: Path, chapter: Chapter, find: Callable[[str], Exercise] = find_exercise) -> Draft:
    """The notebook that ``chapter`` stands for, before it runs. Deterministic in its inputs."""
    address, wheel = read_address(root), wheel_name(root)
    cells, used, after_exercises = [], [], 0
    for cell in _opened(chapter, address, wheel):
        for piece in _pieces(cell):
            marker = MARKER.fullmatch(piece.text) if piece.kind == "markdown" else None
            if marker:
                used.append(marker["id"])
                cells += _exercise_cells(chapter, piece, _found(find, chapter, piece, marker["id"]))
                after_exercises = len(cells)
            elif piece.kind == "markdown":
                cells.append(
                    Cell("markdown", markdown.for_notebook(piece.text, root), piece.line, piece.metadata)
                )
            else:
                cells.append(piece)
    if used:
        cells.insert(after_exercises, _solutions(chapter, cells[after_exercises - 1].line))
    cells += _footer(root, chapter, address)
    notebook = v4.new_notebook(metadata={**METADATA, "mha": {"source": chapter.name}})
    notebook.nbformat_minor = 5
    notebook.cells = [_node(cell, f"{chapter.slug}-{at:03d}") for at, cell in enumerate(cells, 1)]
    return Draft(notebook, [cell.line for cell in cells], used)


def _opened(chapter: Chapter, address: Address, wheel: str) -> list[Cell]:
    """The chapter's cells with the byline under the title and the setup cell after it."""
    if not chapter.cells or not (title := TITLE.match(chapter.cells[0].text)):
        raise PressError(Finding(chapter.name, 1, "no title", "begin the page with a line `# Title`"))
    first, *rest = chapter.cells
    line = first.line + title[0].count("\n")
    top = Cell("markdown", f"{title[0].strip()}\n\n{opening.byline(chapter, address, wheel)}", line, {})
    setup = Cell("code", opening.setup_cell(address, wheel), line, SETUP_METADATA)
    after = first.text[title.end() :]
    blank = len(after) - len(after.lstrip("\n"))
    body = [Cell("markdown", after.strip("\n"), line + blank, first.metadata)] if after.strip() else []
    return [top, setup, *body, *rest]


def _pieces(cell: Cell) -> list[Cell]:
    """Cut a markdown cell at its exercise markers; a marker is a piece of its own."""
    if cell.kind != "markdown":
        return [cell]
    pieces, at = [], 0
    for marker in [*MARKER.finditer(cell.text), None]:
        end = marker.start() if marker else len(cell.text)
        text = cell.text[at:end]
        if text.strip():
            skipped = text[: len(text) - len(text.lstrip("\n"))].count("\n")
            line = cell.line + cell.text[:at].count("\n") + skipped
            pieces.append(Cell("markdown", text.strip("\n"), line, cell.metadata))
        if marker:
            pieces.append(Cell("markdown", marker[0].strip(), cell.line + cell.text[:end].count("\n"), {}))
            at = marker.end()
    return pieces


def _found(find: Callable[[str], Exercise], chapter: Chapter, piece: Cell, exercise_id: str) -> Exercise:
    try:
        return find(exercise_id)
    except KeyError as error:
        why = (
            str(error.args[0])
            if error.args and " " in str(error.args[0])
            else "define it in mha_teach/exercises"
        )
        raise PressError(Finding(chapter.name, piece.line, f"no exercise {exercise_id}", why)) from None
    except Exception as error:  # whatever a file of exercises does when it is imported half-written
        wrong = f"exercise {exercise_id} can't be read, {type(error).__name__}: {error}"
        raise PressError(Finding(chapter.name, piece.line, wrong, "mend mha_teach/exercises")) from error


def _exercise_cells(chapter: Chapter, piece: Cell, exercise: Exercise) -> list[Cell]:
    """Heading and prompt, stub, check, hints."""
    head = f"# exercise: {exercise.id}"
    stub = exercise.stub.strip("\n")
    stub = stub if stub.startswith(head) else f"{head}\n{stub}"
    prompt = f"### {exercise.title}\n\n*{facts(exercise)}*\n\n{exercise.prompt.strip()}"
    cells = [Cell("markdown", prompt, piece.line, {}), Cell("code", stub, piece.line, {"tags": ["exercise"]})]
    if exercise.points:
        cells.append(Cell("code", exercise.call, piece.line, {"tags": ["check"]}))
    hints = [hint for hint in exercise.hints if hint.strip()]
    return [*cells, Cell("markdown", _hints(hints), piece.line, {})] if hints else cells


def facts(exercise: Exercise) -> str:
    """What to expect: ``code · difficulty 2 of 3 · 10 min · 3 marks``."""
    marks = f"{exercise.marks} mark{'' if exercise.marks == 1 else 's'}" if exercise.points else "not marked"
    return f"{exercise.kind} · difficulty {exercise.difficulty} of 3 · {exercise.minutes} min · {marks}"


def must_parse(source: str, name: str, line: int) -> None:
    """Raise PressError for a code cell that is no Python (lines with magics aside)."""
    try:
        ast.parse(MAGIC.sub(r"\1pass", source))
    except SyntaxError as error:
        at = line + (error.lineno or 1) - 1
        raise PressError(Finding(name, at, f"SyntaxError: {error.msg}", "mend the cell")) from None


def _hints(hints: list[str]) -> str:
    """Each hint opens inside the one before, so that nobody reads the third by accident."""
    inner = ""
    for number in range(len(hints), 0, -1):
        body = f"{hints[number - 1].strip()}\n\n{inner}".rstrip("\n")
        inner = f"<details>\n<summary>Hint {number}</summary>\n\n{body}\n\n</details>\n"
    return inner.rstrip("\n")


def _solutions(chapter: Chapter, line: int) -> Cell:
    """Where the answers are, for who asks for them, and how far the reader is."""
    page = f'<a href="../solutions/{chapter.slug}.html">Solutions to these exercises</a>'
    text = (
        f"{page} stand on a page of their own in the built book, with why the tempting wrong answers are wrong. "
        f'`from mha_teach.exercises import progress` and then `progress("{chapter.slug[:2]}")` say how far you are.'
    )
    return Cell("markdown", text, line, {})


def _footer(root: Path, chapter: Chapter, address: Address) -> list[Cell]:
    named = {slug for cell in chapter.cells if cell.kind == "markdown" for slug in LINKED.findall(cell.text)}
    links = [(slug, _title(root, slug)) for slug in sorted(named - {chapter.slug})]
    text = opening.elsewhere(links, address)
    return [Cell("markdown", text, chapter.cells[-1].line, {})] if text else []


def _title(root: Path, slug: str) -> str:
    path = root / "book" / f"{slug}.md"
    found = re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE) if path.is_file() else None
    return found[1] if found else slug


def _node(cell: Cell, cell_id: str) -> Any:
    make = v4.new_code_cell if cell.kind == "code" else v4.new_markdown_cell
    return make(source=cell.text, metadata=dict(cell.metadata), id=cell_id)
