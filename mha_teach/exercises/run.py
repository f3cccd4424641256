"""Run an answer so that nothing it does can hurt the notebook: time, output, errors, arguments, settings."""

from __future__ import annotations

import contextlib
import io
import linecache
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from mha_teach.exercises import settings, shell
from mha_teach.exercises.compare import Misfit, type_name
from mha_teach.exercises.wording import say

KEPT = 300  # characters of printed output that a check keeps
LONG = 100_000  # no right answer has as many parts; copying more only takes time
PATIENCE = 10  # times the limit that an import may take
STUBBORN = 5  # rings that an answer may swallow before they come fast
_OURS = (__file__, contextlib.__file__)
_PACKAGES = (str(Path(__file__).parent.parent), str(Path(torch.__file__).parent))


class TimeUp(BaseException):
    """Raised inside the answer when its time is over; a bare ``except Exception`` does not catch it."""


@dataclass
class Outcome:
    """What came of one call: a value, or the error that stopped it."""

    value: object = None
    error: str = ""
    line: str = ""
    kind: str = ""  # name of the error's class
    misfit: bool = False  # the error is a sentence of ours about the answer's form
    timeout: bool = False
    changed: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    printed: int = 0
    displayed: int = 0
    loaded: bool = False  # modules were imported meanwhile, which takes long, once
    output: str = ""


def call(function: Callable, answer: object, arguments: tuple, names: tuple, seconds: float) -> Outcome:
    """``function(answer, *arguments)`` on copies of the arguments, with output caught and time limited."""
    given, kept = copy(arguments), copy(arguments)
    outcome, printed, modules = Outcome(), _Sink(), len(sys.modules)
    with (
        settings.kept() as changed,
        shell.quiet() as displayed,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        try:
            with time_limit(seconds):
                outcome.value = copy(function(answer, *given))
        except TimeUp:
            outcome.timeout = True
        except KeyboardInterrupt:  # the reader's own wish
            raise
        except BaseException as error:  # noqa: BLE001
            outcome.kind, outcome.misfit = type_name(error), isinstance(error, Misfit)
            outcome.error, outcome.line = _explain(error)
    outcome.settings = tuple(changed)
    outcome.displayed, outcome.loaded = len(displayed), len(sys.modules) > modules
    outcome.printed, outcome.output = printed.count, printed.getvalue()
    labels = [*names, *(f"number {i + 1}" for i in range(len(names), len(given)))]
    outcome.changed = tuple(n for n, a, b in zip(labels, given, kept, strict=False) if not _unchanged(a, b))
    return outcome


def copy(value: object) -> object:
    """A deep copy of tensors in tuples, lists and dicts; requires_grad is kept, everything else is passed on."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) in (tuple, list) and len(value) < LONG:
        return type(value)(copy(item) for item in value)
    if type(value) is dict and len(value) < LONG:
        return {key: copy(item) for key, item in value.items()}
    return value


def limited() -> bool:
    """Whether a time limit can hold here: it needs SIGALRM and the main thread."""
    return hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeUp` in the body after ``seconds``; does nothing where :func:`limited` is False.

    Python rings between two of its own steps: a single torch operation that takes long is not cut short. An import is
    waited for, up to ``PATIENCE`` times the limit, and the time begins anew after it: half a module stays broken for
    as long as the kernel lives, and a first import says nothing about the answer.
    """
    if not limited():
        yield
        return

    running, rings = [True], [0]
    began = due = time.monotonic()

    def ring(_: int, frame: types.FrameType | None) -> None:
        nonlocal due
        if not running or (frame and frame.f_code.co_filename in _OURS):
            return  # never in the middle of putting things back
        now = time.monotonic()
        if now - began < PATIENCE * seconds:
            if _imports(frame):
                due = now + seconds
            if now < due:
                return
        rings[0] += 1
        if rings[0] == STUBBORN:
            # ``while True`` round ``try … except: pass`` swallows each ring, unless one comes while another is
            # being swallowed.
            signal.setitimer(signal.ITIMER_REAL, 2e-5, 2e-5)
        raise TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    # It rings again and again: a bare ``except:`` inside an endless loop swallows the first rings.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        running.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        if rings[0]:  # one that is already on its way must not meet the old handler
            time.sleep(0.005)
        signal.signal(signal.SIGALRM, before)


def _imports(frame: types.FrameType | None) -> bool:
    """Whether the answer is importing a module there."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class _Sink(io.TextIOBase):
    """Swallows any amount of text and keeps its beginning."""

    def __init__(self) -> None:
        self.count, self._kept = 0, ""

    def write(self, text: str) -> int:
        if self.count < KEPT:
            self._kept = (self._kept + text)[:KEPT]
        self.count += len(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def getvalue(self) -> str:
        return self._kept


def _unchanged(left: object, right: object) -> bool:
    if isinstance(left, torch.Tensor):
        try:
            return left.shape == right.shape and torch.equal(
                left.detach().nan_to_num(), right.detach().nan_to_num()
            )
        except (RuntimeError, NotImplementedError):  # it was resized, or lost its data
            return False
    if type(left) in (tuple, list):
        return len(left) == len(right) and all(map(_unchanged, left, right))
    return True


def _explain(error: BaseException) -> tuple[str, str]:
    """The error in one line, and the last line of the student's own code on the way to it."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  an exception may have a broken __str__
        text = ""
    if isinstance(error, Misfit):
        return text[:400], ""
    message = f"{type_name(error)}: {text}"[:400].rstrip(": ")
    own = [f for f in traceback.extract_tb(error.__traceback__) if _is_students(f.filename)]
    if isinstance(error, SyntaxError) or not own:
        return message, ""
    source = own[-1].line or linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    return message, say("line", number=own[-1].lineno, source=source[:160])


def _is_students(filename: str) -> bool:
    return not filename.startswith((*_PACKAGES, sys.prefix, sys.base_prefix + "/lib"))
