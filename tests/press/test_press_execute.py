"""Real kernels, small cells."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import nbformat
import pytest
from nbformat import v4

from mha_teach.press import execute as runner
from mha_teach.press.execute import execute, strip
from mha_teach.press.problems import PressError


def run(cells, tmp_path, progress=lambda at, count: None, tags=()):
    notebook = v4.new_notebook(
        cells=[v4.new_code_cell(cell, metadata={"tags": list(tags)}) for cell in cells]
    )
    said = execute(
        notebook, [10 * (at + 1) for at in range(len(cells))], "book/03_idea.md", tmp_path, progress
    )
    return notebook, said


NOISY = """\
import os, sys, time
from tqdm import tqdm
for _ in tqdm(range(3)):
    print("a", flush=True); time.sleep(0.05); print("noise", file=sys.stderr, flush=True)
"""
FIXED = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ['PYTHONHASHSEED'], hash('x'))"


def test_a_run_keeps_only_what_stays(tmp_path):
    seen = []
    cells = [NOISY, FIXED, "object.__repr__", "import matplotlib as m; m.get_backend()"]
    notebook, said = run(cells, tmp_path, lambda at, count: seen.append((at, count)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    (stream,) = notebook.cells[0].outputs
    assert (stream.name, stream.text) == ("stdout", "a\na\na\n")
    assert said == ["book/03_idea.md:10: stderr: noise"] * 3
    assert notebook.cells[1].outputs[0].text.startswith("1 0 ")
    assert "inline" in notebook.cells[3].outputs[0].data["text/plain"]
    assert all("execution" not in cell.metadata for cell in notebook.cells)
    assert [cell.execution_count for cell in notebook.cells] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("x = 1\ny = 2\n1 / 0", r"^book/03_idea.md:22: ZeroDivisionError: division by zero$"),
        (
            "def f():\n    raise ValueError('two\\nlines')\nf()",
            r"^book/03_idea.md:22: ValueError: two lines$",
        ),
        ("import os; os._exit(3)", r"^book/03_idea.md:20: the kernel died in this cell"),
    ],
)
def test_a_cell_that_fails_is_named_by_its_line(tmp_path, cell, said):
    with pytest.raises(PressError, match=said):
        run(["ok = 1", cell], tmp_path)


def test_an_error_in_a_generated_cell_is_placed_at_its_marker(tmp_path):
    with pytest.raises(PressError, match=r"^book/03_idea.md:10: KeyError: 1 \(in the exercise cell\)$"):
        run(["x = {}\nx[1]"], tmp_path, tags=["exercise"])


KEYBOARD = """\
import signal, sys
from mha_teach.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest-xdist's workers hand down that it is ignored
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_stops_a_build_in_one_line(book):
    cell = "import pathlib, time\npathlib.Path('../started').touch()\ntime.sleep(100)"
    book.page(f"# Idea\n\n```{{code-cell}}\n{cell}\n```\n")
    build = subprocess.Popen(
        [sys.executable, "-c", KEYBOARD, "--root", str(book.root), "build"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while build.poll() is None and not (book.root / "started").exists():
        time.sleep(0.1)
    build.send_signal(signal.SIGINT)
    said = build.communicate(timeout=60)[0]
    assert build.returncode == 130, said
    assert said.splitlines()[-1].startswith("mha: stopped; what was finished is kept")
    assert "Traceback" not in said and not list((book.root / "notebooks").iterdir())


def test_an_endless_cell_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "SECONDS_PER_CELL", 1)
    with pytest.raises(PressError, match=r"^book/03_idea.md:10: this cell ran for over 1 s: make"):
        run(["while True: pass"], tmp_path)


def test_a_wanted_error_keeps_no_folder_names():
    error = v4.new_output(
        "error", ename="ValueError", evalue="no", traceback=["File /somewhere/x.py", "ValueError"]
    )
    cell = v4.new_code_cell("x", outputs=[error])
    strip(cell, "book/03_idea.md", 1)
    assert cell.outputs[0].traceback == ["ValueError: no"]


def widget(**data):
    view = {runner.WIDGET_VIEW: {"model_id": "5f0c"}, "text/plain": "W", **data}
    cell = v4.new_code_cell("w", outputs=[v4.new_output("display_data", data=view)])
    strip(cell, "book/03_idea.md", 1)
    return [set(output.data) for output in cell.outputs]


def test_live_views_are_not_stored_and_bars_leave_nothing():
    assert widget(**{"text/html": "<div></div>"}) == [{"text/plain", "text/html"}]
    assert widget() == [{"text/plain"}]
    assert widget(**{"text/plain": "seeds:  0%|          | 0/3 [00:00<?, ?it/s]"}) == []


def test_output_cut_by_the_clock_is_joined():
    parts = [("stdout", "a"), ("stderr", "x"), ("stdout", "b")]
    cell = v4.new_code_cell(
        "x", outputs=[v4.new_output("stream", name=name, text=text) for name, text in parts]
    )
    assert strip(cell, "f.md", 7) == ["f.md:7: stderr: x"]
    assert [output.text for output in cell.outputs] == ["ab"]
    nbformat.validate(v4.new_notebook(cells=[cell]))
