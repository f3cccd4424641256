"""The rules for a chapter's source: skeleton, budgets, dialect, code cells, public names."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from mha_teach.press import markdown
from mha_teach.press.notebook import MARKER
from mha_teach.press.problems import Finding
from mha_teach.press.source import Cell, Chapter

SECTIONS = [
    "What you will be able to do",
    "The question",
    "By hand",
    "In symbols",
    "In code",
    "See it",
    "Experiment",
    "Where it breaks",
    "In the wild",
    "Exercises",
    "Claims",
    "Summary",
    "References",
]
WORDS = (1500, 2500)
CODE_LINES = (80, 150)
EXERCISES = (4, 6)
CELL_LINES = 25
TITLE_WORDS = 5
HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)


def lint(root: Path, chapter: Chapter) -> Iterator[Finding]:
    """Everything that the source of a chapter gets wrong by itself."""
    yield from skeleton(chapter)
    yield from budgets(chapter)
    yield from code_cells(chapter)
    yield from public_names(root, chapter)


def headings(chapter: Chapter) -> Iterator[tuple[int, int, str]]:
    """(line, level, text) of every heading."""
    for cell in chapter.cells:
        if cell.kind == "markdown":
            plain = markdown.blanked(cell.text)
            for found in HEADING.finditer(plain):
                text = HEADING.match(cell.text[found.start() : found.end()])
                yield (
                    cell.line + plain[: found.start()].count("\n"),
                    len(found[1]),
                    text[2] if text else found[2],
                )


def skeleton(chapter: Chapter) -> Iterator[Finding]:
    """Front matter, one short title, the thirteen sections in their order."""
    name = chapter.name
    for key in ("promise", "minutes", "needs"):
        if not chapter.promise.get(key):
            yield Finding(name, 1, f"front matter lacks chapter.{key}", "the byline under the title shows it")
    found = list(headings(chapter))
    titles = [(line, text) for line, level, text in found if level == 1]
    for line, _ in titles[1:]:
        yield Finding(name, line, "a second title", "a page has one `# Title`; use ## or ###")
    if titles and len(titles[0][1].split()) > TITLE_WORDS:
        yield Finding(
            name, titles[0][0], "the title is long", f"name the idea in at most {TITLE_WORDS} words"
        )
    sections = [(line, text) for line, level, text in found if level == 2]
    texts = [text for _, text in sections]
    end = sections[-1][0] if sections else 1
    for wanted in SECTIONS:
        if wanted not in texts:
            yield Finding(
                name, end, f"section missing: {wanted}", "every chapter has it, under exactly this name"
            )
    last, seen = -1, set()
    for line, text in sections:
        if text not in SECTIONS or text in seen:
            wrong = "the section stands twice" if text in seen else "no such section in the template"
            yield Finding(
                name, line, f"{wrong}: {text}", "use one of the template's names, once, or a ### heading"
            )
            continue
        seen.add(text)
        if SECTIONS.index(text) < last:
            yield Finding(name, line, f"section out of order: {text}", f"it stands before {SECTIONS[last]}")
        last = max(last, SECTIONS.index(text))


def words(chapter: Chapter) -> int:
    """Words of prose: no code blocks, no displayed math; a formula or a code span in a line is no word."""
    text = "\n".join(markdown.blanked(cell.text) for cell in chapter.cells if cell.kind == "markdown")
    text = re.sub(
        r"<!--.*?-->|</?\w[^>]*>|\]\([^)]*\)|^:::[^\n]*$", " ", text, flags=re.MULTILINE | re.DOTALL
    )
    return len(re.findall(r"[^\W_][\w’'-]*", text))


def code_lines(cell: Cell) -> int:
    """Lines of a cell that hold code: neither blank nor comment alone."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in cell.text.splitlines())


def budgets(chapter: Chapter) -> Iterator[Finding]:
    """Prose, code and exercises of a chapter that reads in one sitting."""
    code = [cell for cell in chapter.cells if cell.kind == "code"]
    markers = sum(len(MARKER.findall(cell.text)) for cell in chapter.cells if cell.kind == "markdown")
    counts = [
        (words(chapter), WORDS, "words of prose"),
        (sum(map(code_lines, code)), CODE_LINES, "lines of code"),
        (markers, EXERCISES, "exercises"),
    ]
    for count, (low, high), what in counts:
        if not low <= count <= high:
            cure = (
                "cut, or move a part to another chapter"
                if count > high
                else "add what the reader still needs"
            )
            yield Finding(chapter.name, 1, f"{count} {what}, the budget is {low}–{high}", cure)
    for cell in code:
        if (length := len(cell.text.splitlines())) > CELL_LINES:
            cure = f"cut it at {CELL_LINES}, or move it into the module"
            yield Finding(chapter.name, cell.line, f"a cell of {length} lines", cure)


def code_cells(chapter: Chapter) -> Iterator[Finding]:
    """Cells that run nothing, or that end in a semicolon, which the strict validation can't follow."""
    for cell in chapter.cells:
        if cell.kind not in ("markdown", "code"):
            yield Finding(chapter.name, cell.line, f"a {cell.kind} cell", "write markdown or a code cell")
        elif cell.kind == "code" and not cell.text.strip():
            yield Finding(chapter.name, cell.line, "an empty code cell", "take it out")
        elif cell.kind == "code" and (line := _semicolon(cell.text)):
            cure = "write `_ = …` before the call instead"
            yield Finding(chapter.name, cell.line + line - 1, "the cell ends in a semicolon", cure)


def _semicolon(code: str) -> int:
    """Line of the last token when it is a semicolon, else 0."""
    skip = {
        tokenize.NEWLINE,
        tokenize.NL,
        tokenize.COMMENT,
        tokenize.ENDMARKER,
        tokenize.INDENT,
        tokenize.DEDENT,
    }
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(code).readline) if t.type not in skip]
    except (tokenize.TokenError, IndentationError):
        return 0  # a cell with a magic, or one that the build will refuse
    return tokens[-1].start[0] if tokens and tokens[-1].string == ";" else 0


def public_names(root: Path, chapter: Chapter) -> Iterator[Finding]:
    """What the chapter's module offers and the chapter never says."""
    path = root / "mha_teach" / f"{chapter.idea}.py"
    if not path.is_file():
        cure = f"add it, or run `mha new {chapter.slug}`"
        yield Finding(chapter.name, 1, f"no module mha_teach/{chapter.idea}.py", cure)
        return
    said = "\n".join(cell.text for cell in chapter.cells)
    for name, line in names_of(path):
        if not re.search(rf"\b{re.escape(name)}\b", said):
            wrong = f"{name} (mha_teach/{path.name}:{line}) is never mentioned"
            yield Finding(chapter.name, 1, wrong, "use or name it in the chapter, or make it private")


def names_of(path: Path) -> list[tuple[str, int]]:
    """Public names of a module with their lines: its ``__all__``, else its public functions and classes."""
    body = ast.parse(path.read_text("utf-8")).body
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return [(name, node.lineno) for name in ast.literal_eval(node.value)]
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [(n.name, n.lineno) for n in body if isinstance(n, kinds) and not n.name.startswith("_")]
