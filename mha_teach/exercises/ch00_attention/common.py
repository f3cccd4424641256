"""What several exercises of chapter 00 draw and read."""

from __future__ import annotations

from mha_teach.exercises.draw import Draw

QKV = ("q", "k", "v")


def qkv(draw: Draw, *lead: int, d_k: int = 1) -> tuple:
    """5 queries, 7 keys, values 2 wide. With d_k = 1 every usual scale is 1, so that only one point tests the scale."""
    return draw.normal(*lead, 5, d_k), draw.normal(*lead, 7, d_k), draw.normal(*lead, 7, 2)
