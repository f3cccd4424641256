"""Which of query, key and value does a module not listen to?"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from mha_teach.probes.harness import Harness
from mha_teach.shapes import Tensor


def ignored_inputs(
    module: nn.Module | Callable, query: Tensor, key: Tensor, value: Tensor, seed: int = 0, **options: object
) -> tuple[str, ...]:
    """Names of the inputs whose replacement changes nothing: () for an attention that uses all three.

    Each input in turn is replaced by fresh numbers while the others stay, with random draws held fixed. Give three
    different tensors, and keys of another length than the queries: a class that ignores its ``key`` and ``value``
    looks right in self-attention. ``options`` go to the module by name. Taught in chapter 05.
    """
    if query is key or key is value or query is value:
        raise ValueError(
            "query, key and value are the same tensor: give three different ones, or nothing can differ"
        )
    harness = Harness(module, (query, key, value), options, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        before = harness()
        deaf = []
        for at, (name, x) in enumerate(zip(harness.names, harness.inputs, strict=True)):
            inputs = list(harness.inputs)
            inputs[at] = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x)
            if torch.equal(harness(inputs).nan_to_num(), before.nan_to_num()):
                deaf.append(name)
    return tuple(deaf)
