"""Train many starts of one model side by side: any weights, one lane each (chapter 05)."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mha_teach.shapes import Float, Tensor
from mha_teach.tasks import Task
from mha_teach.training.loop import evaluate, loss_of
from mha_teach.training.model import Config, Parameters, forward_lanes, to_lanes


def train_starts(
    start: Parameters, task: Task, config: Config, lanes: Sequence[int], steps: int, lr: float = 3e-3
) -> tuple[Parameters, Float[Tensor, "lane step"], Float[Tensor, " lane"]]:
    """Trained weights, losses in nats, and final scores; lane i starts at ``start[...][i]`` and meets data of seed ``lanes[i]``.

    ``start`` as ``training.model.stacked`` makes it; it is left as it was. Adam at a constant rate, batches of 32.
    Raises ``ValueError`` where weights and lanes differ in number. Taught in chapter 05.
    """
    count = len(next(iter(start.values())))
    if count != len(lanes):
        raise ValueError(f"weights for {count} lanes and {len(lanes)} seeds: give one seed for each lane.")
    model = {name: w.detach().clone().requires_grad_() for name, w in start.items()}
    adam, losses = torch.optim.Adam(model.values(), lr=lr, fused=True), []
    for data in task.batches(lanes, steps, 32):
        items = to_lanes(data.items)
        queries = items if task.self_attention else to_lanes(data.queries)
        logits, _ = forward_lanes(model, config, items, queries, task.self_attention)
        loss = loss_of(logits, data.targets, task.values)
        adam.zero_grad()
        loss.sum().backward()  # lanes share nothing
        adam.step()
        losses.append(loss.detach())
    trained = {name: w.detach() for name, w in model.items()}
    return trained, torch.stack(losses, -1), evaluate(task, config, trained, lanes).mean(1)
