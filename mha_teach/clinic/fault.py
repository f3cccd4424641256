"""What a fault is: a wrong module, how it shows, what cures it, which examinations light up."""

from __future__ import annotations

from dataclasses import dataclass

from mha_teach.clinic.patient import Patient


@dataclass(frozen=True)
class Fault:
    """A runnable wrong attention.

    ``family``: reshape, scale, mask, softmax, dropout or inputs. ``found_by``: the examinations of
    `clinic.examine` that light up, all of them and no others. ``reports``: public threads of this kind.
    """

    name: str
    family: str
    patient: type[Patient]
    symptom: str
    cure: str
    found_by: tuple[str, ...]
    reports: tuple[str, ...] = ()

    def build(self, **sizes: object) -> Patient:
        """A fresh broken module; ``sizes`` as `Patient` takes them."""
        return self.patient(**sizes)
