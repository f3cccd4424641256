"""How other libraries write a mask, and the way there and back (the mask atlas of chapter 04)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from mha_teach.shapes import Tensor


class Convention(NamedTuple):
    """How one library writes a mask: what its entries say, and over which axes they lie."""

    entries: (
        str  # look: True = may look · block: True = may not · one: 1 = may look · add, finite: added · rule
    )
    axes: str  # scores (batch, head, query, key) · folded (batch·head, query, key) · queries (batch, query, key) · keys
    where: str


CONVENTIONS = {
    "sdpa.bool": Convention(
        "look", "scores", "torch F.scaled_dot_product_attention(attn_mask=) with booleans"
    ),
    "sdpa.float": Convention(
        "add", "scores", "torch F.scaled_dot_product_attention(attn_mask=) with numbers"
    ),
    "mha.attn_mask.bool": Convention(
        "block", "folded", "torch nn.MultiheadAttention(attn_mask=) with booleans"
    ),
    "mha.attn_mask.float": Convention(
        "add", "folded", "torch nn.MultiheadAttention(attn_mask=) with numbers"
    ),
    "mha.key_padding_mask": Convention("block", "keys", "torch nn.MultiheadAttention(key_padding_mask=)"),
    "flex.mask_mod": Convention("rule", "scores", "torch flex_attention, create_block_mask(mask_mod, ...)"),
    "additive": Convention("finite", "scores", "a finite number added to the scores, as in older code"),
    "transformers.attention_mask": Convention(
        "one", "keys", "transformers model(attention_mask=) over (batch, key)"
    ),
    "transformers.attention_mask.4d": Convention(
        "add", "scores", "transformers model(attention_mask=) with numbers over (batch, 1, query, key)"
    ),
    "keras.attention_mask": Convention("look", "queries", "keras.layers.MultiHeadAttention(attention_mask=)"),
    "jax.mask": Convention("look", "scores", "jax.nn.dot_product_attention(mask=)"),
}  # each proven by running that library's own attention


def sentinel(dtype: torch.dtype) -> float:
    """The finite stand-in for −∞: half the lowest number of ``dtype``, so that score + sentinel does not overflow.

    A row of nothing but sentinels is never NaN: finite masks hide the blind row instead of emptying it. It becomes uniform
    where rounding swallows the scores beside the sentinel; otherwise the largest masked scores win.
    Raises ``TypeError`` for a dtype that isn't floating point. Taught in chapter 04.
    """
    if not dtype.is_floating_point:
        raise TypeError(f"{dtype} holds no large negative fractions; a mask to add needs a floating dtype.")
    return torch.finfo(dtype).min / 2


def to_convention(
    mask: Tensor,
    name: str,
    scores: tuple[int, int, int, int] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor | Callable:
    """Our mask as the library of ``CONVENTIONS[name]`` wants it; ``from_convention`` is the way back.

    ``scores`` = (batch, head, query, key) fills axes of size 1 where a library repeats none. ``dtype`` is that of the
    numbers to add: −∞, or ``sentinel(dtype)`` for ``"additive"``. ``"flex.mask_mod"`` gives a function.

    Raises ``ValueError`` where the convention can't say it (a padding mask that differs between queries), where
    ``scores`` is missing or doesn't fit; ``TypeError`` for a mask that isn't boolean. Taught in chapter 04.
    """
    entries, axes, where = _convention(name)
    if mask.dtype != torch.bool or not 2 <= mask.dim() <= 4:
        raise TypeError(
            f"the mask holds {mask.dtype} in shape {tuple(mask.shape)}; it needs booleans, True = may look, over 2 to 4 "
            "axes, (query, key) last. from_convention reads others."
        )
    full = mask.unsqueeze(1) if mask.dim() == 3 else mask[(None,) * (4 - mask.dim())]
    if scores is not None:
        if any(m not in (1, s) for m, s in zip(full.shape, scores, strict=True)):
            raise ValueError(
                f"the mask is {tuple(full.shape)} over (batch, head, query, key) and the scores are {tuple(scores)}; "
                "each axis must be equal or 1. Take both from the same batch."
            )
        shared = axes == "folded" and full.shape[:2] == (1, 1)
        full = full.expand(1, 1, *scores[2:]) if shared else full.expand(scores)
    elif axes == "folded" and (mask.dim() > 2 or 1 in mask.shape):
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)}; {where} repeats no axis, so all sizes must be known. "
            "Pass scores=(batch, head, query, key)."
        )
    if axes == "folded":
        full = full[0, 0] if full.shape[:2] == (1, 1) else full.flatten(0, 1)
    elif axes in ("keys", "queries"):
        full = _same(full, 1, where)[:, 0]
        full = _same(full, 1, where)[:, 0] if axes == "keys" else full
    if entries == "rule":
        last = [size - 1 for size in full.shape]  # an axis of size 1 serves every index
        return lambda b, h, i, j: full[tuple(x.clamp(max=m) for x, m in zip((b, h, i, j), last, strict=True))]
    if entries in ("add", "finite"):
        low = -torch.inf if entries == "add" else sentinel(dtype)
        return torch.zeros(full.shape, dtype=dtype, device=full.device).masked_fill(~full, low)
    return {"look": full, "block": ~full, "one": full.long()}[entries]


def from_convention(
    mask: Tensor | Callable, name: str, scores: tuple[int, int, int, int] | None = None
) -> Tensor:
    """A library's mask as ours: boolean, True = may look, (query, key) or with batch, or batch and head, in front.

    ``scores`` = (batch, head, query, key) is needed to unfold (batch·head, query, key) and to ask a ``mask_mod``.

    Raises ``ValueError`` for numbers to add that are neither 0 nor below −10⁴: a bias is no mask, and 0/1 added
    masks nothing; ``TypeError`` for entries of another kind. Taught in chapter 04.
    """
    entries, axes, where = _convention(name)
    if scores is None and (entries == "rule" or (axes == "folded" and mask.dim() == 3)):
        raise ValueError(f"{where} doesn't tell batch from head. Pass scores=(batch, head, query, key).")
    if entries == "rule":
        grid = torch.meshgrid(*(torch.arange(size) for size in scores), indexing="ij")
        return mask(*grid).expand(scores)
    ranks = {"scores": (2, 3, 4), "folded": (2, 3), "queries": (3,), "keys": (2,)}[axes]
    if mask.dim() not in ranks:
        raise ValueError(f"the mask has shape {tuple(mask.shape)}; {where} takes {ranks} axes.")
    look = _looks(mask, entries, where)
    if axes == "keys":
        return look[:, None]
    if axes == "scores":
        return (
            look[None] if look.dim() == 3 else look
        )  # it broadcasts from the right: three axes start at the heads
    return look.unflatten(0, tuple(scores[:2])) if axes == "folded" and look.dim() == 3 else look


def _looks(mask: Tensor, entries: str, where: str) -> Tensor:
    """Entries of a library's mask → True = may look."""
    if entries in ("add", "finite"):
        if not mask.is_floating_point():
            raise TypeError(f"the mask holds {mask.dtype}; {where} needs floating point.")
        if not ((mask == 0) | (mask <= -1e4)).all():
            raise ValueError(
                f"the mask holds numbers from {mask.min():.3g} to {mask.max():.3g}; added to scores only 0 and large "
                "negative numbers switch. From 0 and 1, write mask.bool(); a bias has no boolean form."
            )
        return mask == 0
    if entries == "one":
        if not ((mask == 0) | (mask == 1)).all():
            raise ValueError(
                f"the mask holds {mask.min()} to {mask.max()}; {where} takes 1 = real and 0 = filler."
            )
        return mask.bool()
    if mask.dtype != torch.bool:
        raise TypeError(f"the mask holds {mask.dtype}; {where} needs booleans. Write mask.bool().")
    return mask if entries == "look" else ~mask


def _same(mask: Tensor, axis: int, where: str) -> Tensor:
    """The mask, if it does not change along this axis."""
    if (mask != mask.narrow(axis, 0, 1)).any():
        raise ValueError(
            f"the mask differs along an axis of size {mask.shape[axis]} that {where} does not have. "
            "Use a convention with (query, key), or split off what is padding."
        )
    return mask


def _convention(name: str) -> Convention:
    if name not in CONVENTIONS:
        raise ValueError(f"convention {name!r} is unknown; choose one of {', '.join(CONVENTIONS)}.")
    return CONVENTIONS[name]
