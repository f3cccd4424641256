"""The frame of a notebook file: format 4.5, a kernel for Python, cells with every part that the format asks for."""

from __future__ import annotations

from mha_teach.grading import reading
from mha_teach.grading.words import say
from mha_teach.release import assignment as release


def is_new(tree: dict) -> bool:
    """Whether the file says that it is in format 4.5 or later."""
    return (
        tree.get("nbformat") == 4 and type(tree.get("nbformat_minor")) is int and tree["nbformat_minor"] >= 5
    )


def modern(tree: dict, read: reading.Notebook, did: list[str]) -> list[dict]:
    """The cells as format 4.5 has them, but for their ids; sources are one text each."""
    sheets = [sheet for sheet in reading._listed(tree.get("worksheets")) if isinstance(sheet, dict)]
    raw = tree.get("cells")
    if not isinstance(raw, list):
        raw = [cell for sheet in sheets for cell in reading._listed(sheet.get("cells"))]
    if not is_new(tree):
        did.append(
            say("repair format", version=f"{tree.get('nbformat', '?')}.{tree.get('nbformat_minor', '?')}")
        )
    cells = []
    for old, cell in zip((c for c in raw if isinstance(c, dict)), read.cells, strict=True):
        kind, source = cell.kind, cell.source
        if kind == "heading":
            level = old.get("level") if old.get("level") in range(1, 7) else 1
            kind, source = "markdown", f"{'#' * level} {source}"
        kind = kind if kind in ("code", "markdown", "raw") else "raw"
        made = {"cell_type": kind, "metadata": old.get("metadata"), "source": source, "id": old.get("id")}
        if not isinstance(made["metadata"], dict):
            made["metadata"] = {}
        if isinstance(old.get("attachments"), dict) and kind != "code":
            made["attachments"] = old["attachments"]
        outputs = (
            old.get("outputs") if tree.get("nbformat") == 4 else []
        )  # those of format 3 are built otherwise
        made["outputs"] = [out for out in reading._listed(outputs) if isinstance(out, dict)]
        made["execution_count"] = (
            old.get("execution_count") if type(old.get("execution_count")) is int else None
        )
        cells.append(made)
    return cells


def new(kind: str, source: str) -> dict:
    """A cell that was not there."""
    return {
        "cell_type": kind, "metadata": {}, "source": source, "id": None, "outputs": [], "execution_count": None
    }  # fmt: skip


def kernel(tree: dict, did: list[str]) -> None:
    """A kernel for Python, if there is none or another's."""
    fresh = release.notebook([])["metadata"]
    about = tree["metadata"] = tree["metadata"] if isinstance(tree.get("metadata"), dict) else {}
    language = reading._language(about)
    if not isinstance(about.get("kernelspec"), dict) or (language and "python" not in language.casefold()):
        about |= fresh
        did.append(say("repair kernel", language=language or "none"))


def plain(cell: dict) -> dict:
    """The cell as the file holds it."""
    keys = ["cell_type", "id", "metadata", "attachments"]
    keys += ["outputs", "execution_count"] if cell["cell_type"] == "code" else []
    made = {key: cell[key] for key in keys if key in cell}
    return made | {"source": cell["source"].splitlines(keepends=True)}
