"""Bring notebooks up to date with their sources, running only what has to run."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from mha_teach.press import notebook as assembly
from mha_teach.press.closure import run_key
from mha_teach.press.execute import execute
from mha_teach.press.problems import PressError
from mha_teach.press.progress import Progress
from mha_teach.press.project import notebook_path, source_path
from mha_teach.press.source import read

Find = Callable[[str], assembly.Exercise]


def build(
    root: Path, slugs: list[str], *, force: bool = False, find: Find = assembly.find_exercise
) -> list[str]:
    """Build the chapters that changed; returns the slugs whose notebook was written.

    Raises PressError at the first cell that raises; that chapter's old notebook stays as it was.
    """
    written = []
    for slug in slugs:
        with Progress(slug) as progress:
            if build_one(root, slug, progress, force=force, find=find):
                written.append(slug)
    return written


def build_one(root: Path, slug: str, progress: Progress, *, force: bool = False, find: Find) -> bool:
    """Build one chapter; False when its notebook already is the product of its source."""
    drafted = planned(root, slug, find)
    path = notebook_path(root, slug)
    old = stored(path)
    if old is not None and not force and same_run(drafted.notebook, old):
        if same_input(drafted.notebook, old):
            progress.done("up to date")
            return False
        _take_outputs(drafted.notebook, old)
        _write(drafted.notebook, path)
        progress.done("prose changed, outputs kept")
        return True
    path.parent.mkdir(exist_ok=True)
    name = source_path(root, slug).relative_to(root).as_posix()
    key = drafted.notebook.metadata["mha"]
    for said in execute(drafted.notebook, drafted.lines, name, path.parent, progress.cell):
        progress.say(said)
    drafted.notebook.metadata = nbformat.from_dict({**assembly.METADATA, "mha": key})
    _write(drafted.notebook, path)
    progress.done("built")
    return True


def planned(root: Path, slug: str, find: Find = assembly.find_exercise) -> assembly.Draft:
    """The chapter's notebook before it runs, marked with the key of the run that it needs."""
    drafted = assembly.draft(root, read(root, source_path(root, slug)), find)
    code = [
        (c.source, list(c.metadata.get("tags", []))) for c in drafted.notebook.cells if c.cell_type == "code"
    ]
    name = source_path(root, slug).relative_to(root).as_posix()
    for (source, _), line in zip(code, drafted.code_lines(), strict=True):
        assembly.must_parse(source, name, line)
    drafted.notebook.metadata["mha"]["run"] = run_key(root, code, drafted.exercises)
    return drafted


def stored(path: Path) -> NotebookNode | None:
    """The notebook on disk; None when there is none or it can't be read."""
    try:
        return nbformat.reads(path.read_text("utf-8"), as_version=4)
    except (OSError, UnicodeDecodeError, nbformat.reader.NotJSONError, nbformat.ValidationError):
        return None


def same_run(fresh: NotebookNode, old: NotebookNode) -> bool:
    """Whether the outputs in ``old`` are those that running ``fresh`` would give."""
    return fresh.metadata["mha"]["run"] == old.metadata.get("mha", {}).get("run") and all(
        cell.execution_count for cell in old.cells if cell.cell_type == "code"
    )


def same_input(fresh: NotebookNode, old: NotebookNode) -> bool:
    """Whether ``old`` without its outputs is ``fresh``, whichever modules it ran with."""
    bare = copy.deepcopy(old)
    bare.metadata.setdefault("mha", {})["run"] = fresh.metadata["mha"]["run"]
    for cell in bare.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return bare == fresh


def _take_outputs(fresh: NotebookNode, old: NotebookNode) -> None:
    pairs = zip(
        [cell for cell in fresh.cells if cell.cell_type == "code"],
        [cell for cell in old.cells if cell.cell_type == "code"],
        strict=True,
    )
    for new, ran in pairs:
        new.outputs, new.execution_count = ran.outputs, ran.execution_count


def _write(notebook: NotebookNode, path: Path) -> None:
    """Replace the file in one step, so that an interrupted build leaves the old one whole."""
    text = nbformat.writes(notebook, version=4).rstrip("\n") + "\n"
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    except OSError as error:
        raise PressError(
            f"{path.parent}: {error.strerror}: make room or permission, then run it again"
        ) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise PressError(f"{path}: {error.strerror}: make room or permission, then run it again") from None
    finally:
        Path(name).unlink(missing_ok=True)
