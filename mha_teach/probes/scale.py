"""By what does an attention function multiply q·k? Read off from outside, at several widths and head counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from mha_teach.probes.harness import first_tensor
from mha_teach.shapes import Tensor

LAWS: dict[str, Callable[[int, int, int], float]] = {
    "1/√d_k": lambda d_k, h, n: d_k**-0.5,
    "1": lambda d_k, h, n: 1.0,
    "1/d_k": lambda d_k, h, n: 1 / d_k,
    "1/√(h · d_k)": lambda d_k, h, n: (h * d_k) ** -0.5,
    "√d_k": lambda d_k, h, n: d_k**0.5,
    "1/√n": lambda d_k, h, n: n**-0.5,
    "0": lambda d_k, h, n: 0.0,
}
WORDS = {
    "1/√d_k": "q·k is divided by √d_k, as it should be.",
    "1": "q·k is not scaled: its spread grows with √d_k, and the softmax saturates.",
    "1/d_k": "q·k is divided by d_k, that is by √d_k twice: the weights are too even.",
    "1/√(h · d_k)": "q·k is divided by the root of the full width h · d_k instead of one head's: the weights are too even.",
    "√d_k": "q·k is multiplied by √d_k instead of divided.",
    "1/√n": "q·k is divided by the root of the number of keys: the scale took the size of the wrong axis.",
    "0": "The weights don't react to q·k: no softmax over the keys made them.",
    "": "The factor follows none of the known rules: {factors}.",
}


@dataclass(frozen=True)
class ScaleLaw:
    """The factor in front of q·k. True in a condition when it is 1/√d_k. ``factors``: (d_k, num_heads, keys) → factor."""

    law: str
    factors: dict[tuple[int, int, int], float]

    def __bool__(self) -> bool:
        return self.law == "1/√d_k"

    def __str__(self) -> str:
        listed = ", ".join(
            f"{f:.3g} at d_k {d}, {h} heads, {n} keys" for (d, h, n), f in self.factors.items()
        )
        return WORDS[self.law].format(factors=listed)

    __repr__ = __str__


def scale_law(
    attention: Callable[[Tensor, Tensor, Tensor], Tensor | tuple[Tensor, ...]],
    sizes: tuple[tuple[int, int, int], ...] = ((5, 2, 3), (11, 3, 7), (23, 2, 11)),
) -> ScaleLaw:
    """Find c in ``weights = softmax(c · q·k)`` from outside.

    ``attention(q, k, v)`` takes (1, head, query, d_k) and returns the heads' output, or a tuple that begins with it.
    One key has q·k = 1 and the others 0; the values are one-hot, so the output shows the weights, and
    ``c = log w_0 − log w_1``. Several (d_k, num_heads, keys) tell the rules apart, which one size can't: at d_k = 1
    nothing is wrong. Raises ``ValueError`` where the output isn't (1, head, 1, keys). Taught in chapters 02 and 03.
    """
    if any(min(at) < 1 or at[2] < 2 for at in sizes):
        raise ValueError(
            f"sizes holds {sizes}; each is (d_k, num_heads, keys), with 2 keys at least to compare"
        )
    factors = {}
    for d_k, num_heads, keys in sizes:
        q, k = torch.zeros(1, num_heads, 1, d_k), torch.zeros(1, num_heads, keys, d_k)
        q[..., 0] = k[..., 0, 0] = 1.0
        v = torch.eye(keys).expand(1, num_heads, keys, keys)
        with torch.no_grad():
            out = first_tensor(attention(q.double(), k.double(), v.double()))
        if out is None or tuple(out.shape) != (1, num_heads, 1, keys):
            found = None if out is None else tuple(out.shape)
            raise ValueError(
                f"the function returned {found} for q {tuple(q.shape)} and v {tuple(v.shape)}; "
                f"scale_law needs the heads' output {(1, num_heads, 1, keys)}, before they are merged"
            )
        weights = out[0, 0, 0]
        factors[d_k, num_heads, keys] = float((weights[0] / weights[1]).log())
    fits = (name for name, law in LAWS.items() if all(_close(c, law(*at)) for at, c in factors.items()))
    return ScaleLaw(next(fits, ""), factors)


def _close(found: float, expected: float) -> bool:
    return math.isfinite(found) and math.isclose(found, expected, rel_tol=1e-3, abs_tol=1e-9)
