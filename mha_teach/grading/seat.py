"""A worker's side of a cluster: a process of its own that reads, judges, and sends plain text back.

The Dask worker itself computes nothing of ours, so it needs no torch and has no thread in the way of the judge's clock. It
keeps a :class:`Seat` for each of its threads: a process with a sandbox, fed by a pipe, that ends when the worker ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import queue
import struct
import subprocess
import sys
import threading
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import mha_teach

_HEAD = struct.Struct(">IQ")
_PACKAGE = Path(__file__).resolve().parents[1]
IDLE = 600  # seconds after which a process that nobody asks anything ends
_free: list[Seat] = []
_lock = threading.Lock()


class Seat:
    """One grading process; ``ask`` hands it one submission and waits for the answer."""

    def __init__(self, options: str) -> None:
        paths = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.options = options
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        )

    def ask(self, told: dict, data: bytes) -> dict:
        """The reply to one submission. Raises ``OSError`` if the process is gone."""
        _send(self._process.stdin, told, data)
        reply = _receive(self._process.stdout)
        if reply is None:
            raise OSError("it ended")
        return reply[0]

    def close(self) -> None:
        """End the process and its sandbox: it ends by itself when nobody can ask any more."""
        try:
            self._process.stdin.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def judge(options: str, told: dict, data: bytes) -> dict:
    """Runs in the Dask worker: one submission, judged by a free seat. What went wrong here comes back as ``problem``."""
    with _lock:
        seat = next((seat for seat in _free if seat.options == options), None)
        if seat:
            _free.remove(seat)
    for fresh in (False, True):  # a seat that lay idle too long has ended
        if seat is None:
            seat, fresh = Seat(options), True
        try:
            reply = seat.ask(told, data)
        except OSError as error:
            seat.close()
            seat = None
            if fresh:
                return {"problem": f"The grading process there ended ({error}), perhaps for want of memory."}
            continue
        with _lock:
            _free.append(seat)
        return reply
    raise AssertionError("unreachable")


def leave() -> None:
    """Runs in the Dask worker: end all its seats."""
    with _lock:
        seats = [_free.pop() for _ in range(len(_free))]
    for seat in seats:  # the worker need not wait for it
        threading.Thread(target=seat.close, daemon=True).start()


def about() -> dict[str, object]:
    """What must be the same everywhere, and whether bubblewrap works here."""
    from mha_teach.grading.sandbox import bubblewrap

    try:
        torch = version("torch").split("+")[0]
    except PackageNotFoundError:
        torch = "missing"
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "torch": torch,
        "mha_teach": edition(),
        "bubblewrap": bubblewrap(),
    }


def edition() -> str:
    """Short, and the same where exercises and judge are the same to the letter."""
    files = [path for room in ("exercises", "grading") for path in sorted((_PACKAGE / room).rglob("*.py"))]
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{mha_teach.__version__}+{whole.hexdigest()[:8]}"


def _send(pipe: object, head: dict, data: bytes = b"") -> None:
    text = json.dumps(head).encode()
    pipe.write(_HEAD.pack(len(text), len(data)) + text + data)
    pipe.flush()


def _receive(pipe: object) -> tuple[dict, bytes] | None:
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    first, second = _HEAD.unpack(head)
    text, data = pipe.read(first), pipe.read(second)
    return (json.loads(text), data) if len(text) + len(data) == first + second else None


def main() -> None:
    """The seat's own process: submissions come in, attempts go out, until the worker is gone."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not get between the replies
    asked: queue.Queue = queue.Queue()

    def listen() -> None:
        while (found := _receive(sys.stdin.buffer)) is not None:
            asked.put(found)
        asked.put(None)
        time.sleep(3)
        os._exit(
            0
        )  # the worker is gone: so is this, in the middle of whatever it does, and its sandbox with it

    threading.Thread(target=listen, daemon=True).start()
    import torch

    from mha_teach.grading.batch import Plan, grade_data
    from mha_teach.grading.gradebook import to_plain
    from mha_teach.grading.members import Known
    from mha_teach.grading.sandbox import Limits, Sandbox, SandboxError

    torch.set_num_threads(1)
    options = json.loads(sys.argv[1])
    limits = Limits(**options["limits"])
    roster = tuple(Known(**fields) for fields in options["roster"])
    plan = Plan(tuple(options["chapters"]), 1, options["wrap"], limits, roster=roster)
    sandbox = None
    while True:
        try:
            found = asked.get(timeout=IDLE)
        except queue.Empty:
            found = None
        if found is None:
            break
        told, data = found
        try:
            sandbox = sandbox or Sandbox(limits, plan.wrap)
            attempt = grade_data(told, data, plan, options["seed"], sandbox)
            reply = {"attempt": to_plain(attempt), "missing": list(sandbox.missing)}
        except SandboxError as error:
            reply = {"problem": str(error)}
        try:
            _send(out, reply)
        except BrokenPipeError:  # the worker was ended meanwhile
            break
    if sandbox:
        sandbox.close()
    os._exit(0)  # what is left in the pipe has no reader


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        os._exit(1)  # an ordinary end would wait for who listens
