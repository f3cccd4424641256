"""Exact bounds on a task's score for someone who knows answers only as unordered bags (chapter 01)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator


def bag_score(values: int, roles: int, bags: int = 1) -> float:
    """Best expected score of someone who knows only ``bags`` unordered bags of the ``roles`` answers.

    The answers are independent and uniform over ``values``; bag *i* holds the answers of its own group of roles.
    Within a group of g roles the best guess is the value that is most frequent in the bag, and it is right for
    ``E[largest count]`` of the g roles. Exact: it counts all cases. Chapter 01, "In symbols".
    """
    if not 1 <= bags <= roles:
        raise ValueError(
            f"bags={bags} must lie in 1…roles={roles}: a bag holds the answers of at least one role"
        )

    def right(group: int) -> float:
        total = 0.0
        for counts in _partitions(group):
            ways = math.factorial(group) / math.prod(map(math.factorial, counts))
            kinds = math.perm(values, len(counts)) / math.prod(map(math.factorial, Counter(counts).values()))
            total += max(counts) * ways * kinds / values**group
        return total

    best = 0.0
    for sizes in _partitions(roles):
        if len(sizes) == bags:
            best = max(best, sum(map(right, sizes)) / roles)
    return best


def draw_score(values: int, roles: int, bags: int = 1) -> float:
    """Expected score when each answer is drawn at random from its bag: ``(b + (r − b) / V) / r``.

    It does not depend on how the roles are shared out over the bags. For one or two roles to a bag it equals
    :func:`bag_score`; with more, naming the most frequent value is a little better than drawing.
    """
    return (bags + (roles - bags) / values) / roles


def _partitions(n: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Ways to write n as a sum of falling positive integers."""
    if n == 0:
        yield ()
    for first in range(min(n, largest or n), 0, -1):
        for rest in _partitions(n - first, first):
            yield (first, *rest)
