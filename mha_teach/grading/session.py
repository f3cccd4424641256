"""Talk with one student's process: load a cell, call its functions, and never wait longer than the limit."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Callable
from typing import Self

import torch

from mha_teach.exercises import run
from mha_teach.grading.child import wire
from mha_teach.grading.sandbox import Sandbox

_IDENTIFIER = re.compile(r"[^\W\d]\w{0,59}")
RESTARTS = 20


class StudentError(Exception):
    """An error in the student's process; subclasses carry the name that the error had there."""


class Ended(StudentError):
    """The student's process is gone."""


class Unreadable(StudentError):
    """What came back breaks the format or the limits."""


def student_error(said: object) -> StudentError:
    """The student's error under its own name, as a class of ours."""
    said = said if isinstance(said, dict) else {}
    kind, text = said.get("kind"), str(said.get("text"))[:600]
    if kind == "Unfit":
        return Unreadable(f"what came back is {text}")
    name = kind if isinstance(kind, str) and _IDENTIFIER.fullmatch(kind) else "Error"
    return type(name, (StudentError,), {})(text)


class Session:
    """One exercise of one submission. ``load`` first; then ``request``. A dead process is started again."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._number: int | None = None
        self._line: socket.socket | None = None
        self._cell: dict = {}
        self._deadline = 0.0
        self._starts = 0
        self.generation = 0
        self.handles: dict[str, int] = {}  # of the answer's names, in the present process
        self.callbacks: list[Callable] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def loading(self) -> float:
        """Seconds for the cell's own lines; less than the whole limit, so that what they defined can still be used."""
        return round(self._sandbox.limits.seconds * 0.6, 1)

    def load(self, cell: dict) -> tuple[dict, bytes]:
        """Run a cell in a fresh process; the clock starts, and starts anew for the calls that follow."""
        self._cell = cell | {"op": "load", "seconds": self.loading}
        self._deadline = time.monotonic() + self._sandbox.limits.seconds
        reply = self._start()
        self._deadline = time.monotonic() + self._sandbox.limits.seconds
        return reply

    def request(self, message: dict, buffers: list[bytes]) -> tuple[dict, bytes]:
        """One call, with the callbacks that happen during it."""
        self.ready()
        try:
            self._send(message, buffers)
            while True:
                head, blob = self._receive()
                if "callback" not in head:
                    break
                self._send(*self._called_back(head, blob))
        except BaseException:
            self.close()
            raise
        if "error" in head:
            raise student_error(head["error"])
        return head, blob

    def ready(self) -> None:
        """See to it that there is a process with the cell loaded."""
        if self._line is None:
            self._start()

    def _start(self) -> tuple[dict, bytes]:
        if self._starts > RESTARTS:
            raise Ended("the process ended too often, so it is not started again")
        self._starts += 1
        self.generation += 1
        self.close()
        begun = time.monotonic()
        self._number, self._line = self._sandbox.spawn()
        self._deadline += time.monotonic() - begun  # what the sandbox takes is not the student's time
        try:
            self._send(self._cell, [])
            head, blob = self._receive()
            self.handles = _handles(head.get("values"))
            return head, blob
        except BaseException:
            self.close()
            raise

    def _called_back(self, head: dict, blob: bytes) -> tuple[dict, list[bytes]]:
        try:
            function = self.callbacks[_index(head["callback"], self.callbacks)]
            found = function(*wire.unpack(head["arguments"], blob, lambda other: other))
        except Exception as error:  # noqa: BLE001  the student gave our function something that it can't take
            return {"error": f"{type(error).__name__}: {error}"[:300]}, []
        packer = wire.Packer(lambda value: wire.Opaque(wire.name_of(value)), layout=True)
        return {"value": packer.pack(found)}, packer.buffers

    def _send(self, message: dict, buffers: list[bytes]) -> None:
        try:
            self._clock()
            self._line.sendall(wire.frame(message, buffers))
        except TimeoutError:
            self._out_of_time()
        except OSError:
            raise self._ended() from None

    def _receive(self) -> tuple[dict, bytes]:
        first, second = wire.HEAD.unpack(self._exactly(wire.HEAD.size))
        for size, most in ((first, wire.HEAD_MOST), (second, wire.LARGEST)):
            if size > most:
                raise Unreadable(f"what came back is longer than {most // 1024**2} MB")
        head, blob = self._exactly(first), self._exactly(second)
        try:
            head = json.loads(head)
        except (ValueError, RecursionError, MemoryError):
            raise Unreadable("what came back is not in the format") from None
        if not isinstance(head, dict):
            raise Unreadable("what came back is not in the format")
        return head, blob

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                self._clock()
                found = self._line.recv(min(size - len(parts), 1 << 20))
            except TimeoutError:
                self._out_of_time()
            except OSError:
                found = b""
            if not found:
                raise self._ended()
            parts += found
        return bytes(parts)

    def _clock(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            self._out_of_time()
        self._line.settimeout(left)

    def _out_of_time(self) -> None:
        self.close()
        raise run.TimeUp

    def _ended(self) -> Ended:
        code, self._number = self._sandbox.end(self._number, wait=1.0), None
        self.close()
        return Ended(ending(code))

    def close(self) -> None:
        """Kill the process and whatever it started."""
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._number is not None:
            number, self._number = self._number, None
            self._sandbox.end(number)


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "the process hung up on the judge"
    number = -code if code < 0 else code - 128
    if code >= 0 and code <= 128:
        return f"the process ended itself (exit code {code})"
    if number == signal.SIGXCPU:
        return "the process used up its computing time"
    try:
        name = signal.strsignal(number) or str(number)
    except ValueError:
        name = str(number)
    return f"the process was ended by the system: {name.lower()}"


def _handles(values: object) -> dict[str, int]:
    found = {}
    for name, tree in values.items() if isinstance(values, dict) else ():
        match tree:
            case ["o", _, int() as handle, _]:
                found[name] = handle
    return found


def _index(value: object, things: list) -> int:
    if type(value) is not int or not 0 <= value < len(things):
        raise Unreadable("what came back names something that does not exist")
    return value


def requiring(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Those through which gradients are to flow."""
    return [tensor for tensor in tensors if tensor.requires_grad]
