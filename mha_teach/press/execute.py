"""Run a notebook in a fresh kernel and keep only what would be the same tomorrow."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import tempfile
from asyncio import CancelledError
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from mha_teach.press.problems import PressError

SECONDS_PER_CELL = 600
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
BAR = re.compile(r"[^|\n]*\d+%\|")  # a progress bar drawn as a widget
LINE_IN_CELL = re.compile(r"Cell In\[\d+\], line (\d+)")

FIXED = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "CUDA_VISIBLE_DEVICES": "",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "MATPLOTLIBRC": os.devnull,  # the author's own settings must not show in the book
    "TQDM_DISABLE": "1",  # a progress bar is for people who wait, not for the page
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}

Progress = Callable[[int, int], None]


def execute(notebook: NotebookNode, lines: list[int], name: str, cwd: Path, progress: Progress) -> list[str]:
    """Fill in outputs, in place. ``lines[i]`` is the source line of cell i; ``name`` is the source's file.

    Returns what the cells said on stderr, which is shown to the author and never stored.
    Raises PressError naming file, line and error when a cell raises, takes too long or kills its kernel.
    """
    at = 0

    def started(cell: NotebookNode, cell_index: int) -> None:
        nonlocal at
        at = cell_index
        progress(cell_index + 1, len(notebook.cells))

    client = NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        extra_arguments=["--log-level=ERROR"],
        on_cell_start=started,
    )
    with tempfile.TemporaryDirectory(prefix="mha-ipython-") as profile:
        env = {**os.environ, **FIXED, "IPYTHONDIR": profile}
        try:
            # Tornado and ipykernel talk to the terminal when they are stopped; cells' own stderr takes another way.
            _run(client, env=env, cwd=str(cwd), stderr=subprocess.DEVNULL)
        except CellExecutionError as error:
            raise PressError(_located(error, notebook.cells[at], lines[at], name)) from None
        except CellTimeoutError:
            cure = "make the experiment smaller"
            raise PressError(
                f"{name}:{lines[at]}: this cell ran for over {SECONDS_PER_CELL} s: {cure}"
            ) from None
        except DeadKernelError:
            raise PressError(
                f"{name}:{lines[at]}: the kernel died in this cell: does it need less memory?"
            ) from None
    return [
        said for cell, line in zip(notebook.cells, lines, strict=True) for said in strip(cell, name, line)
    ]


def _run(client: NotebookClient, **options) -> None:
    """Execute all cells; Ctrl-C is KeyboardInterrupt, whatever nbclient's own clean-up then stumbles over."""
    try:
        client.execute(**options)
    except (Exception, CancelledError, KeyboardInterrupt):
        stopping = getattr(client, "_async_cleanup_kernel_future", None)  # set when a signal arrives
        if stopping is None:
            raise
        # Else asyncio prints what goes wrong in it, now or later, when it is collected.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
        with suppress(Exception, CancelledError):
            stopping.result()
        raise KeyboardInterrupt from None


def _located(error: CellExecutionError, cell: NotebookNode, line: int, name: str) -> str:
    """``book/01_collapse.md:88: ValueError: …``, at the line of the cell that raised."""
    inside = LINE_IN_CELL.search(ANSI.sub("", error.traceback))
    generated = {"setup", "exercise", "check"} & set(cell.metadata.get("tags", []))
    offset = int(inside[1]) - 1 if inside and not generated else 0
    what = " ".join(f"{error.ename}: {error.evalue}".split())
    where = f" (in the {generated.pop()} cell)" if generated else ""
    return f"{name}:{line + offset}: {what}{where}"


def strip(cell: NotebookNode, name: str, line: int) -> list[str]:
    """Drop from an executed cell what changes from run to run; returns the lines of its stderr."""
    if cell.cell_type != "code":
        return []
    cell.metadata.pop("execution", None)
    said = [out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stderr"]
    kept: list[NotebookNode] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            if output.name == "stderr":
                continue
            if kept and kept[-1].output_type == "stream":  # where a stream is cut depends on the clock
                kept[-1].text += output.text
                continue
        elif output.output_type == "error":
            output.traceback = [f"{output.ename}: {output.evalue}"]  # the rest names folders of this machine
        elif output.data.pop(WIDGET_VIEW, None) and BAR.match(output.data.get("text/plain", "")):
            continue  # its number is random, and without a kernel it shows nothing
        kept.append(output)
    cell.outputs = kept
    return [f"{name}:{line}: stderr: {text}" for part in said for text in part.splitlines() if text.strip()]
