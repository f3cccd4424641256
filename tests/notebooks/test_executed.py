"""nbval compares only cells that were run; this makes sure that all of them were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


def unexecuted(notebook: dict) -> list[int]:
    """Numbers of the code cells with source but without an execution count."""
    return [
        number
        for number, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code"
        and "".join(cell["source"]).strip()
        and cell.get("execution_count") is None
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_code_cell_has_run(path: Path) -> None:
    missed = unexecuted(json.loads(path.read_text(encoding="utf-8")))
    assert not missed, f"cells {missed} of {path.name} were never run: make build"


def test_a_cell_that_never_ran_is_found() -> None:
    run = {"cell_type": "code", "source": ["1 + 1"], "execution_count": 3, "outputs": []}
    text = {"cell_type": "markdown", "source": "words"}
    empty = {"cell_type": "code", "source": "", "execution_count": None, "outputs": []}
    assert unexecuted({"cells": [text, run, empty]}) == []
    assert unexecuted({"cells": [text, run, {**run, "execution_count": None}]}) == [2]
