"""Close heads of trained models, all seeds at once, and see what is left (chapter 06)."""

from __future__ import annotations

from collections.abc import Callable

import torch

from mha_teach.shapes import Float, Tensor
from mha_teach.specialisation import gated
from mha_teach.training.model import Config, forward
from mha_teach.training.result import Sweep


def gate_score(
    run: Sweep, config: int = 0, *, count: int = 256, layer: int = 0
) -> Callable[[Float[Tensor, "*seed part"]], Float[Tensor, "seed relation"]]:
    """A function from a gate to the share of right answers on ``count`` fresh samples, the same for every gate.

    The gate, (part,) for all seeds or (seed, part), multiplies heads (``num_heads`` numbers) or single units
    (``num_heads · d_k``) of ``layer`` before W_o. For ``specialisation.knockout_matrix`` and ``head_drop``.
    """
    task, options, trained = run.task, Config.of(run.configs[config]), run.parameters[config]
    fresh = next(task.batches(run.seeds, 1, count, split="test"))

    @torch.no_grad()
    def score(gate: Tensor) -> Tensor:
        weights = trained | {f"{layer}.o": gated(trained[f"{layer}.o"], gate)}
        logits, _ = forward(weights, options, fresh.items, fresh.queries, task.self_attention)
        named = logits.unflatten(-1, (task.roles, task.values)).argmax(-1)
        return (named == fresh.targets).float().mean((1, 2))

    return score
