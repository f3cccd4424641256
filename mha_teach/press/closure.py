"""Which files a chapter's run depends on: the modules that its cells import, and what those import in turn."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from mha_teach.press.problems import Finding, PressError

PACKAGE = "mha_teach"
MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
CONSTRAINTS = "constraints.txt"
CHAPTER_EXERCISES = re.compile(r"ch\d\d_\w+")


def run_key(root: Path, code: Iterable[tuple[str, list[str]]], exercises: Iterable[str]) -> str:
    """Hash of all that can change a run's outputs: code and tags, modules with their data, pins, the executor."""
    code = list(code)
    total = hashlib.sha256()
    for source, tags in code:
        total.update(repr((source, tags)).encode())
    files = files_of([source for source, _ in code], root, exercises)
    files |= {root / CONSTRAINTS, root / PACKAGE / "press" / "execute.py"}
    for path in sorted(files):
        total.update(path.relative_to(root).as_posix().encode())
        total.update(path.read_bytes() if path.is_file() else b"absent")
    return total.hexdigest()[:24]


def files_of(sources: Iterable[str], root: Path, exercises: Iterable[str] = ()) -> set[Path]:
    """Files of the package that code cells reach by import, with the data that lies beside those modules."""
    wanted = list(exercises)
    queue = [name for source in sources for name in imported(ast.parse(MAGIC.sub(r"\1pass", source)), "")]
    modules: set[Path] = set()
    while queue:
        for path in _paths(root, queue.pop()):
            if path not in modules and _concerns(path, wanted):
                modules.add(path)
                queue += imported(_parsed(root, path), _dotted(root, path))
                if _finds_by_name(path):
                    queue += [_dotted(root, sibling) for sibling in path.parent.glob("*.py")]
    return modules | _data_beside(root, modules)


def _parsed(root: Path, path: Path) -> ast.AST:
    try:
        return ast.parse(path.read_text("utf-8"))
    except SyntaxError as error:
        name = path.relative_to(root).as_posix()
        raise PressError(
            Finding(name, error.lineno or 1, f"SyntaxError: {error.msg}", "mend the module")
        ) from None


def imported(tree: ast.AST, inside: str) -> list[str]:
    """Dotted names below the package that a module imports, at any depth; ``inside`` resolves relative ones."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = inside.split(".")[: -node.level]
                base = ".".join([*parent, base] if base else parent)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] == PACKAGE]


def _paths(root: Path, name: str) -> list[Path]:
    """The file of a dotted name and the ``__init__`` files above it; a name that is no module gives only those."""
    paths, folder = [], root
    for part in name.split("."):
        init, module = folder / part / "__init__.py", folder / f"{part}.py"
        paths += [path for path in (init, module) if path.is_file()]
        folder = folder / part
    return paths


def _dotted(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts)


def _finds_by_name(path: Path) -> bool:
    """A package that loads its parts lazily hides them from ``ast``: count them all."""
    text = path.read_text("utf-8")
    return (
        path.name == "__init__.py"
        and path.parent.name != PACKAGE
        and ("import_module" in text or "__getattr__" in text)
    )


def _concerns(path: Path, exercises: list[str]) -> bool:
    """Of the exercise files, only those that define an exercise of this chapter."""
    if path.parent.name != "exercises" or not CHAPTER_EXERCISES.fullmatch(path.stem):
        return True
    text = path.read_text("utf-8")
    return any(f'"{exercise_id}"' in text for exercise_id in exercises)


def _data_beside(root: Path, modules: set[Path]) -> set[Path]:
    """Data files in the folders of the modules; one that shares the name of another module belongs to that one."""
    found: set[Path] = set()
    for folder in {path.parent for path in modules} - {root / PACKAGE}:
        for path in folder.iterdir():
            owner = path.with_suffix(".py")
            if (
                path.is_file()
                and path.suffix not in {".py", ".pyc"}
                and (not owner.exists() or owner in modules)
            ):
                found.add(path)
    return found
