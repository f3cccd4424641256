"""Masks: who may look at whom (chapter 04). Here True = may look, everywhere.

``to_convention`` and ``from_convention`` turn them into other libraries' spellings and back.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mha_teach.conventions import CONVENTIONS, from_convention, sentinel, to_convention
from mha_teach.shapes import Bool, Tensor

__all__ = ["CONVENTIONS", "causal", "combine", "from_convention", "over_heads", "padding", "sentinel"]
__all__ += ["to_convention", "window"]


def causal(
    query: int, key: int | None = None, align: str | None = None, device: torch.device | str | None = None
) -> Bool[Tensor, "query key"]:
    """Query i may look at keys 0 … i: ``mask[i, j] = j ≤ i + shift``.

    With ``key`` ≠ ``query``, ``align`` says which ends meet: ``"start"`` (shift 0, torch's ``is_causal``) or
    ``"end"`` (shift key − query: the last query sees every key, as when decoding after cached keys).

    Raises ``ValueError`` where the lengths differ and ``align`` is missing, and for a length that is none.
    Taught in chapter 04.
    """
    behind = _distance(query, query if key is None else key, align, device)
    return behind >= 0


def window(
    query: int,
    back: int,
    ahead: int = 0,
    key: int | None = None,
    align: str | None = None,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "query key"]:
    """Query i may look ``back`` positions back, at itself, and ``ahead`` positions ahead: −ahead ≤ i + shift − j ≤ back.

    ``align`` as in ``causal``. Raises ``ValueError`` for a negative reach and for lengths without ``align``.
    Source: Beltagy et al. 2020, sliding window attention. Taught in chapter 04.
    """
    if isinstance(back + ahead, float) or min(back, ahead) < 0:
        raise ValueError(
            f"back = {back} and ahead = {ahead}; a reach is a whole number, 0 or more. To look less far, add masks."
        )
    behind = _distance(query, query if key is None else key, align, device)
    return (behind <= back) & (behind >= -ahead)


def padding(
    lengths: Sequence[int] | Tensor, key: int | None = None, side: str = "right"
) -> Bool[Tensor, "batch 1 key"]:
    """Nobody may look at filler: sample b has ``lengths[b]`` real keys, then filler up to ``key`` (default: the longest).

    ``side`` is where the filler stands, ``"right"`` or ``"left"``. The query axis is 1: the same for every query.
    Raises ``ValueError`` where a length lies outside 0 … key and for another side. Taught in chapter 04.
    """
    lengths = torch.as_tensor(lengths)
    if lengths.dim() != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool or not len(lengths):
        raise ValueError(
            f"lengths has shape {tuple(lengths.shape)} and holds {lengths.dtype}; it needs one whole number per "
            "sample. From tokens: (tokens != pad).sum(-1)."
        )
    key = int(lengths.max()) if key is None else key
    if int(lengths.min()) < 0 or int(lengths.max()) > key:
        raise ValueError(
            f"lengths go from {int(lengths.min())} to {int(lengths.max())} and there are {key} keys; "
            "a length lies between 0 and key. Cut the longest, or raise key."
        )
    if side not in ("right", "left"):
        raise ValueError(f"side is {side!r}; filler stands at the 'right' or at the 'left'.")
    place = torch.arange(key, device=lengths.device)
    place = place if side == "right" else place.flip(0)
    return (place < lengths[:, None])[:, None, :]


def combine(*masks: Tensor) -> Tensor:
    """May look = every mask allows it: ``mask_1 & mask_2 & …``, axes of size 1 repeated.

    Shapes: (query, key), (batch, query, key), (batch, head, query, key); beside one with a head axis, a mask of
    three axes gets one of size 1, so that a batch never lands on the heads.
    Raises ``TypeError`` for what is no boolean tensor, ``ValueError`` where shapes or devices don't fit. Taught in chapter 04.
    """
    if not masks:
        raise ValueError("combine got 0 masks; give at least 1.")
    for mask in masks:
        if not isinstance(mask, torch.Tensor):
            raise TypeError(
                f"combine got {type(mask).__name__}; give tensors one by one, combine(a, b), and leave None out."
            )
        if mask.device != masks[0].device:
            raise ValueError(
                f"masks lie on {masks[0].device} and on {mask.device}; move one with .to(device)."
            )
        if mask.dtype != torch.bool:
            raise TypeError(
                f"a mask holds {mask.dtype}; combine takes booleans, True = may look. "
                "from_convention(mask, ...) reads others."
            )
        if not 2 <= mask.dim() <= 4:
            raise ValueError(
                f"a mask has shape {tuple(mask.shape)}; it needs 2 to 4 axes, (query, key) last."
            )
    rank = max(mask.dim() for mask in masks)
    whole = masks[0]
    for mask in masks:
        other = mask.unsqueeze(1) if rank == 4 and mask.dim() == 3 else mask
        whole = whole.unsqueeze(1) if rank == 4 and whole.dim() == 3 else whole
        try:
            whole = whole & other
        except RuntimeError:
            raise ValueError(
                f"masks of shapes {tuple(whole.shape)} and {tuple(mask.shape)} don't fit; each axis must be equal or 1. "
                "A mask of keys per sample is mask[:, None, :]."
            ) from None
    return whole


def over_heads(mask: Tensor, scores: tuple[int, ...]) -> Tensor:
    """The mask with a head axis where it lacks one, so that it broadcasts to ``scores`` = (*batch, head, query, key).

    (query, key) stays; (*batch, query, key) becomes (*batch, 1, query, key); (*batch, head, query, key) stays.
    Raises ``ValueError`` where an axis is neither 1 nor the scores' size, ``TypeError`` for a mask of integers.
    """
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise TypeError(
            f"the mask holds {mask.dtype}, which could mean a switch or a number to add. "
            "Write mask.bool() for True = may look, or give a float mask to add."
        )
    full = mask.unsqueeze(-3) if 3 <= mask.dim() < len(scores) else mask
    sizes = [1] * (len(scores) - full.dim()) + list(
        full.shape
    )  # no zip: torch.compile traces it only from 2.5 on
    if not 2 <= full.dim() <= len(scores) or any(sizes[i] not in (1, s) for i, s in enumerate(scores)):
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)} and the scores (*batch, head, query, key) = {tuple(scores)}. "
            "Give (query, key), (*batch, query, key) or (*batch, head, query, key); an axis may be 1: "
            "a mask of keys per sample is mask[:, None, :]."
        )
    return full


def _distance(query: int, key: int, align: str | None, device: torch.device | str | None) -> Tensor:
    """How far key j lies behind query i, (query, key)."""
    if align not in (None, "start", "end"):
        raise ValueError(f"align is {align!r}; it says which ends meet: 'start' or 'end'.")
    if isinstance(query + key, float) or min(query, key) < 0:
        raise ValueError(f"query = {query} and key = {key}; a length is a whole number, 0 or more.")
    if query != key and align is None:
        raise ValueError(
            f"{query} queries and {key} keys can meet at either end. Say align='end' (the last query sees the last "
            "key, as after cached keys) or align='start' (torch's is_causal)."
        )
    shift = key - query if align == "end" else 0
    return torch.arange(query, device=device)[:, None] + shift - torch.arange(key, device=device)
