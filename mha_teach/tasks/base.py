"""What all tasks share: a batch, and the stream of batches that a seed fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import torch

from mha_teach.bounds import bag_score
from mha_teach.shapes import Float, Int, Tensor

LOUD = 2.0  # height of a value's one-hot, so that keys (length √key_dim) do not drown it
CHUNK = 16  # steps drawn by one call of the generator; part of the definition of a seed's stream


class Batch(NamedTuple):
    """What a model sees (``items``, ``queries``), what it is asked for (``targets``), and which item holds it (``where``)."""

    items: Float[Tensor, "*seed batch key d_item"]
    queries: Float[Tensor, "*seed batch query d_query"]
    targets: Int[Tensor, "*seed batch query role"]
    where: Int[Tensor, "*seed batch query role"]


class Task:
    """What all tasks share: the stream of batches. A task defines ``world``, ``draw`` and ``compose``."""

    roles: int
    values: int
    d_model: int
    self_attention: ClassVar[bool] = False

    @property
    def item_dim(self) -> int:
        """Width of an item as the model sees it."""
        return self.d_model

    @property
    def query_dim(self) -> int:
        """Width of a query as the model sees it."""
        return self.d_model

    @property
    def chance(self) -> float:
        """Score of a guess that looks at nothing."""
        return 1 / self.values

    @property
    def bag(self) -> float:
        """Best score for someone who knows only the bag of a query's answers, not which is whose."""
        return bag_score(self.values, self.roles)

    def batches(self, seeds: Sequence[int], steps: int, batch: int, split: str = "train") -> Iterator[Batch]:
        """Yield ``steps`` batches with a leading seed axis. ``split="test"`` is a stream never trained on."""
        worlds = [self.world(generator_of(seed, 0)) for seed in seeds]
        maps = [torch.stack(group) for group in zip(*worlds, strict=True)]
        sources = [generator_of(seed, {"train": 1, "test": 2}[split]) for seed in seeds]
        for start in range(0, steps, CHUNK):
            drawn = [self.draw(source, (CHUNK, batch)) for source in sources]
            chunk = [torch.stack(group, 1) for group in zip(*drawn, strict=True)]  # (step, seed, batch, ...)
            for step in range(min(CHUNK, steps - start)):
                yield self.compose(maps, [part[step] for part in chunk])

    def world(self, source: torch.Generator) -> list[Tensor]:
        """Tensors fixed for a seed: the linear maps."""
        raise NotImplementedError

    def draw(self, source: torch.Generator, shape: tuple[int, ...]) -> list[Tensor]:
        """Raw random numbers for ``shape = (steps, batch)``."""
        raise NotImplementedError

    def compose(self, maps: list[Tensor], raw: list[Tensor]) -> Batch:
        """Turn one step's raw numbers, with leading axes (seed, batch), into a batch."""
        raise NotImplementedError


def generator_of(seed: int, stream: int) -> torch.Generator:
    return torch.Generator().manual_seed((int(seed) * 8 + stream) * 2_654_435_761 % 2**63)


def mix(source: torch.Generator, d_in: int, d_out: int) -> Float[Tensor, "d_in d_out"]:
    """A random linear map; while d_in ≤ d_out its rows are orthonormal, so it keeps lengths and loses nothing."""
    side = max(d_in, d_out)
    return torch.linalg.qr(torch.randn(side, side, generator=source)).Q[:d_in, :d_out].contiguous()


def apply(x: Float[Tensor, "seed batch n d_in"], m: Float[Tensor, "seed d_in d_out"]) -> Tensor:
    """One matrix product per seed."""
    return (x.flatten(1, 2) @ m).unflatten(1, x.shape[1:3])
