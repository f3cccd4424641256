"""Broken attentions that run, each with its symptom, its cure, and the examinations that light up (chapter 11).

>>> from mha_teach import clinic
>>> fault = clinic.get("masked after the softmax")
>>> clinic.examine(fault.build())["causal"].lit
True

One file a family. A fault is a `Patient` with one step overridden; a test holds each to ``found_by`` exactly.
"""

from __future__ import annotations

from mha_teach.clinic import dropout, inputs, mask, reshape, scale, softmax
from mha_teach.clinic.exams import EXAMS, Finding, examine
from mha_teach.clinic.fault import Fault
from mha_teach.clinic.patient import Patient

FAULTS: tuple[Fault, ...] = tuple(
    fault for family in (reshape, scale, mask, softmax, dropout, inputs) for fault in family.FAULTS
)

__all__ = ["EXAMS", "FAULTS", "Fault", "Finding", "Patient", "examine", "get"]


def get(name: str) -> Fault:
    """The fault of this name; raises ``KeyError`` that lists the names there are."""
    for fault in FAULTS:
        if fault.name == name:
            return fault
    raise KeyError(f"no fault {name!r}; there are {', '.join(fault.name for fault in FAULTS)}")
