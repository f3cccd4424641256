"""A progress bar for people, which leaves nothing behind in a stored notebook."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


def watched() -> bool:
    """Is someone looking? A terminal is; a pipe, a test and a notebook run by a program are not."""
    return sys.stderr.isatty()


@contextmanager
def bar(total: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar; it does nothing when no bar is wanted or nobody watches."""
    if not (wanted and watched()):
        yield lambda done: None
        return
    lock = threading.Lock()
    with tqdm(total=total, unit="step", leave=False, file=sys.stderr, dynamic_ncols=True) as shown:

        def advance(done: int) -> None:
            with lock:
                shown.update(done)

        yield advance
