"""What the notebooks print fits the text column of the page: 80 letters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def too_wide(notebook: nbformat.NotebookNode, most: int = 80) -> Iterator[str]:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield from (line for line in output.get("text", "").splitlines() if len(line) > most)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_printed_line_is_cut_off(path):
    assert list(too_wide(nbformat.read(path, as_version=4))) == []


def test_a_wide_line_is_seen():
    output = nbformat.v4.new_output("stream", text=f"{'a' * 80}\n{'b' * 81}\n")
    cells = [nbformat.v4.new_markdown_cell("x"), nbformat.v4.new_code_cell(outputs=[output])]
    assert list(too_wide(nbformat.v4.new_notebook(cells=cells))) == ["b" * 81]
    assert len(NOTEBOOKS) >= 7
