"""A small class, and what its students write."""

from __future__ import annotations

import json
from pathlib import Path

from mha_teach import exercises

ROSTER = "id;name\r\nada;Lovelace, Ada\r\n\r\n../../bø;Bø\r\n"


def sources(path: Path, role: str | None = None) -> list[str]:
    """The texts of a notebook's cells, all or those with this tag."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if role is None or role in cell["metadata"]["tags"]]


def answered(path: Path, answers: dict[str, str] | None = None) -> bytes:
    """A released notebook as a student hands it in: solutions in place of stubs, but for ``answers`` (id → code)."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        head = cell["source"][0] if cell["source"] else ""
        if head.startswith("# exercise: "):
            id = head.removeprefix("# exercise: ").strip()
            text = (answers or {}).get(id, exercises.get(id).solution)
            cell["source"] = [head, *text.splitlines(keepends=True)]
    return json.dumps(notebook).encode()
