"""In a notebook, an answer reaches further than stdout: it can display, ask for input, and end the kernel."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


def _leave() -> None:
    raise SystemExit


@contextlib.contextmanager
def quiet() -> Iterator[list]:
    """Displays are caught in the list that is given; ``exit()`` and ``input()`` end the answer, not the kernel.

    Where no notebook runs there is nothing to do.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        yield []
        return
    from IPython.core.displaypub import CapturingDisplayPublisher

    publisher, caught = shell.display_pub, CapturingDisplayPublisher()
    kernel = getattr(shell, "kernel", None)
    asks = getattr(kernel, "_allow_stdin", None)
    shell.display_pub = caught
    shell.ask_exit = _leave  # what IPython's own exit() calls
    if asks is not None:
        kernel._allow_stdin = False
    try:
        yield caught.outputs
    finally:
        shell.display_pub = publisher
        vars(shell).pop("ask_exit", None)
        if asks is not None:
            kernel._allow_stdin = asks
