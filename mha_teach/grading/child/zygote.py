"""The program in the sandbox: loads torch once, then splits off one fresh process for each exercise it is asked for.

Started as ``python -I zygote.py FD OPTIONS``. The judge sends ``spawn`` with an open socket, gets a process id, and talks with
the new process through that socket; ``end`` ends the process and everything that it started, and says how it ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
import types
from functools import partial

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jail

OPTIONS = json.loads(sys.argv[2])
sys.path.insert(1, OPTIONS["root"])


def main() -> None:
    """Serve until the judge hangs up."""
    control = socket.socket(fileno=int(sys.argv[1]))
    missing = _prepare()
    control.sendall(json.dumps({"missing": missing, "apart": OPTIONS["apart"]}).encode() + b"\n")
    children: dict[int, int] = {}
    said, lines = b"", []
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        if not message:
            break
        lines += descriptors
        *requests, said = (said + message).split(b"\n")
        for request in map(json.loads, requests):
            if request["op"] == "spawn":
                reply = _spawn(control, socket.socket(fileno=lines.pop(0)), children)
            else:
                reply = _end(request["id"], children, request["wait"])
            control.sendall(json.dumps(reply | {"count": request["count"]}).encode() + b"\n")
    for number in list(children):
        _end(number, children)


def _prepare() -> list[str]:
    """Load what answers use; find out which protections this system has; returns the names of the missing ones."""
    import student
    import torch

    for name in OPTIONS["preload"]:
        importlib.import_module(name)
    torch.set_num_threads(1)
    _warm(student)
    quiet = types.ModuleType("mha_teach.exercises")
    quiet.check = lambda *_: None  # a check among the student's lines says nothing here
    sys.modules["mha_teach.exercises"] = quiet
    missing = []
    directly, twice = (
        partial(jail.probe, way, OPTIONS["scratch"]) for way in (jail.fork_apart, jail.fork_twice)
    )
    OPTIONS["directly"] = OPTIONS["apart"] and "clone" not in OPTIONS["without"] and _can(directly)
    if OPTIONS["apart"] and not OPTIONS["directly"] and not _can(twice):
        OPTIONS["apart"] = False
        missing.append("namespaces")
    for name, attempt in (("filter", jail.refuse), ("subreaper", _reap), ("dumpable", _hide)):
        if not _can(attempt):
            missing.append(name)
    for here in (_reap, _hide):
        try:
            here()
        except OSError:
            pass
    os.umask(0o077)
    gc.collect()
    gc.freeze()  # what is loaded stays shared between the processes
    if "namespaces" not in (*missing, *OPTIONS["without"]):  # else this process serves one submission only
        try:
            jail.gather()
        except (OSError, ValueError, AttributeError):
            pass
    return missing


def _warm(student: types.ModuleType) -> None:
    """Do once what every exercise does: torch and Python load parts of themselves at first use."""
    code = 'import torch\ndef f(x):\n    "A."\n    y = (x @ x.mT).masked_fill(x < 0, 1.0).softmax(-1)\n    return y @ aid(x), y\n'
    kept = sys.modules["builtins"]
    told = {"setup": "import torch\n", "stub": code, "names": ["f"], "seconds": 5, "answer": code}
    packer = student.wire.Packer(None, layout=True)
    sample = packer.pack(((student.torch.ones(3, 3, requires_grad=True),), {}))
    one = student.Student(None)
    one._load(told | {"cells": ["def aid(x):\n    return x\n"]}, b"")
    sys.modules["builtins"] = kept
    call = {"target": 0, "method": None, "arguments": sample}
    one._call(call, b"".join(packer.buffers))
    packer = student.wire.Packer(None)
    gradients = packer.pack((student.torch.ones(3, 3), None))
    one._backward({"graph": 0, "gradients": gradients}, b"".join(packer.buffers))


def _reap() -> None:
    jail.prctl(jail.SUBREAPER, 1)


def _hide() -> None:
    jail.prctl(jail.DUMPABLE, 0)


def _can(attempt: object) -> bool:
    """Whether ``attempt`` works, tried in a process of its own."""
    if (child := os.fork()) == 0:
        try:
            attempt()
        except BaseException:  # noqa: BLE001
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _spawn(control: socket.socket, line: socket.socket, children: dict[int, int]) -> dict:
    """Fork; where that can't be into new namespaces at once, twice, since only a child is inside the new ones."""
    twice, first = OPTIONS["apart"] and not OPTIONS["directly"], -1
    reading, writing = os.pipe()
    try:
        first = jail.fork_apart() if OPTIONS["directly"] else os.fork()
        if first == 0:
            control.close()
            if twice and (inner := jail.fork_twice()):
                os.write(writing, str(inner).encode())
                os.close(writing)
                line.close()
                _pass_on(inner)
            os.close(reading)
            os.close(writing)
            _become(line)
    finally:
        if first == 0:
            os._exit(97)
    line.close()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        children[first] = int(pipe.read() or first) if twice else first
    return {"id": first}


def _pass_on(inner: int) -> None:
    status = os.waitpid(inner, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _become(line: socket.socket) -> None:
    """The student's process: everything is given up, then requests are served."""
    try:
        jail.prctl(jail.DEATH_SIGNAL, signal.SIGKILL)
    except OSError:
        pass
    jail.limit(OPTIONS["memory"], OPTIONS["seconds"], OPTIONS["file"])
    if OPTIONS["apart"]:
        jail.furnish(OPTIONS["scratch"], OPTIONS["scratch_size"])
    os.makedirs(OPTIONS["scratch"], exist_ok=True)  # an earlier exercise may have removed it
    os.chdir(OPTIONS["scratch"])
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, line.fileno())
    os.closerange(line.fileno() + 1, 1024)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    if OPTIONS["apart"]:
        jail.powerless()
    if "filter" not in OPTIONS["without"]:
        try:
            jail.refuse()
        except OSError:
            pass
    import student

    student.Student(line).serve()
    os._exit(0)


def _end(number: int, children: dict[int, int], wait: float = 0.0) -> dict:
    """Kill the process and whatever it left behind; how it ended by itself, if it did within ``wait`` seconds."""
    inner = children.pop(number, None)
    if inner is None:
        return {"code": None}
    last = time.monotonic() + wait
    while (done := os.waitpid(number, os.WNOHANG))[0] == 0 and time.monotonic() < last:
        time.sleep(0.002)
    done, status = done
    killed = done == 0
    if killed:
        _kill(inner)
        status = os.waitpid(number, 0)[1]
    _sweep()
    return {"code": os.waitstatus_to_exitcode(status), "killed": killed}


def _sweep() -> None:
    """Orphans of a student's process come to this one; there are none where the filter holds."""
    for _ in range(1000):
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
                orphans = [int(text) for text in file.read().split()]
        except OSError:
            return
        if not orphans:
            return
        for orphan in orphans:
            _kill(orphan)
            os.waitpid(orphan, 0)


def _kill(number: int) -> None:
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:  # it ended just now
        pass


if __name__ == "__main__":
    main()
