"""The bar is there for people and leaves nothing in a stored notebook."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

from mha_teach.training import progress

CELL = """
from mha_teach.tasks import TwoNoisyLookups
from mha_teach.training import progress, sweep
_ = sweep(TwoNoisyLookups(), [{}, {"num_heads": 2}], seeds=1, steps=40, batch=2, progress=True)
"""


def test_a_notebook_run_by_a_program_stores_no_bar():
    planted = "progress.watched = lambda: True" + CELL.replace("progress, sweep", "sweep")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in (CELL, planted)])
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    assert book.cells[0].outputs == []
    assert book.cells[1].outputs, "a bar that is always shown must be found, else this test can't fail"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_it_and_keeps_nothing(monkeypatch):
    monkeypatch.setattr(progress, "watched", lambda: True)
    monkeypatch.setattr(sys, "stderr", Screen())
    with progress.bar(7, True) as shown:
        shown.update(7)
    text = sys.stderr.getvalue()
    assert "step" in text and text.split("\r")[-1] == "" and not text.split("\r")[-2].strip()


def test_it_is_silent_when_unwanted(monkeypatch):
    monkeypatch.setattr(progress, "watched", lambda: True)
    monkeypatch.setattr(sys, "stderr", Screen())
    with progress.bar(7, False) as shown:
        shown.update(7)
    assert sys.stderr.getvalue() == ""


def kernel(parent):
    return SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda _: parent))
    )


@pytest.mark.parametrize(
    ("parent", "seen"),
    [
        ({"content": {"allow_stdin": True}}, True),
        ({"content": {"allow_stdin": False}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_front_end_that_can_answer_is_a_person(monkeypatch, parent, seen):
    monkeypatch.setitem(sys.modules, "IPython", kernel(parent))
    assert progress.watched() is seen


def test_outside_notebooks_the_terminal_decides(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    monkeypatch.setattr(sys, "stderr", Screen())
    assert progress.watched()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not progress.watched()
    monkeypatch.setattr(sys, "stderr", None)  # pythonw
    assert not progress.watched()
