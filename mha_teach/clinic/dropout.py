"""Dropout in the wrong place or at the wrong time (chapter 04)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from mha_teach.clinic.fault import Fault
from mha_teach.clinic.patient import Patient


class OnScores(Patient):
    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        scores = self.drop(scores)
        return self.soften(scores if mask is None else self.hide(scores, mask))


class AfterTheMask(Patient):
    """On scores that are masked already: 0 · −∞."""

    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return self.soften(self.drop(scores if mask is None else self.hide(scores, mask)))

    def drop(self, scores: Tensor) -> Tensor:
        kept = torch.rand_like(scores) >= (self.dropout if self.training else 0.0)
        return scores * kept


class InEval(Patient):
    def drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.dropout)  # training=True is the default


class WholeRows(Patient):
    def drop(self, weights: Tensor) -> Tensor:
        return weights * F.dropout(torch.ones_like(weights[..., :1]), self.dropout, self.training)


class NotRescaled(Patient):
    def drop(self, weights: Tensor) -> Tensor:
        return weights * (torch.rand_like(weights) >= (self.dropout if self.training else 0.0))


FAULTS = (
    Fault(
        "dropout on the scores",
        "dropout",
        OnScores,
        "A dropped score of 0 still gets weight, and the others are multiplied by 1/(1 − p): noise, no dropout.",
        "after the softmax, on the weights",
        ("dropout",),
        ("cs231n #278", "torch-harmonics PR 221"),
    ),
    Fault(
        "dropout on masked scores",
        "dropout",
        AfterTheMask,
        "NaN in training, never in eval: 0 · −∞.",
        "after the softmax, on the weights",
        ("dropout",),
    ),
    Fault(
        "dropout in eval mode",
        "dropout",
        InEval,
        "The same input gives another answer each time, also when served.",
        "F.dropout(w, p, training=self.training), or nn.Dropout",
        ("dropout",),
        ("ng-video-lecture #30", "pytorch #42929"),
    ),
    Fault(
        "whole rows dropped",
        "dropout",
        WholeRows,
        "Some queries look at nothing in a step.",
        "element by element on the weights",
        ("dropout",),
    ),
    Fault(
        "dropout without rescaling",
        "dropout",
        NotRescaled,
        "Outputs are larger in eval mode than in training by 1/(1 − p).",
        "divide what is kept by 1 − p, as F.dropout does",
        ("dropout",),
    ),
)
