"""The same experiment as an ordinary ``nn.Module`` and an ordinary loop: one model, one seed at a time.

``sweep`` must give the same result per seed (a test), only faster (``benchmarks/sweep.py``).
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from mha_teach.attention import attend
from mha_teach.shapes import Float, Tensor
from mha_teach.tasks import Task
from mha_teach.training.loop import TEST_BATCH, TEST_BATCHES, rate
from mha_teach.training.model import Config, initial


class Attention(nn.Module):
    """Multi-head attention from queries to items, with an optional MLP behind it."""

    def __init__(self, config: Config, d_query: int, d_item: int) -> None:
        super().__init__()
        inner = config.num_heads * config.width
        self.config = config
        self.q = nn.Linear(d_query, inner, bias=False)
        self.k = nn.Linear(d_item, inner, bias=False)
        self.v = nn.Linear(d_item, inner, bias=False)
        self.o = nn.Linear(inner, config.d_model, bias=False)
        if config.hidden:
            self.up = nn.Linear(config.d_model, config.hidden)
            self.down = nn.Linear(config.hidden, config.d_model)

    def forward(
        self, x: Float[Tensor, "batch query d_query"], source: Float[Tensor, "batch key d_item"]
    ) -> Float[Tensor, "batch query d_model"]:
        def heads(t: Tensor) -> Tensor:
            return t.view(*t.shape[:2], self.config.num_heads, -1).transpose(1, 2)

        q, k, v = heads(self.q(x)), heads(self.k(source)), heads(self.v(source))
        out, _ = attend(q, k, v, scale=self.config.factor)
        y = self.o(out.transpose(1, 2).flatten(2))
        x = x + y if self.config.residual else y
        if self.config.hidden:
            y = self.down(F.relu(self.up(x)))
            x = x + y if self.config.residual else y
        return x


class PlainModel(nn.Module):
    """Layers of :class:`Attention` and one linear read-out for all roles, with seed ``seed``'s first weights."""

    def __init__(self, config: Config, task: Task, seed: int) -> None:
        super().__init__()
        self.self_attention = task.self_attention
        d = config.d_model
        widths = [(task.query_dim, task.item_dim)]
        widths += [(d, d if task.self_attention else task.item_dim)] * (config.layers - 1)
        self.layers = nn.ModuleList(Attention(config, *pair) for pair in widths)
        self.read = nn.Linear(d, task.roles * task.values, bias=False)
        with torch.no_grad():
            for name, w in initial(config, task, seed).items():
                layer, _, part = name.rpartition(".")
                home = self.layers[int(layer)] if layer else self
                linear = getattr(home, part.removesuffix("_bias"))
                (linear.bias if part.endswith("_bias") else linear.weight).copy_(w.T if w.ndim == 2 else w)

    def forward(self, items: Tensor, queries: Tensor) -> Float[Tensor, "batch query answers"]:
        x = queries
        for layer in self.layers:
            x = layer(x, x if self.self_attention else items)
        return self.read(x)


def train_plain(
    task: Task, config: Config, seed: int, *, steps: int = 800, lr: float = 3e-3, batch: int = 32
) -> tuple[PlainModel, Float[Tensor, " role"], list[float]]:
    """Train one model on one seed; return it, its score per role on fresh data, and the loss of every step."""
    model = PlainModel(config, task, seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for step, data in enumerate(task.batches([seed], steps, batch)):
        items, queries, targets = (part[0] for part in data[:3])
        logits = model(items, queries)
        loss = F.cross_entropy(logits.reshape(-1, task.values), targets.flatten())
        optimizer.param_groups[0]["lr"] = rate(step, steps, lr)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    right = []
    with torch.no_grad():
        for data in task.batches([seed], TEST_BATCHES, TEST_BATCH, split="test"):
            items, queries, targets = (part[0] for part in data[:3])
            named = model(items, queries).unflatten(-1, (task.roles, task.values)).argmax(-1)
            right.append((named == targets).float().mean((0, 1)))
    return model, torch.stack(right).mean(0), [float(x) for x in losses]
