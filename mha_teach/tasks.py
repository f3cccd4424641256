"""Small tasks whose answer, and whose best score without separate roles, are known (chapters 01 and 02).

Every task draws endless fresh data: items to look at, queries that ask, and for each query ``roles`` answers.
A seed fixes a task's world (its linear maps) and its stream of batches, whatever other seeds run beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch

from mha_teach.bounds import bag_score, draw_score
from mha_teach.shapes import Float, Int, Tensor

__all__ = [
    "Batch",
    "FixedOffsets",
    "KeyedLookups",
    "Lookups",
    "NearestNeighbour",
    "Task",
    "TwoNoisyLookups",
    "bag_score",
    "draw_score",
]

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
        worlds = [self.world(_generator(seed, 0)) for seed in seeds]
        maps = [torch.stack(group) for group in zip(*worlds, strict=True)]
        sources = [_generator(seed, {"train": 1, "test": 2}[split]) for seed in seeds]
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


def _generator(seed: int, stream: int) -> torch.Generator:
    return torch.Generator().manual_seed((int(seed) * 8 + stream) * 2_654_435_761 % 2**63)


def _mix(source: torch.Generator, d_in: int, d_out: int) -> Float[Tensor, "d_in d_out"]:
    """A random linear map; while d_in ≤ d_out its rows are orthonormal, so it keeps lengths and loses nothing."""
    side = max(d_in, d_out)
    return torch.linalg.qr(torch.randn(side, side, generator=source)).Q[:d_in, :d_out].contiguous()


def _apply(x: Float[Tensor, "seed batch n d_in"], m: Float[Tensor, "seed d_in d_out"]) -> Tensor:
    """One matrix product per seed."""
    return (x.flatten(1, 2) @ m).unflatten(1, x.shape[1:3])


@dataclass(frozen=True)
class Lookups(Task):
    """Find ``roles`` items by their (noisy) keys and name the value of each.

    An item is a linear map of [a fresh random key, the one-hot of its value (of height 2)]; a query is a linear map of
    ``roles`` keys of different items, each with Gaussian noise of standard deviation ``noise``.
    """

    roles: int = 2
    values: int = 16
    items: int = 16
    key_dim: int = 32
    noise: float = 0.7
    queries: int = 4
    d_model: int = 64

    def __post_init__(self) -> None:
        if not 1 <= self.roles <= self.items:
            raise ValueError(
                f"roles={self.roles} different items cannot be asked for among items={self.items}: "
                f"take roles ≤ items"
            )

    def world(self, source: torch.Generator) -> list[Tensor]:
        return [
            _mix(source, self.key_dim + self.values, self.item_dim),
            _mix(source, self.key_dim * self.roles, self.query_dim),
        ]

    def draw(self, source: torch.Generator, shape: tuple[int, ...]) -> list[Tensor]:
        return [
            torch.randn(*shape, self.items, self.key_dim, generator=source),
            torch.randint(self.values, (*shape, self.items), generator=source),
            torch.rand(*shape, self.queries, self.items, generator=source).topk(self.roles).indices,
            torch.randn(*shape, self.queries, self.roles, self.key_dim, generator=source),
        ]

    def compose(self, maps: list[Tensor], raw: list[Tensor]) -> Batch:
        keys, values, asked, noise = raw
        names = torch.nn.functional.one_hot(values, self.values) * LOUD
        items = _apply(torch.cat([keys, names], -1), maps[0])
        flat = asked.flatten(2)  # (seed, batch, query · role)
        found = keys.gather(2, flat[..., None].expand(-1, -1, -1, self.key_dim))
        cue = found.view_as(noise) + self.noise * noise
        return Batch(items, _apply(cue.flatten(3), maps[1]), values.gather(2, flat).view_as(asked), asked)


@dataclass(frozen=True)
class TwoNoisyLookups(Lookups):
    """Two look-ups per query with noisy keys: chapter 01's centrepiece. ``TwoNoisyLookups(roles=1)`` asks once.

    ``.bag`` is 1/16 + 15/16 · 1/2 = .531: the two values are known, but not which is whose.
    """


@dataclass(frozen=True)
class KeyedLookups(Lookups):
    """Four look-ups per query with clean keys and 32 values: a staircase in the number of heads (chapter 01).

    Someone with one bag of the four values scores .273 by drawing from it (:func:`draw_score`) and .295 by
    naming the most frequent one (``.bag``). With two bags, as two heads give them, it is .516 and .523.
    """

    roles: int = 4
    values: int = 32
    key_dim: int = 16
    noise: float = 0.0


@dataclass(frozen=True)
class NearestNeighbour(Lookups):
    """One look-up by the nearest of 16 keys in ``dim`` dimensions: one role, but a score of high rank.

    Item and query reach the model unmixed, [key, one-hot of the value] and the noisy key, so nothing is squeezed
    before the heads do it.
    """

    roles: int = 1
    dim: int = 64
    noise: float = 1.0

    @property
    def item_dim(self) -> int:
        return self.dim + self.values

    @property
    def query_dim(self) -> int:
        return self.dim

    def world(self, source: torch.Generator) -> list[Tensor]:
        return [torch.eye(self.item_dim), torch.eye(self.query_dim)]

    def __post_init__(self) -> None:
        object.__setattr__(self, "key_dim", self.dim)
        super().__post_init__()


@dataclass(frozen=True)
class FixedOffsets(Task):
    """Self-attention: at every position name the tokens that stand at fixed distances (round a ring).

    A position is a linear map of [one-hot of its token, one-hot of its place].
    """

    offsets: tuple[int, ...] = (-1, 5, -3, 2)
    values: int = 16
    length: int = 16
    d_model: int = 64
    self_attention: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len({o % self.length for o in self.offsets}) < len(self.offsets):
            raise ValueError(
                f"offsets {self.offsets} fall on the same place of a ring of length={self.length}: "
                f"take offsets that differ modulo the length"
            )

    @property
    def roles(self) -> int:
        return len(self.offsets)

    def world(self, source: torch.Generator) -> list[Tensor]:
        return [_mix(source, self.values + self.length, self.d_model)]

    def draw(self, source: torch.Generator, shape: tuple[int, ...]) -> list[Tensor]:
        return [torch.randint(self.values, (*shape, self.length), generator=source)]

    def compose(self, maps: list[Tensor], raw: list[Tensor]) -> Batch:
        (tokens,) = raw
        names = torch.nn.functional.one_hot(tokens, self.values).float()
        places = torch.eye(self.length).expand(*tokens.shape, -1)
        x = _apply(torch.cat([names, places], -1), maps[0])
        targets = torch.stack([tokens.roll(-o, -1) for o in self.offsets], -1)
        places = torch.arange(self.length)[:, None] + torch.tensor(self.offsets)
        return Batch(x, x, targets, (places % self.length).expand_as(targets))
