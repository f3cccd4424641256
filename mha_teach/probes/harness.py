"""Call any module or function the same way twice: random draws held fixed, batch norm on fixed statistics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from mha_teach.shapes import Tensor

NAMES = ("query", "key", "value")


class FixedStatistics(TorchFunctionMode):
    """Batch norm that would use the batch's statistics uses running ones instead, and is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is F.batch_norm:
            given = inspect.signature(F.batch_norm).bind(*args, **kwargs)
            given.apply_defaults()
            if given.arguments["training"]:
                self.seen += 1
                x = given.arguments["input"]
                given.arguments["training"] = False
                if given.arguments["running_mean"] is None:
                    given.arguments["running_mean"] = x.new_zeros(x.shape[1])
                    given.arguments["running_var"] = x.new_ones(x.shape[1])
                return func(*given.args, **given.kwargs)
        return func(*args, **kwargs)


class Harness:
    """A function with its inputs: tied inputs stay tied, buffers are restored, every call draws the same numbers."""

    def __init__(
        self, function: Callable, given: tuple[Tensor | None, ...], options: dict, seed: int
    ) -> None:
        query, key, value = given
        for name, x in zip(NAMES, given, strict=True):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"{name} is {type(x).__name__}; give a tensor: settings such as a mask go by keyword"
                )
        if value is not None and key is None:
            raise ValueError("value is given without key: give both, or the query alone")
        self.function, self.options, self.seed = function, options, seed
        if key is None:
            arguments = [query] * (3 if _asks_for_three(function) else 1)
        else:
            arguments = [query, key] if value is None else [query, key, value]
        self.inputs: list[Tensor] = []
        self.slots: list[int] = []  # argument → which input
        for x in arguments:
            same = [at for at, known in enumerate(self.inputs) if known is x]
            self.slots.append(same[0] if same else len(self.inputs))
            if not same:
                self.inputs.append(x)
        self.names = [
            "/".join(name for name, slot in zip(NAMES, self.slots, strict=False) if slot == at)
            for at in range(len(self.inputs))
        ]
        if len(self.inputs) == 1:
            self.names = ["input"]
        self.modules = list(function.modules()) if isinstance(function, nn.Module) else []
        scan = FixedStatistics()
        with scan, torch.no_grad():
            self._call(self.inputs, seed)
        self.batch_norm = scan.seen  # only then the mode stays on: it switches torch's fast paths off

    def __call__(self, inputs: list[Tensor] | None = None, seed: int | None = None) -> Tensor:
        with ExitStack() as stack:
            if self.batch_norm:
                stack.enter_context(FixedStatistics())
            return self._call(self.inputs if inputs is None else inputs, self.seed if seed is None else seed)

    def _call(self, inputs: list[Tensor], seed: int) -> Tensor:
        device = inputs[0].device
        fork = {"devices": []} if device.type == "cpu" else {"devices": [device], "device_type": device.type}
        buffers = [(b, b.detach().clone()) for m in self.modules for b in m.buffers(recurse=False)]
        with torch.random.fork_rng(**fork):
            torch.manual_seed(seed)
            output = first_tensor(self.function(*(inputs[slot] for slot in self.slots), **self.options))
        with torch.no_grad():
            for buffer, before in buffers:
                if buffer.shape == before.shape and not torch.equal(buffer, before):
                    buffer.copy_(before)
        if output is None:
            raise TypeError(
                "the module returned no floating-point tensor with two axes or more: nothing to probe"
            )
        return output

    def random_modules(self) -> list[str]:
        """Names of the kinds of modules that drop at random right now."""
        found = {
            type(m).__name__
            for m in self.modules
            if m.training
            and (getattr(m, "p", 0) or 0 if isinstance(m, nn.modules.dropout._DropoutNd) else 0)
            or (m.training and isinstance(m, nn.MultiheadAttention) and m.dropout > 0)
        }
        return sorted(found)


def first_tensor(output: object) -> Tensor | None:
    """The first floating-point tensor with two axes or more in whatever a module returns."""
    if isinstance(output, Tensor):
        return output if output.is_floating_point() and output.ndim >= 2 else None
    parts = output.values() if isinstance(output, Mapping) else output
    if isinstance(parts, (tuple, list)) or isinstance(output, Mapping):
        return next((found for part in parts if (found := first_tensor(part)) is not None), None)
    return None


def _asks_for_three(function: Callable) -> bool:
    """Whether the call needs (query, key, value), as nn.MultiheadAttention does."""
    try:
        known = inspect.signature(function.forward if isinstance(function, nn.Module) else function)
    except (TypeError, ValueError):  # a function written in C tells nothing
        return False
    needed = [name for name, p in known.parameters.items() if p.default is p.empty and p.kind < 2]
    return len(needed) == 3 and needed[1][0] == "k" and needed[2][0] == "v"
