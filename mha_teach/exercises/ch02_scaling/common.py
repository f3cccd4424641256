"""What several exercises of chapter 02 draw and read."""

from __future__ import annotations

from mha_teach.exercises.draw import Draw


def qk(draw: Draw, *lead: int, queries: int = 5, keys: int = 7, d_k: int = 3) -> tuple:
    return draw.normal(*lead, queries, d_k), draw.normal(*lead, keys, d_k)
