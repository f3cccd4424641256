"""A language model on a text whose best honest loss is known: half dice, half copy (chapter 03).

The text is ``HALF`` symbols drawn by chance, then the same again. Nobody can predict the dice, so a causal model can't get
under `floor`; whoever does reads the future. The heads are split and merged in any way that is handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from mha_teach.attention import attend
from mha_teach.shapes import Float, Int, Tensor

SYMBOLS, HALF, HEADS, D_MODEL = 8, 6, 4, 32
TEST = 200  # texts a model is judged on


class Copier(nn.Module):
    """Embeddings, one attention layer and one MLP with residuals, a read-out; float64.

    ``split`` maps ``qkv`` (B, n, 3 · d_model) to three tensors for `attend`, ``merge(out, n)`` brings the output back to
    (B, n, d_model). ``masked=False`` leaves the causal mask out, for a split that it doesn't fit.
    """

    def __init__(self, split: Callable, merge: Callable, masked: bool = True) -> None:
        super().__init__()
        d, exact = D_MODEL, {"dtype": torch.float64}  # drawn in float64, too: then all processors agree
        self.embed, self.place = nn.Embedding(SYMBOLS, d, **exact), nn.Embedding(2 * HALF, d, **exact)
        self.qkv, self.o = nn.Linear(d, 3 * d, **exact), nn.Linear(d, d, **exact)
        self.up, self.down = nn.Linear(d, 64, **exact), nn.Linear(64, d, **exact)
        self.read = nn.Linear(d, SYMBOLS, **exact)
        self.split, self.merge, self.masked = split, merge, masked

    def attention(self, x):
        n = x.shape[1]  # x: (B, n, d_model)
        mask = torch.ones(n, n).tril().bool() if self.masked else None
        q, k, v = self.split(self.qkv(x))
        output, _ = attend(q, k, v, mask=mask)
        return self.o(self.merge(output, n))  # (B, n, d_model)

    def forward(self, ids: Int[Tensor, "batch position"]) -> Float[Tensor, "batch position symbol"]:
        x = self.embed(ids) + self.place.weight[: ids.shape[1]]
        x = x + self.attention(x)
        return self.read(x + self.down(self.up(x).relu()))


@dataclass(frozen=True, eq=False)
class Trained:
    """What came of training, one row a seed: ``losses`` (nats) per step; shares of right answers on fresh text.

    ``dice``: the symbols that nobody can predict. ``given``: copies, with the true text before them. ``alone``: copies
    when the model reads only the first half and then what it wrote itself. ``written``: that second half.
    """

    losses: Float[Tensor, "seed step"]
    dice: Float[Tensor, " seed"]
    given: Float[Tensor, " seed"]
    alone: Float[Tensor, " seed"]
    written: Int[Tensor, "seed text position"]

    @property
    def last(self) -> Float[Tensor, " seed"]:
        """The mean loss of the last 20 steps."""
        return self.losses[:, -20:].mean(1)


def floor(weights: Float[Tensor, " symbol"] | None = None) -> float:
    """The loss of perfect honest play: ``(HALF - 1) / (2 · HALF - 1)`` of the text costs the dice's entropy, the rest nothing."""
    weights = torch.ones(SYMBOLS, dtype=torch.float64) if weights is None else weights.double()
    entropy = torch.special.entr(weights / weights.sum()).sum()
    return float(entropy) * (HALF - 1) / (2 * HALF - 1)


def train(
    split: Callable,
    merge: Callable,
    masked: bool = True,
    *,
    seeds: int = 5,
    steps: int = 100,
    batch: int = 16,
    lr: float = 0.01,
    weights: Float[Tensor, " symbol"] | None = None,
) -> Trained:
    """Train ``seeds`` copiers side by side with Adam, and judge each on fresh text (chapter 03)."""
    weights = torch.ones(SYMBOLS) if weights is None else weights
    models = []
    with torch.random.fork_rng(devices=[]):
        for seed in range(seeds):
            torch.manual_seed(seed)
            models.append(Copier(split, merge, masked))
    params, _ = stack_module_state(models)
    run = vmap(lambda p, ids: functional_call(models[0], p, (ids,)))
    adam, dice, losses = (
        torch.optim.Adam(params.values(), lr=lr),
        torch.Generator().manual_seed(0),
        [],
    )
    for _ in range(steps):
        ids = _texts(weights, seeds, batch, dice)
        scores = run(params, ids[..., :-1])  # (seed, B, n, symbol)
        loss = F.cross_entropy(scores.flatten(0, 2), ids[..., 1:].flatten(), reduction="none")
        losses.append(loss.view(seeds, -1).mean(1))
        adam.zero_grad()
        losses[-1].sum().backward()
        adam.step()
    with torch.no_grad():
        return _judged(
            lambda ids: run(params, ids), _texts(weights, seeds, TEST, dice), torch.stack(losses, 1)
        )


def _texts(
    weights: Tensor, seeds: int, count: int, dice: torch.Generator
) -> Int[Tensor, "seed text position"]:
    half = torch.multinomial(weights, seeds * count * HALF, replacement=True, generator=dice)
    half = half.view(seeds, count, HALF)
    return torch.cat([half, half], -1)


def _judged(run: Callable, ids: Int[Tensor, "seed text position"], losses: Tensor) -> Trained:
    right = (run(ids[..., :-1]).argmax(-1) == ids[..., 1:]).double()
    seen = ids[..., :HALF]
    for _ in range(HALF):
        seen = torch.cat([seen, run(seen)[:, :, -1:].argmax(-1)], -1)
    alone = (seen == ids)[..., HALF:].double()
    shares = (part.mean((1, 2)) for part in (right[..., : HALF - 1], right[..., HALF - 1 :], alone))
    return Trained(losses.detach(), *shares, seen[..., HALF:])
