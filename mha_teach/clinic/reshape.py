"""Heads cut from the wrong axis (chapter 03)."""

from __future__ import annotations

import torch
from torch import Tensor

from mha_teach import reshaping
from mha_teach.clinic.fault import Fault
from mha_teach.clinic.patient import Patient


class ViewWithoutTranspose(Patient):
    def split(self, x: Tensor) -> Tensor:
        return reshaping.split_by_view(x, self.num_heads)


class ViewedBothWays(ViewWithoutTranspose):
    def merge(self, x: Tensor) -> Tensor:
        return reshaping.merge_untransposed(x)  # undoes the split, so rows are back in their order


class Swapped(Patient):
    def split(self, x: Tensor) -> Tensor:
        return reshaping.split_swapped(x, self.num_heads)


class Untransposed(Patient):
    def split(self, x: Tensor) -> Tensor:
        return reshaping.split_untransposed(x, self.num_heads)

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        # code that cuts a stored mask to the scores' size never notices that the scores are (head, head)
        return super().hide(scores, mask[..., : scores.shape[-2], : scores.shape[-1]])

    def merge(self, x: Tensor) -> Tensor:
        return reshaping.merge_untransposed(x, x.shape[1])


class MergedUntransposed(Patient):
    def merge(self, x: Tensor) -> Tensor:
        return reshaping.merge_untransposed(x)


class Interleaved(Patient):
    """Columns are laid out [Q | K | V], as ``w_q``, ``w_k``, ``w_v`` one beside the other, and read as (h, 3, d_k)."""

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if key is not query or value is not query:  # one matrix serves self-attention only
            return super().project(query, key, value)
        return self.divide(torch.cat([self.w_q(query), self.w_k(query), self.w_v(query)], -1))

    def divide(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return reshaping.split_interleaved(qkv, self.num_heads)


FAULTS = (
    Fault(
        "view without transpose",
        "reshape",
        ViewWithoutTranspose,
        "Shapes are right and it trains, better than it should; generation is poor, since the present read the future.",
        "x.view(B, n, h, d_k).transpose(1, 2), then merge with the transpose undone",
        ("causal", "padding", "origin"),
        ("hyunwoongko/transformer #15",),
    ),
    Fault(
        "view on the way in and out",
        "reshape",
        ViewedBothWays,
        "No leak, for both views cut memory alike; yet a head sees only its own n / h neighbouring positions.",
        "x.view(B, n, h, d_k).transpose(1, 2), then merge with the transpose undone",
        ("causal", "padding", "origin"),
        ("reczoo/FuxiCTR #30", "Chinese-Text-Classification-Pytorch #53"),
    ),
    Fault(
        "batch and position swapped",
        "reshape",
        Swapped,
        "The answer for a sample changes with its neighbours in the batch; with a batch of one all is well.",
        "batch first everywhere: x.view(B, n, h, d_k), or batch_first=True",
        ("batch", "causal", "padding", "origin"),
        ("tokenlearner-pytorch #1", "om-ai-lab/OmDet #19"),
    ),
    Fault(
        "transpose forgotten",
        "reshape",
        Untransposed,
        "It trains slowly and badly: heads attend to heads, and no position reads another.",
        ".transpose(1, 2) after the view",
        ("causal", "padding", "origin"),
    ),
    Fault(
        "merged without transposing back",
        "reshape",
        MergedUntransposed,
        "Shapes are right; a row of the output holds one head's answers for several positions.",
        "out.transpose(1, 2).reshape(B, n, h * d_k)",
        ("causal", "padding", "origin"),
        ("Transformer-Neural-Network #1 #8", "Trans2Seg #4"),
    ),
    Fault(
        "[Q | K | V] read as interleaved",
        "reshape",
        Interleaved,
        "Trained from scratch nothing is lost; with loaded weights the model speaks nonsense.",
        "qkv.chunk(3, -1), then split each",
        ("origin",),
    ),
)
