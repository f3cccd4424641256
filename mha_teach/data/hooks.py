"""Close heads of a finished model from outside, by a hook before its output projection (chapter 06)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from mha_teach.multihead import MultiHeadAttention

# Where transformers keeps W_o: BERT and its kin, GPT-2 and its kin, Llama and its kin. Cross-attention is left alone.
OUTPUT = re.compile(r"(^|\.)(attention\.output\.dense|attn\.c_proj|self_attn\.o_proj)$")


@contextmanager
def without_heads(model: nn.Module, heads: Iterable[tuple[int, int]]) -> Iterator[nn.Module]:
    """Inside the ``with``, the output of each ``(layer, head)`` is zero before W_o mixes it in; after it, all is as before.

    Works on every model built of our ``MultiHeadAttention`` (layers count in the order in which modules were made)
    and on transformers' BERT, GPT-2 and Llama families, with grouped key heads too: heads are counted by queries.
    transformers 5 takes ``head_mask`` and ignores it, so the cut is a forward pre-hook. Nesting adds up.

    Raises ``IndexError`` for a layer or head that isn't there, ``TypeError`` for a model without a known output
    projection and for one that is compiled already, since compiled code passes new hooks by. Taught in chapter 06.
    """
    outputs = _outputs(model)
    shut: dict[int, set[int]] = {}
    for layer, head in heads:
        if not 0 <= layer < len(outputs):
            raise IndexError(
                f"layer {layer} (for its head {head}) of {len(outputs)} layers; layers count from 0 to {len(outputs) - 1}."
            )
        count = outputs[layer][1]
        if not 0 <= head < count:
            raise IndexError(
                f"head {head} in layer {layer}, which has {count} heads; they count from 0 to {count - 1}."
            )
        shut.setdefault(layer, set()).add(head)
    with ExitStack() as stack:
        for layer, closed in shut.items():
            module, count = outputs[layer]
            stack.callback(module.register_forward_pre_hook(_closing(closed, count)).remove)
        yield model


def _closing(closed: set[int], count: int):
    shut = torch.tensor([head in closed for head in range(count)])

    def hook(module: nn.Module, inputs: tuple) -> tuple:
        joined, *rest = inputs
        parts = joined.unflatten(-1, (len(shut), -1))  # (..., head, d_v)
        return (parts.masked_fill(shut.to(joined.device)[:, None], 0.0).flatten(-2), *rest)

    return hook


def _outputs(model: nn.Module) -> list[tuple[nn.Module, int]]:
    """(W_o, number of heads) of every layer, first layer first."""
    if hasattr(model, "_orig_mod"):
        raise TypeError(
            "the model is compiled, and compiled code passes new hooks by; close heads in the model before torch.compile."
        )
    ours = [(m.out_proj, m.num_heads) for m in model.modules() if isinstance(m, MultiHeadAttention)]
    if ours:
        return ours
    found = [module for name, module in model.named_modules() if OUTPUT.search(name)]
    count = getattr(getattr(model, "config", None), "num_attention_heads", None)
    if not found or not isinstance(count, int):
        raise TypeError(
            f"{type(model).__name__} has no output projection that this knows: our MultiHeadAttention, or transformers' "
            "BERT, GPT-2 and Llama families. Register a forward pre-hook on its W_o by hand."
        )
    return [(module, count) for module in found]
