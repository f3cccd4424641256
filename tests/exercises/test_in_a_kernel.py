"""The checks in a real Jupyter kernel: the alarm rings there too, output is caught, and the student's line is found."""

from __future__ import annotations

from nbclient import NotebookClient
from nbformat import v4

# Half a second instead of three, and the check.
SHORT = """\
from mha_teach import exercises
object.__setattr__(exercises.get('00-attend'), 'seconds', 0.5)
check('00-attend', attend_mine)"""
CELLS = [
    "from mha_teach.exercises import check\nimport torch",
    "def attend_mine(q, k, v, mask=None):\n    while True:\n        print('flood')",
    SHORT,
    "def attend_mine(q, k, v, mask=None):\n    scores = q @ k.transposed()\n    return scores, scores",
    "check('00-attend', attend_mine)",
    "print('the kernel is alive')",
]


def test_a_kernel_survives_and_shows_the_verdict():
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells]
    (timeout,), (error,), (alive,) = outputs[2], outputs[4], outputs[5]
    assert "still running after 0.5 s" in timeout.data["text/plain"]
    assert 'class="mha-verdict mha-timeout"' in timeout.data["text/html"]
    assert "It printed" in timeout.data["text/plain"]
    assert "line 2: scores = q @ k.transposed()" in error.data["text/plain"]
    assert "AttributeError" in error.data["text/html"] and "Traceback" not in error.data["text/html"]
    assert alive.text == "the kernel is alive\n"
