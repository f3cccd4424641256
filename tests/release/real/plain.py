"""Students' notebooks in the kernel of an environment that has neither nbgrader nor otter, such as Colab's."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from mha_teach.exercises.wording import say
from mha_teach.release.assignment import Assignment

_FIND = "import importlib.util as u; print(*[n for n in ('nbgrader', 'otter') if u.find_spec(n)])"


def tools_in(python: Path) -> str:
    """The tools that an environment has, which should be none."""
    return subprocess.check_output([python, "-c", _FIND], text=True).strip()


def checks_of(assignment: Assignment, status: str) -> dict[str, str]:
    """What each check says if every exercise is ``not attempted``, or ``right``."""
    return {one.call: say(status, seconds=0) for one in assignment.exercises if one.points}


def executed(notebook: dict, python: Path, wanted: dict[str, str], folder: Path) -> list[str]:
    """Run the notebook from top to bottom; a line for each check that is missing or says another thing."""
    node = nbformat.reads(json.dumps(notebook), as_version=4)
    nbformat.validate(node)
    place = {"metadata": {"path": str(folder)}}
    client = NotebookClient(node, kernel_name=_kernel(python), timeout=120, resources=place)
    try:
        client.execute()
    except Exception as error:  # noqa: BLE001  whatever it is, it is one line of the report
        return [f"{type(error).__name__}: {str(error)[-300:]}"]
    said = {
        cell.source: "".join(out.data.get("text/plain", "") for out in cell.outputs if "data" in out)
        for cell in node.cells
        if cell.cell_type == "code"
    }
    return [
        f"{call} says {said.get(call, 'nothing')[:200]!r}, not {word!r}"
        for call, word in wanted.items()
        if word not in said.get(call, "")
    ]


def _kernel(python: Path) -> str:
    """The name of a kernel that is this environment's Python; this process alone knows it."""
    home = Path(os.environ.setdefault("JUPYTER_PATH", tempfile.mkdtemp(prefix="kernels-")))
    folder = home / "kernels" / "elsewhere"
    folder.mkdir(parents=True, exist_ok=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # a debugger that nobody uses warns at every start
    about = {"argv": argv, "display_name": "elsewhere", "language": "python", "env": quiet}
    (folder / "kernel.json").write_text(json.dumps(about), encoding="utf-8")
    return "elsewhere"
