"""The house in which students' code runs: one warm process behind bubblewrap, and a fresh one split off for each exercise.

The judge stays outside. What crosses is plain data (:mod:`mha_teach.grading.child.wire`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

PACKAGE = Path(__file__).resolve().parents[1]
CHILD = Path(__file__).resolve().parent / "child"
_SCRATCH = "/scratch"
_MB = 1024**2
LOST = {
    "bubblewrap": "code can read every file that you can read (other submissions, the gradebook, solutions) and write "
    "where you can write",
    "namespaces": "each submission starts the sandbox anew, which takes seconds",
    "filter": "code can open network connections and start programs and processes without number",
    "subreaper": "a process that code leaves behind may live on",
    "dumpable": "code of one submission may look into the memory of the next one's process",
}


class SandboxError(RuntimeError):
    """It can't be started; the text says what to do."""


@dataclass(frozen=True)
class Limits:
    """What one exercise of one submission may use: wall seconds, bytes of memory, bytes of one file."""

    seconds: float = 8.0
    memory: int = 2048 * _MB
    file: int = 16 * _MB
    scratch: int = 64 * _MB


def needs_linux() -> None:
    """Raise SandboxError elsewhere: limits, filter and namespaces are the kernel's, and other kernels have none of them."""
    if sys.platform != "linux":
        raise SandboxError(
            "Grading needs Linux, of whose kernel the sandbox is made: on Windows use WSL, on a Mac a virtual machine "
            "or a container with Linux."
        )


class Sandbox:
    """A warm process from which a fresh one is split off for each exercise; a context manager.

    ``wrap`` is False to do without bubblewrap, None to use it where it works. ``without`` names protections
    to leave away, for tests, or "clone" for the longer way. ``missing`` says which protections this machine does not have.
    """

    def __init__(self, limits: Limits | None = None, wrap: bool | None = None, without: tuple = ()) -> None:
        needs_linux()
        self.limits = limits or Limits()
        self.wrapped = bubblewrap() if wrap is None else wrap
        self._without = without
        self.missing: tuple[str, ...] = ()
        self._count, self.apart = 0, False
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._folder = None if self.wrapped else tempfile.mkdtemp(prefix="mha-grade-")
        mine, theirs = socket.socketpair()
        options = {
            "root": str(PACKAGE.parent),
            "preload": ["mha_teach.attention"],  # what many answers build on, loaded once
            "scratch": self._folder or _SCRATCH,
            "scratch_size": self.limits.scratch,
            "memory": self.limits.memory,
            "file": self.limits.file,
            "seconds": int(4 * self.limits.seconds) + 2,  # of computing; the judge has a clock on the wall
            "apart": self.wrapped and "namespaces" not in self._without,
            "without": list(self._without),
        }
        command = [sys.executable, "-I", str(CHILD / "zygote.py"), str(theirs.fileno()), json.dumps(options)]
        self._process = subprocess.Popen(
            [*wrapping(), *command] if self.wrapped else command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(self._folder or _SCRATCH),
            cwd=self._folder,
            start_new_session=True,  # the teacher's terminal is none of it
        )
        theirs.close()
        self._control, self._buffer = mine, b""
        try:
            hello = self._reply(180)
        except (OSError, ValueError) as error:
            self._process.kill()
            said = self._process.communicate()[1].decode(errors="replace").strip().splitlines()
            self.close()
            raise SandboxError(
                f"The sandbox does not start ({said[-1] if said else error}). "
                "Try `mha grade --no-bubblewrap`, on a machine of which you can lose the data."
            ) from None
        self.apart = hello["apart"]
        self.missing = (() if self.wrapped else ("bubblewrap",), tuple(hello["missing"]), self._without)
        self.missing = tuple(dict.fromkeys(name for names in self.missing for name in names if name in LOST))

    def warning(self) -> str:
        """Which protections are missing and what that means, or nothing."""
        return "; ".join(LOST[name] for name in self.missing)

    def spawn(self) -> tuple[int, socket.socket]:
        """A fresh process: its number, and the line to it."""
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                reply = self._ask({"op": "spawn"}, theirs)
            except (OSError, ValueError):  # the warm process is gone: start another, once
                self.renew()
                reply = self._ask({"op": "spawn"}, theirs)
        return reply["id"], mine

    def end(self, number: int, wait: float | None = None) -> int | None:
        """Kill that process with all it started, before the next one is started. With ``wait``: its exit code if it ended
        by itself within so many seconds (minus the signal, or 128 + the signal), else ``None``."""
        request = {"op": "end", "id": number, "wait": wait or 0.0}
        try:
            if wait is None:  # nobody has to stand by: the answer is passed over when the next one is read
                self._say(request)
                return None
            reply = self._ask(request)
        except (OSError, ValueError):
            return self.renew()
        return None if reply.get("killed") else reply["code"]

    def _say(self, request: dict, line: socket.socket | None = None) -> None:
        self._count += 1
        message = json.dumps({**request, "count": self._count}).encode() + b"\n"
        socket.send_fds(self._control, [message], [line.fileno()] if line else [])

    def _ask(self, request: dict, line: socket.socket | None = None) -> dict:
        self._say(request, line)
        while (reply := self._reply())["count"] != self._count:
            pass  # the answer to a question for whose answer nobody waits any more
        return reply

    def finish_submission(self) -> None:
        """Nothing that a submission wrote is there for the next one."""
        if self.wrapped and not self.apart:
            self.renew()
        elif self._folder:
            self.end(0, wait=0.0)  # all have ended when this is answered
            _remove(self._folder)
            os.makedirs(self._folder, mode=0o700, exist_ok=True)

    def renew(self) -> None:
        """Start again, from nothing."""
        self.close()
        self._start()

    def close(self) -> None:
        """End all that is in it."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._process.kill()
        if not self._process.stderr.closed:
            self._process.communicate()
        _remove(self._folder or "")

    def _reply(self, seconds: float = 30) -> dict:
        self._control.settimeout(seconds)
        while b"\n" not in self._buffer:
            found = self._control.recv(4096)
            if not found:
                raise OSError("it ended")
            self._buffer += found
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)


def _remove(folder: str) -> None:
    """Delete a folder that code has filled, also where folders are locked or lie thousands deep."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    if os.path.exists(folder):
        subprocess.run(["chmod", "-R", "u+rwX", "--", folder], capture_output=True, check=False)
        subprocess.run(["rm", "-rf", "--", folder], capture_output=True, check=False)


def environment(scratch: str) -> dict[str, str]:
    """The few variables that code sees: nothing of the teacher's."""
    kept = {
        name: os.environ[name] for name in ("LD_LIBRARY_PATH", "ATEN_CPU_CAPABILITY") if name in os.environ
    }
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**kept, **threads, "HOME": scratch, "TMPDIR": scratch, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def wrapping() -> list[str]:
    """The command line of bubblewrap: no network, a read-only system, neither exercises nor solutions nor homes."""
    needed = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1]}
    needed |= {Path(path) for path in sysconfig.get_paths().values() if Path(path).is_dir()}
    tops = sorted(path for path in needed if not any(path != o and path.is_relative_to(o) for o in needed))
    line = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--hostname", "grading"]
    for name in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives"):
        if os.path.islink(name):
            line += ["--symlink", os.readlink(name), name]
        elif os.path.exists(name):
            line += ["--ro-bind", name, name]
    line += ["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc", "--dir", _SCRATCH]
    if not any(path.is_relative_to("/tmp") for path in (*tops, PACKAGE)):
        line += ["--symlink", _SCRATCH, "/tmp"]
    for path in tops:
        line += ["--ro-bind", str(path), str(path)]
    line += ["--ro-bind", str(PACKAGE), str(PACKAGE)]
    for name in ("exercises", "grading", "clinic"):
        if (PACKAGE / name).is_dir():
            line += ["--size", "65536", "--tmpfs", str(PACKAGE / name)]
    line += ["--ro-bind", str(CHILD), str(CHILD)]
    for name in ("exercises", "grading", "clinic"):
        if (PACKAGE / name).is_dir():
            line += ["--remount-ro", str(PACKAGE / name)]
    room = ["--size", str(16 * _MB), "--tmpfs", _SCRATCH, "--remount-ro", "/", "--chdir", _SCRATCH, "--"]
    return [*line, *room]


@cache
def bubblewrap() -> bool:
    """Whether bubblewrap is installed and may make namespaces here."""
    if not shutil.which("bwrap"):
        return False
    probe = subprocess.run(
        [*wrapping(), sys.executable, "-I", "-c", "print(1)"], capture_output=True, timeout=60, check=False
    )
    return probe.returncode == 0
