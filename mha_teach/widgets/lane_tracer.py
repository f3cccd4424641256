"""Lane tracer: every number keeps its address while a tensor is split into heads and merged again (chapter 03)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, NamedTuple

import torch

from mha_teach import masking, reshaping
from mha_teach.attention import attend
from mha_teach.probes import Leak, batch_leak, causal_leak
from mha_teach.reshaping import merge_heads, split_heads, trace_origin
from mha_teach.shapes import Float, Int, Tensor
from mha_teach.widgets import pictures, static
from mha_teach.widgets.base import Choice, Problem, Widget, judged
from mha_teach.widgets.draws import normals

SIZES = ("batch", "positions", "num_heads", "d_k")


class Path(NamedTuple):
    """One way through: the view, the whole split, the merge; ``roles`` 3 where the input is the fused [Q | K | V]."""

    view: Callable[..., Tensor]  # (x, B, T, h, d_k)
    split: Callable[[Tensor, int], Tensor | tuple[Tensor, ...]]
    merge: Callable[[Tensor, int], Tensor]  # (out, T)
    causal: bool = True
    roles: int = 1


def _merge(out: Tensor, _: int) -> Tensor:
    return merge_heads(out)


def _lanes(x: Tensor, b: int, t: int, h: int, d: int) -> Tensor:
    return x.view(b, t, h, d)


PATHS = {
    "right": Path(_lanes, split_heads, _merge),
    "split_by_view": Path(lambda x, b, t, h, d: x.view(b, h, t, d), reshaping.split_by_view, _merge),
    "split_swapped": Path(lambda x, b, t, h, d: x.view(t, b, h, d), reshaping.split_swapped, _merge),
    # Its scores are (B, T, h, h): a causal mask of T × T doesn't fit them.
    "split_untransposed": Path(
        _lanes, reshaping.split_untransposed, reshaping.merge_untransposed, causal=False
    ),
    "merge_untransposed": Path(_lanes, split_heads, reshaping.merge_untransposed),
    "split_interleaved": Path(
        lambda x, b, t, h, d: x.view(b, t, h, 3, d), reshaping.split_interleaved, _merge, roles=3
    ),
}


def parts_of(path: Path, x: Tensor, num_heads: int) -> tuple[Tensor, ...]:
    """What attention reads: one tensor that stands for q, k and v alike, or the three of the fused input."""
    found = path.split(x, num_heads)
    return found if isinstance(found, tuple) else (found,)


def attention(name: str, width: int, num_heads: int) -> Callable[[Tensor], Tensor]:
    """A whole causal self-attention with fixed weights that splits and merges as the path ``name`` does."""
    path = PATHS[name]
    weights = normals(0, 2, 3 * width * width).view(3, width, width)

    def run(x: Float[Tensor, "batch position width"]) -> Float[Tensor, "batch position width"]:
        projected = [x @ w.to(x) for w in weights]
        if path.roles == 3:
            q, k, v = path.split(torch.cat(projected, -1), num_heads)
        else:
            q, k, v = (path.split(part, num_heads) for part in projected)
        mask = masking.causal(q.shape[-2], device=x.device) if path.causal else None
        return path.merge(attend(q, k, v, mask)[0], x.shape[1])

    return run


class LaneTracer(Widget):
    """Follows B · T · h · d_k numbers along ``path`` (a key of ``PATHS``), up to ``step`` 1 … 5.

    Pairs are counted by `probes.causal_leak` and `probes.batch_leak` on a whole self-attention that splits and merges in
    this way, addresses by `reshaping.trace_origin`. A page without a kernel counts the same by index arithmetic.
    """

    NAME = "lane_tracer"
    SHOWN = ("step",)
    CHOICES: ClassVar = {
        "batch": 2,
        "positions": 3,
        "num_heads": 2,
        "d_k": 2,
        "path": "right",
        "step": 5,
    }
    STATIC: ClassVar = {
        **{name: [1, 5, 1] for name in (*SIZES, "step")},
        "numbers": [1, 150],
    }
    LIVE: ClassVar = STATIC

    batch = Choice(2).tag(sync=True)
    positions = Choice(3).tag(sync=True)
    num_heads = Choice(2).tag(sync=True)
    d_k = Choice(2).tag(sync=True)
    path = Choice("right").tag(sync=True)
    step = Choice(5).tag(sync=True)
    _admit = judged(CHOICES)

    @classmethod
    def misfit(cls, choices: dict, limits: dict, words: dict) -> Problem | None:
        path = choices["path"]
        if not isinstance(path, str) or path not in PATHS:
            label = words["field_names"]["path"]
            return "path", words["choose"].format(label=label, options=", ".join(PATHS))
        sizes, most = [int(choices[name]) for name in SIZES], limits["numbers"][1]
        count = PATHS[path].roles * torch.Size(sizes).numel()
        if count <= most:
            return None
        said = words["too_many_fused" if PATHS[path].roles == 3 else "too_many"]
        return SIZES[sizes.index(max(sizes))], said.format(all=count, most=most)

    @classmethod
    def compute(cls, choices: dict, device: str = "cpu", dtype: torch.dtype = torch.float32) -> dict:
        sizes = tuple(int(choices[size]) for size in SIZES)
        return _computed(choices["path"], sizes, device, dtype)

    @classmethod
    def picture(cls, choices: dict) -> tuple[str, str, str]:
        found, words = cls.compute(choices), static.words(cls.NAME)
        b, t, h, d = (int(choices[size]) for size in SIZES)
        home = b * t * h * d - found["trace"]["merged"]["any"]
        values = {"B": b, "T": t, "h": h, "d": d, "all": b * t * h * d, "home": home}
        values["path"] = dict(words["paths"])[choices["path"]]
        shown = [found["steps"][at] for at in (0, 2, 3)]
        svg = pictures.lanes(shown, (b, t, h, d), words["picture_titles"])
        return svg, words["picture_alt"].format(**values), words["picture_caption"].format(**values)


@lru_cache(maxsize=64)
def _computed(name: str, sizes: tuple[int, int, int, int], device: str, dtype: torch.dtype) -> dict:
    # The probes run the attention some twenty times, and a slider comes back to where it was.
    path, (b, t, h, d) = PATHS[name], sizes
    x = torch.arange(path.roles * b * t * h * d, device=device).view(b, t, -1)
    parts = parts_of(path, x, h)
    out = parts[-1].clone(memory_format=torch.contiguous_format)  # as attention's own output lies
    merged = path.merge(out, t)
    probe = normals(0, 1, b * t * h * d).view(b, t, -1).to(device, dtype)
    run, right = attention(name, h * d, h), attention("right", h * d, h)
    return {
        **dict(zip(SIZES, sizes, strict=True)),
        "path": name,
        "steps": [told(x), told(path.view(x, *sizes)), told(*parts), told(merged)],
        "copied": merged.data_ptr() != out.data_ptr(),
        "causal": leak(causal_leak, run, probe, t),
        "foreign": leak(batch_leak, run, probe, b),
        "trace": trace(path, *sizes),
        "equal": bool((run(probe) - right(probe)).abs().max() < 1e-4),
    }


def told(*parts: Int[Tensor, "*axes"]) -> dict:
    """Shape and strides as torch has them, and the numbers in the order in which their indices count."""
    ids = torch.cat([part.flatten() for part in parts]).tolist()
    first = parts[0]
    return {
        "shape": list(first.shape),
        "strides": list(first.stride()),
        "contiguous": first.is_contiguous(),
        "ids": ids,
    }


def leak(probe: Callable[..., Leak], run: Callable, x: Tensor, size: int) -> dict:
    """What a leak probe says: the forbidden pairs (output, input) that it found, and how many it looked at."""
    if size < 2:  # the probe refuses: nobody else is there
        return {"asked": False, "pairs": [], "forbidden": 0, "silent": False}
    found = probe(run, x)
    pairs = sorted([pair.output, pair.input] for pair in found.pairs)
    return {"asked": True, "pairs": pairs, "forbidden": found.forbidden, "silent": found.silent}


def trace(path: Path, b: int, t: int, h: int, d: int) -> dict:
    """How many numbers `trace_origin` finds under a wrong address: where attention reads them, and at the end."""

    def count(origins: tuple, roles: range, axes: str) -> dict:
        wrong = {}
        for role, origin in zip(roles, origins, strict=True):
            off = {"role": origin.role != role} if path.roles == 3 else {}
            for axis, name in enumerate(axes.split()):
                label = getattr(origin, name).movedim(axis, -1)
                off[name] = (label != torch.arange(label.shape[-1])).movedim(-1, axis)
            off["any"] = torch.stack(list(off.values())).any(0)
            wrong = {name: wrong.get(name, 0) + int(table.sum()) for name, table in off.items()}
        return wrong

    def attended(x: Tensor) -> tuple[Tensor, ...]:
        return parts_of(path, x, h)

    def ended(x: Tensor) -> Tensor:
        return path.merge(parts_of(path, x, h)[-1], t).unflatten(-1, (h, d))

    last = 2 if path.roles == 3 else 0
    return {
        "attended": count(
            trace_origin(attended, b, t, h, d, roles=path.roles), range(path.roles), "batch head position dim"
        ),
        "merged": count(
            (trace_origin(ended, b, t, h, d, roles=path.roles),),
            range(last, last + 1),
            "batch position head dim",
        ),
    }
