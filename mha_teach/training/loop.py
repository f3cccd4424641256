"""The training loop: one configuration, all its seeds at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from mha_teach.shapes import Float, Int, Tensor
from mha_teach.tasks import Task
from mha_teach.training.model import Config, Parameters, forward, forward_lanes, stacked, to_lanes

TEST_BATCHES, TEST_BATCH = 8, 128


@dataclass
class Run:
    """One configuration after training; the first axis of every tensor is the seed."""

    parameters: Parameters
    scores: Float[Tensor, "seed role"]
    losses: Float[Tensor, "seed logged"]
    peaks: Float[Tensor, "seed logged"]
    slopes: Float[Tensor, "seed logged"]


def rate(step: int, steps: int, lr: float) -> float:
    """Learning rate at ``step``: constant, then falling in a straight line to 0 over the last 30 %."""
    return lr * min(1.0, (steps - step) / (0.3 * steps))


def logged_steps(steps: int, count: int = 40) -> list[int]:
    """The steps whose loss is recorded: about ``count``, evenly spaced, the last one included."""
    every = max(1, steps // count)
    return sorted({*range(0, steps, every), steps - 1})


def loss_of(
    logits: Float[Tensor, "seed answers query batch"],
    targets: Int[Tensor, "seed batch query role"],
    values: int,
) -> Float[Tensor, " seed"]:
    """Cross-entropy in nats, averaged over batch, queries and roles."""
    named = targets.permute(0, 3, 2, 1)[:, :, None]  # (seed, role, 1, query, batch)
    logits = logits.unflatten(1, (-1, values))
    right = logits.gather(2, named).squeeze(2)
    return (logits.logsumexp(2) - right).flatten(1).mean(1)


def train(
    task: Task,
    config: Config,
    seeds: Sequence[int],
    *,
    steps: int,
    lr: float,
    batch: int,
    tick: Callable[[int], object] = lambda done: None,
) -> Run:
    """Train one config on all seeds at once. ``tick(1)`` is called after each step; what it raises ends the training."""
    model = stacked(config, task, list(seeds))
    optimizer = torch.optim.Adam([w.requires_grad_() for w in model.values()], lr=lr, fused=True)
    log_at = set(logged_steps(steps))
    log: list[Tensor] = []
    for step, data in enumerate(task.batches(seeds, steps, batch)):
        items = to_lanes(data.items)
        queries = items if task.self_attention else to_lanes(data.queries)
        logits, seen = forward_lanes(model, config, items, queries, task.self_attention)
        loss = loss_of(logits, data.targets, task.values)
        loss.sum().backward()  # the seeds share nothing, so the gradient of the sum is each one's own
        if step in log_at:
            log.append(_entry(loss, seen, model))
        optimizer.param_groups[0]["lr"] = rate(step, steps, lr)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        tick(1)
    trained = {name: w.detach() for name, w in model.items()}
    losses, peaks, slopes = torch.stack(log, -1)
    return Run(trained, evaluate(task, config, trained, seeds), losses, peaks, slopes)


@torch.no_grad()
def _entry(loss: Tensor, seen: list[Tensor], model: Parameters) -> Float[Tensor, "3 seed"]:
    """Loss, mean largest weight of a row, and length of the whole gradient, for each seed."""
    peak = torch.stack([w.amax(3).mean((1, 2, 3)) for w in seen]).mean(0)
    slope = torch.cat([w.grad.flatten(1) for w in model.values()], 1).norm(dim=1)
    return torch.stack([loss.detach(), peak, slope])


@torch.no_grad()
def evaluate(
    task: Task, config: Config, model: Parameters, seeds: Sequence[int]
) -> Float[Tensor, "seed role"]:
    """Share of right answers on fresh data, for each seed and role."""
    right = []
    for data in task.batches(seeds, TEST_BATCHES, TEST_BATCH, split="test"):
        logits, _ = forward(model, config, data.items, data.queries, task.self_attention)
        named = logits.unflatten(-1, (task.roles, task.values)).argmax(-1)
        right.append((named == data.targets).float().mean((1, 2)))
    return torch.stack(right).mean(0)
