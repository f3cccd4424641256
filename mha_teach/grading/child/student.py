"""Inside one student's process: load one cell, then compute what is asked, value by value, until the judge hangs up."""

from __future__ import annotations

import random
import socket

import cells
import numpy as np
import torch
import wire

_clone, _equal, _autograd = torch.Tensor.clone, torch.equal, torch.autograd.grad
_seed_torch, _seed_numpy, _seed = torch.default_generator.manual_seed, np.random.seed, random.seed
_METHODS = ("load_state_dict", "state_dict", "eval", "train", "forward")
_Module, _Guard = torch.nn.Module, torch._C.DisableTorchFunctionSubclass
_frame, _Packer, _unpack, _explain, _Unfit = wire.frame, wire.Packer, wire.unpack, cells.explain, wire.Unfit


class Student:
    """Everything that the judge may ask of one cell."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._objects: list[object] = []
        self._graphs: list[tuple[list, list]] = []
        self.names: dict[str, object] = {}

    def serve(self) -> None:
        """Answer requests until the other end is closed."""
        while (request := self._receive()) is not None:
            head, blob = request
            try:
                reply, buffers = getattr(self, f"_{head['op']}")(head, blob)
            except _Unfit as error:
                reply, buffers = {"error": {"kind": "Unfit", "text": str(error)}}, []
            except BaseException as error:  # noqa: BLE001  also SystemExit: it is the student's
                reply, buffers = {"error": _explain(error)}, []
            self._line.sendall(_frame(reply, buffers))

    def _receive(self) -> tuple[dict, bytes] | None:
        head = self._exactly(wire.HEAD.size)
        if head is None:
            return None
        first, second = wire.HEAD.unpack(head)
        return wire.json.loads(self._exactly(first)), self._exactly(second)

    def _exactly(self, size: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < size:
            found = self._line.recv(min(size - len(parts), 1 << 20))
            if not found:
                return None
            parts += found
        return bytes(parts)

    def _load(self, head: dict, blob: bytes) -> tuple[dict, list]:
        names = head["names"]
        values, said = cells.load(head["setup"], head["cells"], head["answer"], names, head["seconds"])
        try:
            stub = cells.written(head["stub"], names)
            mine = cells.written(cells.cleaned(head["answer"]), names)
            said["same"] = [name for name in names if name in mine and mine[name] == stub.get(name)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            said["same"] = []
        packer = _Packer(self._other)
        said["values"] = {name: packer.pack(value) for name, value in values.items()}
        return said, packer.buffers

    def _other(self, value: object) -> wire.Opaque:
        """What stands for something without plain form: a number by which the judge may call it."""
        about: dict[str, object] = {"callable": callable(value)}
        if callable(value):
            about["signature"] = _signature(value)
            about["methods"] = list(_METHODS) if isinstance(value, _Module) else []
        elif hasattr(type(value), "send") and hasattr(type(value), "gi_frame"):
            about["generator"] = True
        self._objects.append(value)
        return wire.Opaque(wire.name_of(value), len(self._objects) - 1, about)

    def _call(self, head: dict, blob: bytes) -> tuple[dict, list]:
        target = whole = self._objects[head["target"]]
        if head["method"]:
            target = getattr(target, head["method"])
        seen: list = []
        arguments, named = _unpack(head["arguments"], blob, self._callback, seen)
        given = [tensor for tensor, _ in seen]
        kept = [_clone(tensor) for tensor in given]
        for tensor, more in seen:
            tensor.requires_grad_(bool(more.get("grad")))
        _seed_torch(0)
        _seed(0)
        _seed_numpy(0)
        torch.set_grad_enabled(True)
        value = target(*arguments, **named)
        with _Guard():
            packer = _Packer(self._other, known=tuple(given))
            tree = packer.pack(value)
            after = _Packer(self._other)
            after.buffers, after.size = packer.buffers, packer.size
            changed = {
                str(i): after.pack(tensor)
                for i, (tensor, before) in enumerate(zip(given, kept, strict=True))
                if not _unchanged(tensor, before)
            }
        leaves = [t for t, more in seen if more.get("grad")]
        leaves += [whole.get_parameter(name) for name in head.get("parameters", ())]
        self._graphs.append((leaves, packer.tensors))
        return {"value": tree, "changed": changed, "graph": len(self._graphs) - 1}, after.buffers

    def _callback(self, stranger: wire.Opaque) -> object:
        """A function of the judge's that an answer takes as an argument."""

        def score(*arguments: object) -> object:
            packer = _Packer(lambda value: wire.Opaque(wire.name_of(value)))
            tree = packer.pack(arguments)
            self._line.sendall(_frame({"callback": stranger.handle, "arguments": tree}, packer.buffers))
            head, blob = self._receive() or ({"error": "the judge is gone"}, b"")
            if "error" in head:
                raise ValueError(head["error"])
            return _unpack(head["value"], blob, lambda other: other)

        return score

    def _backward(self, head: dict, blob: bytes) -> tuple[dict, list]:
        leaves, results = self._graphs[head["graph"]]
        given = _unpack(head["gradients"], blob, lambda other: None)
        pairs = [(out, grad) for out, grad in zip(results, given, strict=True) if grad is not None]
        found = _autograd(
            [out for out, _ in pairs],
            leaves,
            [grad for _, grad in pairs],
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        packer = _Packer(self._other)
        return {"value": packer.pack(list(found))}, packer.buffers


def _unchanged(left: torch.Tensor, right: torch.Tensor) -> bool:
    try:
        left, right = left.detach(), right.detach()
        return left.shape == right.shape and bool(_equal(left.nan_to_num(), right.nan_to_num()))
    except (RuntimeError, NotImplementedError, AttributeError, TypeError):
        return False


def _signature(function: object) -> list | None:
    """Names, kinds and "has a default" of the parameters, or nothing for what is written in C."""
    import inspect

    try:
        found = inspect.signature(function).parameters.values()
        return [[str(p.name), int(p.kind), p.default is not p.empty] for p in found][:64]
    except (ValueError, TypeError):
        return None
