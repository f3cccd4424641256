"""The training loop: some configurations, all their seeds at once, one stream of data for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from mha_teach.shapes import Float, Tensor
from mha_teach.tasks import Batch, Task
from mha_teach.training.model import Config, Parameters, forward, stacked

TEST_BATCHES, TEST_BATCH = 8, 128


class Stopped(Exception):
    """Raised inside a training loop that was asked to stop."""


@dataclass
class Run:
    """One configuration after training; the first axis of every tensor is the seed."""

    parameters: Parameters
    scores: Float[Tensor, "seed role"]
    losses: Float[Tensor, "seed logged"]
    peaks: Float[Tensor, "seed logged"]


def rate(step: int, steps: int, lr: float) -> float:
    """Learning rate at ``step``: constant, then falling in a straight line to 0 over the last 30 %."""
    return lr * min(1.0, (steps - step) / (0.3 * steps))


def logged_steps(steps: int, count: int = 40) -> list[int]:
    """The steps whose loss is recorded: about ``count``, evenly spaced, the last one included."""
    every = max(1, steps // count)
    return sorted({*range(0, steps, every), steps - 1})


def loss_of(
    logits: Float[Tensor, "seed batch query answers"], batch: Batch, values: int
) -> Float[Tensor, " seed"]:
    """Cross-entropy in nats, averaged over batch, queries and roles."""
    each = F.cross_entropy(logits.reshape(-1, values), batch.targets.flatten(), reduction="none")
    return each.view(logits.shape[0], -1).mean(1)


def train(
    task: Task,
    configs: Sequence[Config],
    seeds: Sequence[int],
    *,
    steps: int,
    lr: float,
    batch: int,
    tick: Callable[[int], None] = lambda done: None,
) -> list[Run]:
    """Train every config on every seed, in lockstep: a step draws its batch once and shows it to all of them.

    ``tick`` is called after each step with the number of configs stepped; what it raises ends the training.
    """
    models = [stacked(config, task, list(seeds)) for config in configs]
    weights = [w.requires_grad_() for model in models for w in model.values()]
    optimizer = torch.optim.Adam(weights, lr=lr, fused=True)
    log_at = set(logged_steps(steps))
    losses: list[list[Tensor]] = [[] for _ in configs]
    peaks: list[list[Tensor]] = [[] for _ in configs]
    for step, data in enumerate(task.batches(seeds, steps, batch)):
        for i, (config, model) in enumerate(zip(configs, models, strict=True)):
            logits, seen = forward(
                model, config, data.items, data.queries, self_attention=task.self_attention
            )
            loss = loss_of(logits, data, task.values)
            loss.sum().backward()  # the seeds share nothing, so the gradient of the sum is each one's own
            if step in log_at:
                losses[i].append(loss.detach())
                peaks[i].append(torch.stack([w.detach().amax(-1).mean((1, 2, 3)) for w in seen]).mean(0))
        optimizer.param_groups[0]["lr"] = rate(step, steps, lr)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        tick(len(configs))
    tested = [evaluate(task, config, model, seeds) for config, model in zip(configs, models, strict=True)]
    return [
        Run({n: w.detach() for n, w in model.items()}, score, torch.stack(loss, 1), torch.stack(peak, 1))
        for model, score, loss, peak in zip(models, tested, losses, peaks, strict=True)
    ]


@torch.no_grad()
def evaluate(
    task: Task, config: Config, model: Parameters, seeds: Sequence[int]
) -> Float[Tensor, "seed role"]:
    """Share of right answers on fresh data, for each seed and role."""
    right = []
    for data in task.batches(seeds, TEST_BATCHES, TEST_BATCH, split="test"):
        logits, _ = forward(model, config, data.items, data.queries, self_attention=task.self_attention)
        named = logits.unflatten(-1, (task.roles, task.values)).argmax(-1)
        right.append((named == data.targets).float().mean((1, 2)))
    return torch.stack(right).mean(0)
