"""The factor in front of q·k (chapter 02)."""

from __future__ import annotations

from torch import Tensor

from mha_teach.clinic.fault import Fault
from mha_teach.clinic.patient import Patient


class Unscaled(Patient):
    def scale(self, q: Tensor, k: Tensor) -> float:
        return 1.0


class FullWidth(Patient):
    def scale(self, q: Tensor, k: Tensor) -> float:
        return (q.shape[1] * q.shape[-1]) ** -0.5


class ScaledTwice(Patient):
    """Once on q, as some code does, and once more on the scores."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return super().attend(q * q.shape[-1] ** -0.5, k, v, mask)


class Multiplied(Patient):
    def scale(self, q: Tensor, k: Tensor) -> float:
        return q.shape[-1] ** 0.5


class WrongAxis(Patient):
    def scale(self, q: Tensor, k: Tensor) -> float:
        return k.shape[-2] ** -0.5


FAULTS = (
    Fault(
        "no scale",
        "scale",
        Unscaled,
        "Weights are one-hot from the start with wide heads; at small d_k nothing shows.",
        "divide by √d_k",
        ("scale",),
        ("DL4Proteins-notebooks #12",),
    ),
    Fault(
        "scaled by the full width",
        "scale",
        FullWidth,
        "Weights are too even by √h; it trains, a little slower.",
        "d_k is the width of one head: q.shape[-1] after the split",
        ("scale",),
        ("ng-video-lecture #28", "ng-video-lecture #55"),
    ),
    Fault(
        "scaled twice",
        "scale",
        ScaledTwice,
        "Weights start almost uniform and sharpen late.",
        "scale either q or the scores; SDPA scales by itself",
        ("scale",),
        ("vit-pytorch #65",),
    ),
    Fault(
        "multiplied instead of divided",
        "scale",
        Multiplied,
        "The softmax is one-hot at once and its gradient nearly zero.",
        "q.shape[-1] ** -0.5",
        ("scale",),
        ("ViT-CIFAR #12",),
    ),
    Fault(
        "scaled by the number of keys",
        "scale",
        WrongAxis,
        "Sharpness changes with the length of the sequence.",
        "size(-1) of q, not size(-2) of k",
        ("scale",),
    ),
)
