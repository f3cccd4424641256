"""Random numbers that Python and JavaScript draw alike, bit for bit before the logarithm."""

from __future__ import annotations

import math

import torch

from mha_teach.shapes import Float, Int, Tensor

_WORD = 0xFFFFFFFF


def mix(x: Int[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
    """A 32-bit hash: neighbouring counters give unrelated words (multiply and xor-shift, twice)."""
    x = (x ^ (x >> 16)) * 0x7FEB352D & _WORD
    x = (x ^ (x >> 15)) * 0x046CA68B & _WORD
    return x ^ (x >> 16)


def normals(seed: int, stream: int, count: int, start: int = 0) -> Float[Tensor, "*count"]:
    """``count`` standard normal numbers (float64) of one stream; number i never depends on ``count``.

    Box and Muller: ``√(-2 ln u) cos(2π v)`` and the same with sin, u and v uniform on (0, 1), hashed from
    (seed, stream, counter). ``start`` must be even.
    ``core.mjs`` holds the same function, so a page without a kernel shows what torch would compute.
    """
    base = mix(torch.tensor(seed * 64 + stream))
    counter = torch.arange(start, start + count + count % 2)
    u, v = ((mix(mix(counter) ^ base).double() + 0.5) / 2**32).view(-1, 2).unbind(1)
    turn = 2 * math.pi * v
    pairs = (-2 * u.log()).sqrt()[:, None] * torch.stack([turn.cos(), turn.sin()], 1)
    return pairs.flatten()[:count]
