"""Masks after the softmax, upside down, along the wrong axis, dropped, or not a number (chapter 04)."""

from __future__ import annotations

import torch
from torch import Tensor

from mha_teach.clinic.fault import Fault
from mha_teach.clinic.patient import Patient


class AfterSoftmax(Patient):
    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        weights = self.soften(scores)
        return self.drop(weights if mask is None else weights * mask)


class Inverted(Patient):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().hide(scores, ~mask)


class OfQueries(Patient):
    """A mask of keys laid along the queries: right sizes in self-attention, wrong axis."""

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().hide(scores, mask.mT.expand(scores.shape))


class HeadsForSamples(Patient):
    """Heads folded into the batch, sample by sample, but the mask repeated as if head by head."""

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        full = mask.expand(scores.shape[0], 1, *scores.shape[2:]).squeeze(1)
        return super().hide(scores, full.repeat(scores.shape[1], 1, 1).view(scores.shape))


class Dropped(Patient):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores


class AddedOnes(Patient):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores + mask.to(scores.dtype)


class NotANumber(Patient):
    def soften(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)


class ZeroTimesInfinity(Patient):
    """Meant as "nothing where allowed, −∞ where not"; 0 · −∞ is neither."""

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores + (1 - mask.to(scores.dtype)) * -torch.inf


class FixedSentinel(Patient):
    """−10⁹ is −∞ in float16: the blind row that was uniform in float32 is NaN."""

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores + torch.where(mask, 0.0, -1e9).to(scores.dtype)

    def soften(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)


class OneTooMany(Patient):
    """The diagonal is off by one: every query also sees the next position."""

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().hide(scores, mask | mask.roll(1, -1) & (torch.arange(mask.shape[-1]) > 0))


class OneTooFew(Patient):
    """The diagonal itself is masked: a query doesn't see its own position, and the first sees nothing."""

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().hide(scores, mask & ~torch.eye(*scores.shape[-2:], dtype=torch.bool))


FAULTS = (
    Fault(
        "masked after the softmax",
        "mask",
        AfterSoftmax,
        "Training loss falls too far and generation is poor: the normaliser has seen the future.",
        "mask the scores with −∞ before the softmax",
        ("causal", "padding", "rows"),
        ("pytorch-image-models PR 2236", "cs231n #279"),
    ),
    Fault(
        "mask upside down",
        "mask",
        Inverted,
        "Each library means another thing by True; the model reads only what it must not.",
        "look the convention up in the atlas and convert",
        ("causal", "padding"),
        ("x-transformers #160", "keras #23038"),
    ),
    Fault(
        "mask along the queries",
        "mask",
        OfQueries,
        "Filler is read by all, and the last queries are blind.",
        "a mask of keys is mask[:, None, None, :]",
        ("causal", "padding"),
        ("tensorflow/text PR 894", "uvadlc_notebooks #67"),
    ),
    Fault(
        "another sample's mask",
        "mask",
        HeadsForSamples,
        "With samples of one length all is well; with padding, samples get each other's masks.",
        "repeat_interleave(h, 0), or a head axis of size 1",
        ("padding",),
        ("x-transformers #164",),
    ),
    Fault(
        "mask accepted and dropped",
        "mask",
        Dropped,
        "Nothing complains; the mask has no effect.",
        "pass it on, and test that flipping it changes the output",
        ("causal", "padding"),
        ("hyunwoongko/transformer PR 40",),
    ),
    Fault(
        "0 and 1 added",
        "mask",
        AddedOnes,
        "Permitted pairs get e times the weight and nothing is masked.",
        "booleans with masked_fill, or 0 and −∞ to add",
        ("causal", "padding"),
        ("x-transformers #160",),
    ),
    Fault(
        "blind row is NaN",
        "mask",
        NotANumber,
        "One fully masked query turns the loss into NaN.",
        "give a query that may look at nothing zeros, as `attend` does",
        ("finite",),
        ("pytorch #41508", "pytorch #103749", "pytorch PR 131060"),
    ),
    Fault(
        "0 times infinity",
        "mask",
        ZeroTimesInfinity,
        "Every number is NaN from the first step.",
        "torch.where or masked_fill, never a product with −∞",
        ("causal", "padding", "rows", "finite"),
    ),
    Fault(
        "−1e9 in half precision",
        "mask",
        FixedSentinel,
        "In float32 a blind row is uniform, in float16 the same code gives NaN.",
        "torch.finfo(dtype).min / 2, or booleans",
        ("finite",),
        ("pytorch-seq2seq #191", "apex #1052"),
    ),
    Fault(
        "diagonal one too far",
        "mask",
        OneTooMany,
        "The next token is visible: loss near zero, generation useless.",
        "torch.tril(ones) with diagonal=0",
        ("causal", "padding"),
    ),
    Fault(
        "diagonal one too short",
        "mask",
        OneTooFew,
        "Nothing leaks; no position sees itself, and the first is blind.",
        "torch.tril(ones) with diagonal=0",
        ("causal",),
    ),
)
