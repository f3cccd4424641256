"""Arguments that are accepted and not used (chapter 05)."""

from __future__ import annotations

from torch import Tensor

from mha_teach.clinic.fault import Fault
from mha_teach.clinic.patient import Patient


class DeafToKeys(Patient):
    """All three projections read the query, so cross-attention is self-attention."""

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, query, query)


class ValuesFromKeys(Patient):
    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().project(query, key, key)


FAULTS = (
    Fault(
        "key and value ignored",
        "inputs",
        DeafToKeys,
        "Right in self-attention; a decoder never hears its encoder.",
        "project key and value, and test with three different tensors of unlike lengths",
        ("inputs",),
    ),
    Fault(
        "values taken from the keys",
        "inputs",
        ValuesFromKeys,
        "Right wherever key is value, as nearly always.",
        "project value",
        ("inputs",),
    ),
)
