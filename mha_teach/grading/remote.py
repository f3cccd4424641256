"""A student's function as the judge sees it: it can be called and differentiated, but it runs in another process."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import torch

from mha_teach.grading.child import wire
from mha_teach.grading.session import Session, Unreadable, requiring


class Remote:
    """Something in the student's process that can be called; ``name`` tells how to find it again after a restart."""

    def __init__(self, session: Session, handle: int, about: dict, name: str | None) -> None:
        self._session, self._handle, self._name = session, handle, name
        self._generation = session.generation
        self._methods = {m for m in about.get("methods") or () if isinstance(m, str)}
        self._parameters: dict[str, torch.Tensor] = {}  # of a module, as they were loaded
        self.__signature__ = _signature(about.get("signature"))

    def __call__(self, *arguments: object, **named: object) -> object:
        return self._call(None, arguments, named)

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_") or name not in (*self.__dict__.get("_methods", ()), "get_parameter"):
            raise AttributeError(name)
        if name == "get_parameter":
            return self._parameter
        return lambda *arguments, **named: self._call(name, arguments, named)

    def _parameter(self, name: str) -> torch.Tensor:
        """What stands here for a parameter over there: gradients arrive at it."""
        if name not in self._parameters:
            raise AttributeError(f"{name} was not loaded")
        return self._parameters[name]

    def _call(self, method: str | None, arguments: tuple, named: dict) -> object:
        self._session.ready()
        if self._name is not None:
            self._handle = self._session.handles[self._name]
        elif self._generation != self._session.generation:
            raise Unreadable("the process in which this object lived has ended")
        packer = wire.Packer(self._register, layout=True)
        tree = packer.pack((arguments, named))
        own = {} if method else self._parameters
        message = {"op": "call", "target": self._handle, "method": method, "arguments": tree}
        message["parameters"] = list(own)
        given = list(packer.tensors)
        leaves = [*requiring(given), *own.values()]
        if not torch.is_grad_enabled() or not leaves:
            head, blob = self._session.request(message, packer.buffers)
            if method == "load_state_dict":
                loaded = arguments[0].items()
                self._parameters = {k: v.detach().clone().requires_grad_() for k, v in loaded}
            return self._result(head, blob, given)[0]
        kept: dict = {}
        found = _Through.apply(self, message, packer.buffers, given, kept, *leaves)
        return kept["rebuild"](found)

    def _register(self, value: object) -> wire.Opaque:
        if callable(value):
            self._session.callbacks.append(value)
            return wire.Opaque("function", len(self._session.callbacks) - 1)
        raise TypeError(f"{type(value).__name__} can't be handed to a student's function")

    def _result(self, head: dict, blob: bytes, given: list) -> tuple[object, list]:
        """The value, and its tensors with what was said of them; changes of the arguments are carried over."""
        seen: list = []
        value = wire.unpack(head.get("value"), blob, self._stranger, seen)
        changed = head.get("changed")
        for key, tree in changed.items() if isinstance(changed, dict) else ():
            target = given[int(key)] if key.isdecimal() and len(key) < 6 and int(key) < len(given) else None
            source = wire.unpack(tree, blob, lambda other: None)
            if target is not None and isinstance(source, torch.Tensor):
                _carry_over(source, target)
        return (_shared(value, seen, given) if isinstance(value, torch.Tensor) else value), seen

    def _stranger(self, other: wire.Opaque) -> object:
        return stranger(self._session, other)


class _Through(torch.autograd.Function):
    """Forward in the student's process; backward there too, along the graph that stayed there."""

    @staticmethod
    def forward(ctx, remote, message, buffers, given, kept, *leaves):
        head, blob = remote._session.request(message, buffers)
        with torch.no_grad():
            value, seen = remote._result(head, blob, given)
        ctx.remote, ctx.graph, ctx.generation = remote, head.get("graph"), remote._session.generation
        tensors = [tensor for tensor, _ in seen]
        if isinstance(value, torch.Tensor):
            value = tensors[0]  # no view of an input: its gradient comes from the other process
        ctx.flowing = [bool(more.get("grad")) and tensor.is_floating_point() for tensor, more in seen]
        ctx.mark_non_differentiable(*(t for t, flows in zip(tensors, ctx.flowing, strict=True) if not flows))
        ctx.set_materialize_grads(False)
        kept["rebuild"] = lambda found: _put(value, dict(zip(map(id, tensors), found, strict=True)))
        kept["alive"] = tensors
        return tuple(tensors)

    @staticmethod
    def backward(ctx, *gradients):
        session = ctx.remote._session
        if session.generation != ctx.generation:
            raise Unreadable("the process in which this gradient lived has ended")
        packer = wire.Packer(lambda value: wire.Opaque("nothing"))
        kept = [g if flows else None for g, flows in zip(gradients, ctx.flowing, strict=True)]
        message = {"op": "backward", "graph": ctx.graph, "gradients": packer.pack(kept)}
        head, blob = session.request(message, packer.buffers)
        found = wire.unpack(head.get("value"), blob, lambda other: None)
        if not isinstance(found, list) or not all(isinstance(g, torch.Tensor) for g in found):
            raise Unreadable("what came back is no list of gradients")
        return None, None, None, None, None, *found


def stranger(session: Session, other: wire.Opaque, name: str | None = None) -> object:
    """What stands in the judge's process for something that has no plain form."""
    about = other.about if isinstance(other.about, dict) else {}
    if about.get("generator"):
        return (nothing for nothing in ())
    label = "".join(c for c in other.name if c.isprintable())[:60] or "object"
    if about.get("callable") and other.handle >= 0:
        return type(label, (Remote,), {})(session, other.handle, about, name)
    return type(label, (), {})()


def _signature(told: object) -> inspect.Signature | None:
    """The signature that the other process reports, if it is one."""
    if not isinstance(told, list):
        return None
    try:
        return inspect.Signature(
            [
                inspect.Parameter(
                    name if re.fullmatch(r"\w{1,60}", name) else "x",
                    inspect._ParameterKind(kind),
                    default=None if default else inspect.Parameter.empty,
                )
                for name, kind, default in told
            ]
        )
    except (ValueError, TypeError):
        return None


def _carry_over(source: torch.Tensor, target: torch.Tensor) -> None:
    """The argument was changed over there, so it is changed here."""
    with torch.no_grad():
        try:
            target.detach().copy_(source) if source.shape == target.shape else target.detach().zero_()
        except RuntimeError:  # memory that several places share
            return


def _shared(value: torch.Tensor, seen: list, given: list) -> torch.Tensor:
    """A result that lies in the memory of an argument over there does so here, if its numbers agree."""
    more = seen[0][1]
    try:
        source = given[more["alias"]]
        view = source.detach().as_strided(list(value.shape), more["stride"], more["offset"])
        return view if view.dtype == value.dtype and torch.equal(view, value) else value
    except (KeyError, IndexError, TypeError, RuntimeError, ValueError):
        return value


def _put(value: object, new: dict) -> object:
    """The same structure with the tensors replaced."""
    if isinstance(value, torch.Tensor):
        return new.get(id(value), value)
    if type(value) in (tuple, list):
        return type(value)(_put(item, new) for item in value)
    if type(value) is dict:
        return {key: _put(item, new) for key, item in value.items()}
    return value
