"""English sentences, written for this book and shipped with it, so that everybody sees the same tokens (chapter 06)."""

from __future__ import annotations

import random
from importlib import resources


def sentences(count: int, seed: int = 0) -> list[str]:
    """``count`` different sentences of 8 to 25 tokens, drawn from a fixed list in an order that ``seed`` decides.

    A longer draw begins with the shorter one of the same seed. Raises ``ValueError`` beyond the list's length.
    Taught in chapter 06.
    """
    known = resources.files(__package__).joinpath("sentences.txt").read_text("utf-8").splitlines()
    if not 1 <= count <= len(known):
        raise ValueError(
            f"count is {count}; the list holds {len(known)} sentences: ask for 1 to {len(known)}."
        )
    draw = random.Random(seed)
    place = {sentence: draw.random() for sentence in known}  # random() is the same on every Python
    return sorted(known, key=place.__getitem__)[:count]
