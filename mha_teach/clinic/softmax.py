"""A softmax over the wrong axis (chapters 00 and 04)."""

from __future__ import annotations

from torch import Tensor

from mha_teach.clinic.fault import Fault
from mha_teach.clinic.patient import Patient


class OverQueries(Patient):
    def soften(self, scores: Tensor) -> Tensor:
        return scores.softmax(-2).nan_to_num()


class OverHeads(Patient):
    def soften(self, scores: Tensor) -> Tensor:
        return scores.softmax(1).nan_to_num()


class OverAll(Patient):
    """One softmax over all pairs of a head."""

    def soften(self, scores: Tensor) -> Tensor:
        return scores.flatten(-2).softmax(-1).view(scores.shape).nan_to_num()


FAULTS = (
    Fault(
        "softmax over the queries",
        "softmax",
        OverQueries,
        "Accuracy hardly notices; columns sum to 1, and under a causal mask the past reads the future.",
        "softmax(-1): over the keys",
        ("causal", "padding", "rows", "scale"),
        ("annotated_deep_learning_paper_implementations #146", "detr #247"),
    ),
    Fault(
        "softmax over the heads",
        "softmax",
        OverHeads,
        "Heads compete for each pair, and outputs grow with the number of keys.",
        "softmax(-1): over the keys",
        ("rows", "scale"),
        ("annotated_deep_learning_paper_implementations #146",),
    ),
    Fault(
        "softmax over all pairs",
        "softmax",
        OverAll,
        "Outputs are small, smaller with length, and queries compete with each other.",
        "softmax(-1): over the keys alone",
        ("causal", "padding", "rows"),
    ),
)
