"""Run a student's cell, and of the other cells only what it needs. Standard library only; runs in the student's process."""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import signal
import symtable
import sys
import traceback
import types

ANSWER = "<answer>"
_SHOWN = 160


class TopLevelTimeUp(BaseException):
    """The cell's own statements ran too long; what they had defined by then still counts."""


def cleaned(source: str) -> str:
    """The cell without notebook commands (``%time``, ``!pip``, ``thing?``), line numbers kept."""
    lines = source.splitlines()
    cell_magic = bool(lines) and lines[0].lstrip().startswith("%%")
    for index, line in enumerate(lines):
        if re.match(r"\s*(%|!|\?)", line) or (re.fullmatch(r"\s*[\w.]+\?{1,2}\s*", line)):
            indent = re.match(r"\s*", line)[0]
            lines[index] = f"{indent}pass" if indent and not (cell_magic and index == 0) else ""
    return "\n".join(lines) + "\n"


def needed(source: str, given: set[str]) -> set[str]:
    """Names that the code reads and neither it nor ``given`` defines."""
    table = symtable.symtable(source, ANSWER, "exec")
    own = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    read = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        read |= {s.get_name() for s in scope.get_symbols() if s.is_global() and s.is_referenced()}
    return read - own - given - set(vars(builtins))


def bound(statement: ast.stmt) -> set[str]:
    """Names that a statement of the top level defines."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found


def helpers(sources: list[str], wanted: set[str], given: set[str]) -> list[str]:
    """The statements of other cells that define what is wanted, and what these need in turn, in their order."""
    parsed: dict[int, list[tuple[set[str], str]]] = {}
    chosen: set[tuple[int, int]] = set()
    while wanted:
        name = wanted.pop()
        given = given | {name}
        for number, source in enumerate(sources):
            if name not in source:  # most exercises need nothing, and reading cells takes time
                continue
            if number not in parsed:
                parsed[number] = _statements(source)
            for index, (names, text) in enumerate(parsed[number]):
                if name in names and (number, index) not in chosen:
                    chosen.add((number, index))
                    wanted |= needed(text, given)
    return [parsed[number][index][1] for number, index in sorted(chosen)]


def _statements(source: str) -> list[tuple[set[str], str]]:
    try:
        return [(bound(node), ast.unparse(node)) for node in ast.parse(cleaned(source)).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # another cell's fault is not this exercise's


def written(source: str, names: list[str]) -> dict[str, str]:
    """What defines each name in the code, comments and descriptions aside: the same text for the same code."""
    found = {}
    for node in ast.parse(source).body:
        for name in bound(node) & set(names):
            for inner in ast.walk(node):
                body = getattr(inner, "body", None)
                if (
                    isinstance(inner, (ast.FunctionDef, ast.ClassDef))
                    and ast.get_docstring(inner) is not None
                ):
                    inner.body = body[1:]
            found[name] = ast.dump(node)
    return found


def load(setup: str, cells: list[str], answer: str, names: list[str], seconds: float) -> tuple[dict, dict]:
    """Run the answer's cell after what it needs; returns its names' values and what there is to say about it."""
    own = types.ModuleType("builtins")  # a copy: what the student puts in place of ``len`` is not ours
    vars(own).update(vars(builtins))
    sys.modules["builtins"] = own
    space: dict[str, object] = {"__name__": "__main__", "__builtins__": own}
    exec(compile(setup, "<setup>", "exec"), space)  # noqa: S102
    said: dict[str, object] = {"error": None, "time": False}
    answer = cleaned(answer)
    linecache.cache[ANSWER] = (len(answer), None, answer.splitlines(keepends=True), ANSWER)
    try:
        code = compile(answer, ANSWER, "exec")
        before = helpers(cells, needed(answer, set(space)), set(space))
    except BaseException as error:  # noqa: BLE001  a cell that can't be read
        said["error"] = explain(error)
        return {}, said

    def ring(*_: object) -> None:
        raise TopLevelTimeUp

    try:
        signal.signal(signal.SIGALRM, ring)
        for text in before:
            signal.setitimer(signal.ITIMER_REAL, seconds / 2)
            try:
                exec(compile(text, "<another cell>", "exec"), space)  # noqa: S102
            except BaseException:  # noqa: BLE001, S112  if it matters, a name is missing and the error says which
                continue
        signal.setitimer(signal.ITIMER_REAL, seconds)
        exec(code, space)  # noqa: S102
    except TopLevelTimeUp:
        said["time"] = True
    except BaseException as error:  # noqa: BLE001
        said["error"] = explain(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {name: space[name] for name in names if name in space}, said


def explain(error: BaseException) -> dict[str, str]:
    """The class of an error, and its text in one line with the last line of the cell on the way to it."""
    kind = type.__dict__["__name__"].__get__(type(error))
    try:
        text = " ".join(str(error).split())[:300]
    except BaseException:  # noqa: BLE001  an exception may have a broken __str__
        text = ""
    try:
        own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == ANSWER]
    except BaseException:  # noqa: BLE001
        own = []
    if own and not isinstance(error, SyntaxError):
        line = linecache.getline(ANSWER, own[-1].lineno or 0).strip()[:_SHOWN]
        text = f"{text} (line {own[-1].lineno}: {line})"
    return {"kind": str(kind)[:60], "text": text}
