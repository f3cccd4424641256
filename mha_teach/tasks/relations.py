"""Self-attention: at every position name what stands in several relations to it (chapters 01 and 06)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from mha_teach.shapes import Tensor
from mha_teach.tasks.base import Batch, Task, apply, mix


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
        return [mix(source, self.values + self.length, self.d_model)]

    def draw(self, source: torch.Generator, shape: tuple[int, ...]) -> list[Tensor]:
        return [torch.randint(self.values, (*shape, self.length), generator=source)]

    def compose(self, maps: list[Tensor], raw: list[Tensor]) -> Batch:
        (tokens,) = raw
        names = torch.nn.functional.one_hot(tokens, self.values).float()
        places = torch.eye(self.length).expand(*tokens.shape, -1)
        x = apply(torch.cat([names, places], -1), maps[0])
        targets = torch.stack([tokens.roll(-o, -1) for o in self.offsets], -1)
        places = torch.arange(self.length)[:, None] + torch.tensor(self.offsets)
        return Batch(x, x, targets, (places % self.length).expand_as(targets))


@dataclass(frozen=True)
class UnlikeRelations(Task):
    """Self-attention: at every position name the tokens that stand in four unlike relations to it.

    ``previous``: one place before, round the ring. ``first``: at place 0. ``marked``: at the one place that carries
    a mark. ``twin``: at the other place that carries the same symbol (each of length / 2 symbols stands twice).
    Two are questions of place and two of content; ``first`` and ``marked`` have one answer for all queries.
    A position is a linear map of [one-hot of its token, of its place, its mark, one-hot of its symbol].
    Raises ``ValueError`` for an odd length and for a relation that isn't one of the four. Chapter 06.
    """

    relations: tuple[str, ...] = ("previous", "first", "marked", "twin")
    values: int = 16
    length: int = 12
    d_model: int = 64
    self_attention: ClassVar[bool] = True

    def __post_init__(self) -> None:
        known = ("previous", "first", "marked", "twin")
        if unknown := set(self.relations) - set(known):
            raise ValueError(f"no relation {min(unknown)!r}: take from {', '.join(known)}")
        if self.length % 2:
            raise ValueError(
                f"length={self.length} is odd and every symbol stands twice: take an even length"
            )

    @property
    def roles(self) -> int:
        return len(self.relations)

    def world(self, source: torch.Generator) -> list[Tensor]:
        return [mix(source, self.values + self.length + 1 + self.length // 2, self.d_model)]

    def draw(self, source: torch.Generator, shape: tuple[int, ...]) -> list[Tensor]:
        return [
            torch.randint(self.values, (*shape, self.length), generator=source),
            torch.rand(*shape, self.length, generator=source).argsort(
                -1
            ),  # rank: 2s and 2s + 1 carry symbol s
            torch.randint(self.length, shape, generator=source),
        ]

    def compose(self, maps: list[Tensor], raw: list[Tensor]) -> Batch:
        tokens, rank, mark = raw
        n, one_hot = self.length, torch.nn.functional.one_hot
        places = torch.eye(n).expand(*tokens.shape, -1)
        parts = (
            one_hot(tokens, self.values),
            places,
            one_hot(mark, n)[..., None],
            one_hot(rank // 2, n // 2),
        )
        x = apply(torch.cat([part.float() for part in parts], -1), maps[0])
        place = torch.arange(n).expand_as(tokens)
        where = {
            "previous": (place - 1) % n,
            "first": torch.zeros_like(place),
            "marked": mark[..., None].expand_as(place),
            "twin": rank.argsort(-1).gather(-1, rank ^ 1),
        }
        spots = torch.stack([where[name] for name in self.relations], -1)  # (seed, batch, query, role)
        return Batch(x, x, tokens.gather(-1, spots.flatten(2)).view_as(spots), spots)
