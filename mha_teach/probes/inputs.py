"""Which of query, key and value does a module not listen to?"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from mha_teach.probes.changes import difference, replacement
from mha_teach.probes.harness import Harness
from mha_teach.shapes import Tensor


def ignored_inputs(
    module: nn.Module | Callable, query: Tensor, key: Tensor, value: Tensor, seed: int = 0, **options: object
) -> tuple[str, ...]:
    """Names of the inputs whose replacement changes nothing: () for an attention that uses all three.

    Each input in turn is replaced by fresh numbers while the others stay, with random draws held fixed. Give three
    different tensors, keys of another length than the queries (a class that ignores its ``key`` and ``value`` looks
    right in self-attention), and two keys at least (a single one gets weight 1 whatever the query says).
    ``options`` go to the module by name. Raises ``ValueError`` where two of the three are one tensor, where equal
    inputs give unequal outputs, and where no output is finite: then nothing is known. Taught in chapter 05.
    """
    if query is key or key is value or query is value:
        raise ValueError(
            "query, key and value are the same tensor: give three different ones, or nothing can differ"
        )
    harness = Harness(module, (query, key, value), options, seed)
    generator = harness.generator()
    with torch.no_grad():
        before = harness()
        if float(difference(before, harness()).max()) or not before.isfinite().any():
            raise ValueError(
                "equal inputs gave unequal outputs, or none that is finite: nothing can be said. Fix the module's own "
                "random numbers (eval mode helps), and look for rows that are fully masked"
            )
        deaf = []
        for at, (name, x) in enumerate(zip(harness.names, harness.inputs, strict=True)):
            inputs = list(harness.inputs)
            inputs[at] = replacement(name, x, generator)
            if not float(difference(harness(inputs), before).max()):
                deaf.append(name)
    return tuple(deaf)
