"""Which points an answer fails by itself."""

from __future__ import annotations

from mha_teach.exercises import Verdict


def failed(verdict: Verdict) -> list[str]:
    """The points that reject the answer, in order: not those that only wait for another one to pass."""
    return [point.name for point in verdict.points if point.status != "passed" and not point.waits]
