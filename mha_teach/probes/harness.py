"""Call any module or function the same way twice: random draws held fixed, batch norm on fixed statistics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from mha_teach.shapes import Bool, Tensor

NAMES = ("query", "key", "value")
APART = 0x5EED_CAFE  # the caller's own manual_seed(0) would draw the very numbers that were given: no change at all


class FixedStatistics(TorchFunctionMode):
    """Batch norm that would use the batch's statistics uses running ones instead, and is counted; so is RReLU.

    RReLU draws a slope for each negative number alone, so that one number's sign would shift all later draws: here it
    draws for every number. Batch norm only where eval mode does the same: without running statistics, or in a module that is in eval mode already, the
    samples are mixed for good, and that counts as a leak.
    """

    def __init__(self, modules: list[nn.Module]) -> None:
        super().__init__()
        self.seen: set[Callable] = set()
        self.modules = modules

    def excused(self, mean: Tensor | None) -> bool:
        owner = next((m for m in self.modules if any(mean is b for b in m._buffers.values())), None)
        return mean is not None and (owner is None or owner.training)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is F.batch_norm:
            given = inspect.signature(F.batch_norm).bind(*args, **kwargs)
            given.apply_defaults()
            if given.arguments["training"] and self.excused(given.arguments["running_mean"]):
                self.seen.add(func)
                given.arguments["training"] = False
                return func(*given.args, **given.kwargs)
        if func is F.rrelu:
            given = inspect.signature(F.rrelu).bind(*args, **kwargs)
            given.apply_defaults()
            x, low, high, training, inplace = given.args
            if training:
                self.seen.add(func)
                slope = torch.rand_like(x) * (high - low) + low
                return x.mul_(torch.where(x < 0, slope, 1.0)) if inplace else torch.where(x < 0, x * slope, x)
        return func(*args, **kwargs)


class Harness:
    """A function with its inputs: tied inputs stay tied, buffers are restored, every call draws the same numbers.

    The function gets copies, so a module that works in place changes nothing of the caller's. Where ``real`` is
    False, over the leading axes of the output, the output counts as 0: nobody reads what filler puts out.
    """

    def __init__(
        self,
        function: Callable,
        given: tuple[Tensor | None, ...],
        options: dict,
        seed: int,
        real: Bool[Tensor, "*leading"] | None = None,
    ) -> None:
        query, key, value = given
        for name, x in zip(NAMES, given, strict=True):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"{name} is {type(x).__name__}; give a tensor: settings such as a mask go by keyword"
                )
            if x is not None and (not x.numel() or x.is_complex()):
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)} and holds {x.dtype}; a probe changes real numbers or ids: "
                    "give at least one on every axis"
                )
        if value is not None and key is None:
            raise ValueError("value is given without key: give both, or the query alone")
        self.function, self.options, self.seed, self.real = function, options, seed, real
        if key is None:
            arguments = [query] * (3 if _asks_for_three(function, options) else 1)
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
        self.shape: torch.Size | None = None  # of the output, when nothing is changed
        scan = FixedStatistics(self.modules)
        with scan, torch.no_grad():
            self._call(self.inputs, seed)
        self.held = scan.seen  # only then the mode stays on: it switches torch's fast paths off

    def __call__(self, inputs: list[Tensor] | None = None, seed: int | None = None) -> Tensor:
        with ExitStack() as stack:
            if self.held:
                stack.enter_context(FixedStatistics(self.modules))
            return self._call(self.inputs if inputs is None else inputs, self.seed if seed is None else seed)

    def _call(self, inputs: list[Tensor], seed: int) -> Tensor:
        device = inputs[0].device
        fork = {"devices": []} if device.type == "cpu" else {"devices": [device], "device_type": device.type}
        given = [x.clone() for x in inputs]
        options = {name: x.clone() if isinstance(x, Tensor) else x for name, x in self.options.items()}
        with torch.random.fork_rng(**fork), kept_buffers(self.modules):
            torch.manual_seed(seed)
            output = first_tensor(self.function(*(given[slot] for slot in self.slots), **options))
            output = (
                None if output is None else output.clone()
            )  # the module may hand out the same memory again
        if output is None:
            raise TypeError(
                "the module returned no floating-point tensor with two axes or more: nothing to probe"
            )
        self.shape = output.shape if self.shape is None else self.shape
        if output.shape != self.shape:
            raise ValueError(
                f"one call returned shape {tuple(self.shape)}, another {tuple(output.shape)}, for inputs of equal shape: "
                "a module that keeps a cache needs a wrapper that empties it, and one that cuts off filler "
                "(a TransformerEncoder's nested tensors) an input with one full sample"
            )
        return output if self.real is None else output.masked_fill(~self._real(output), 0.0)

    def _real(self, output: Tensor) -> Tensor:
        real = self.real
        if (
            not isinstance(real, Tensor)
            or real.dtype != torch.bool
            or real.shape != output.shape[: real.ndim]
        ):
            found = (
                f"{real.dtype} of shape {tuple(real.shape)}"
                if isinstance(real, Tensor)
                else type(real).__name__
            )
            raise ValueError(
                f"real is {found} and the output has shape {tuple(output.shape)}: give booleans over its leading axes, "
                "True where there is a real token"
            )
        return real.to(output.device).view(*real.shape, *[1] * (output.ndim - real.ndim))

    def generator(self) -> torch.Generator:
        """The same numbers in every probe, and unlike the caller's."""
        return torch.Generator().manual_seed(self.seed + APART)

    def random_modules(self) -> list[str]:
        """Names of the kinds of modules that drop at random right now."""
        found = {
            type(m).__name__
            for m in self.modules
            if m.training
            and (getattr(m, "p", 0) or 0 if isinstance(m, nn.modules.dropout._DropoutNd) else 0)
            or (m.training and isinstance(m, nn.MultiheadAttention) and m.dropout > 0)
            or (m.training and isinstance(m, nn.RReLU))
        }
        return sorted(found)


@contextmanager
def kept_buffers(modules: list[nn.Module]) -> Iterator[None]:
    """Buffers are afterwards what they were, also those that were replaced by another tensor."""
    before = [
        (m, name, b, None if b is None else b.detach().clone())
        for m in modules
        for name, b in m._buffers.items()
    ]
    try:
        yield
    finally:
        with torch.no_grad():
            for m, name, buffer, copy in before:
                m._buffers[name] = buffer
                if buffer is not None and buffer.grad_fn is not None and not buffer._is_view():
                    buffer.detach_()  # written to in place while gradients were recorded
                if buffer is not None and buffer.shape != copy.shape:
                    buffer.resize_(copy.shape)
                if buffer is not None and not torch.equal(buffer, copy):
                    buffer.copy_(copy)


def first_tensor(output: object) -> Tensor | None:
    """The first floating-point tensor with two axes or more in whatever a module returns."""
    if isinstance(output, Tensor):
        return output if output.is_floating_point() and output.ndim >= 2 else None
    parts = output.values() if isinstance(output, Mapping) else output
    if isinstance(parts, (tuple, list)) or isinstance(output, Mapping):
        return next((found for part in parts if (found := first_tensor(part)) is not None), None)
    return None


def _asks_for_three(function: Callable, options: dict) -> bool:
    """Whether the call needs (query, key, value), as nn.MultiheadAttention does."""
    try:
        function = getattr(function, "_orig_mod", function)  # a compiled module hides what it takes
        known = inspect.signature(function.forward if isinstance(function, nn.Module) else function)
    except (TypeError, ValueError):  # a function written in C tells nothing
        return False
    needed = [
        n for n, p in known.parameters.items() if p.default is p.empty and p.kind < 2 and n not in options
    ]
    return len(needed) == 3 and needed[1][0] == "k" and needed[2][0] == "v"
