"""Find items by their keys and name their values (chapters 01 and 02)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from mha_teach.shapes import Tensor
from mha_teach.tasks.base import LOUD, Batch, Task, apply, mix


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
            mix(source, self.key_dim + self.values, self.item_dim),
            mix(source, self.key_dim * self.roles, self.query_dim),
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
        items = apply(torch.cat([keys, names], -1), maps[0])
        flat = asked.flatten(2)  # (seed, batch, query · role)
        found = keys.gather(2, flat[..., None].expand(-1, -1, -1, self.key_dim))
        cue = found.view_as(noise) + self.noise * noise
        return Batch(items, apply(cue.flatten(3), maps[1]), values.gather(2, flat).view_as(asked), asked)


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
