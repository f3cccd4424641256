"""From tokens to words, and which word depends on which (chapter 06)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch

from mha_teach.data.records import measured
from mha_teach.shapes import Float, Tensor

SPECIAL = ("[CLS]", "[SEP]", "[PAD]")


def words(tokens: Sequence[str]) -> list[list[int]]:
    """Positions of each word's pieces: a word starts at every token but ``##pieces``; [CLS] and [SEP] are no words.

    ``words(["[CLS]", "the", "lamp", "##light", "[SEP]"])`` is ``[[1], [2, 3]]``. Raises ``ValueError`` where a piece
    has no word before it. Taught in chapter 06.
    """
    found: list[list[int]] = []
    inside = False
    for place, token in enumerate(tokens):
        if token in SPECIAL:
            inside = False
        elif not token.startswith("##"):
            found.append([place])
            inside = True
        elif inside:
            found[-1].append(place)
        else:
            raise ValueError(f"token {place} is {token!r}, the rest of a word, and no word stands before it.")
    return found


def by_word(
    attention: Float[Tensor, "*head query key"], tokens: Sequence[str]
) -> Float[Tensor, "*head word word"]:
    """One sentence's attention from word to word: summed over a key word's pieces, averaged over a query word's.

    What goes to [CLS] and [SEP] is left out, so rows add up to less than 1. Filler behind the tokens is cut off.
    Raises ``ValueError`` where there are more tokens than positions. Source: Clark et al. 2019, section 4.1. Chapter 06.
    """
    if len(tokens) > attention.shape[-1]:
        raise ValueError(
            f"{len(tokens)} tokens and attention of shape {tuple(attention.shape)}; cut neither alone."
        )
    groups = words(tokens)
    member = torch.zeros(len(groups), attention.shape[-1], dtype=attention.dtype, device=attention.device)
    for word, pieces in enumerate(groups):
        member[word, pieces] = 1.0
    return (member / member.sum(-1, keepdim=True)) @ attention @ member.T


@cache
def relations() -> dict[str, dict[str, list[tuple[int, int]]]]:
    """Who depends on whom in the shipped sentences: relation → sentence → pairs of words ``(dependent, governor)``.

    ``determiner``: "the" → "cat"; ``adjective``: "red" → "ball"; ``subject`` and ``object``: noun → verb;
    ``preposition``: the noun → its preposition. Numbers count words as ``words`` does. Made by a parser
    (``measured("relations")`` says which, ``benchmarks/parse_sentences.py`` how) and not corrected. Taught in chapter 06.
    """
    record = measured("relations")
    texts = record["sentences"]
    return {
        name: {texts[int(at)]: [tuple(pair) for pair in pairs] for at, pairs in found.items()}
        for name, found in record["rows"].items()
    }
