"""Reproducible random inputs for test points."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from typing import TypeVar

import torch

from mha_teach.shapes import Tensor

T = TypeVar("T")


class Draw:
    """Numbers from one seed and one name; the same pair gives the same numbers, on every machine.

    A test point takes a ``Draw`` and returns the arguments of the answer. Another seed gives another
    student other numbers.
    """

    def __init__(self, seed: int, name: str) -> None:
        # torch's generator on the CPU reads 32 bits of its seed and no more; seed 0 leaves the name's as they are
        own = zlib.crc32(name.encode()) ^ (seed * 0x9E3779B1 % 2**32)
        self._name, self._picks = f"{seed}/{name}", 0
        self.generator = torch.Generator().manual_seed(own)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Standard normal numbers of this shape."""
        return torch.randn(*shape, generator=self.generator).to(dtype)

    def uniform(self, low: float, high: float) -> float:
        """One number between ``low`` and ``high``."""
        return low + (high - low) * torch.rand((), generator=self.generator, dtype=torch.float64).item()

    def integer(self, low: int, high: int) -> int:
        """One whole number from ``low`` to ``high``, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def mask(self, *shape: int, share: float = 0.6) -> Tensor:
        """Booleans, True with probability ``share``; each row keeps at least its first entry."""
        mask = torch.rand(*shape, generator=self.generator) < share
        mask[..., 0] = True
        return mask

    def pick(self, options: Sequence[T]) -> T:
        """One of ``options``. No version of torch has a say in it: the prompt that shows the number was printed elsewhere."""
        self._picks += 1
        digest = hashlib.sha256(f"{self._name}/{self._picks}".encode()).digest()
        return options[int.from_bytes(digest[:8], "big") % len(options)]
