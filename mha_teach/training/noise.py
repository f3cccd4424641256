"""Learn to name the next symbol of pure noise, with the mask at any place in the attention (chapter 04).

Nothing that a model may see tells the next symbol, so whoever beats a guess has seen what it must not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional as F

from mha_teach.masking import causal
from mha_teach.shapes import Float, Int, Tensor
from mha_teach.training.loop import logged_steps, rate
from mha_teach.training.model import Parameters
from mha_teach.training.progress import bar
from mha_teach.training.result import Table

SYMBOLS = 8
TEST_BATCH = 512
Placement = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Size:
    """Sizes of the one-layer model: embeddings, attention with a residual, an MLP with a residual, a read-out."""

    length: int = 8
    d_model: int = 32
    num_heads: int = 8
    hidden: int = 64


SIZE = Size()


@dataclass(frozen=True, eq=False)
class NoiseRun:
    """What came of training under each placement; seeds are the second axis everywhere.

    losses: nats, mean over positions, at ``logged`` steps; NaN from where a loss was NaN. shown: share of next symbols
    named right on fresh noise when the whole sequence goes in, as in training. alone, alone_loss: the same
    with the past only, as in generation. repeats: in sequences that the model writes by drawing from its own
    predictions, the share of symbols equal to the one before. Chance is 1 / SYMBOLS for the three shares, and log
    SYMBOLS for the losses. ``models[i](symbols, seed, place)`` gives logits; ``place`` swaps the placement.
    """

    names: tuple[str, ...]
    logged: list[int]
    losses: Float[Tensor, "placement seed logged"]
    shown: Float[Tensor, "placement seed"]
    alone: Float[Tensor, "placement seed"]
    alone_loss: Float[Tensor, "placement seed"]
    repeats: Float[Tensor, "placement seed"]
    models: tuple[Callable[..., Tensor], ...]

    def table(self) -> Table:
        """Means over seeds, at the resolution that another processor would give too; NaN where training met a NaN.

        The last two columns count seeds: a loss beyond 5 nats is a sure and wrong guess, twice chance is a stammer.
        """
        forms = (
            (self.losses[..., -1], lambda x: f"{x.mean():.1f}"),
            (self.shown, _spread),
            (self.alone, lambda x: f"{x.mean():.1f}"),
            (self.alone_loss, lambda x: f"{int((x > 5).sum())} of {len(x)}"),
            (self.repeats, lambda x: f"{int((x > 2 / SYMBOLS).sum())} of {len(x)}"),
        )
        rows = [
            [name, *("NaN" if values[i].isnan().any() else form(values[i]) for values, form in forms)]
            for i, name in enumerate(self.names)
        ]
        head = ["mask", "last loss", "right, future shown", "right, past only", "past only: loss > 5"]
        head.append(f"repeats > {2 / SYMBOLS}")
        chance = (
            f"chance: right {1 / SYMBOLS:.3f}, loss {math.log(SYMBOLS):.2f} nats, repeats {1 / SYMBOLS:.3f}"
        )
        return Table(head, rows, f"{self.shown.shape[1]} seeds; {chance}")


def train_on_noise(
    placements: dict[str, Placement],
    *,
    seeds: int | Sequence[int] = 5,
    steps: int = 400,
    batch: int = 16,
    lr: float = 5e-3,
    size: Size = SIZE,
    progress: bool = True,
) -> NoiseRun:
    """Train one small model per placement and seed to name the next of 8 symbols drawn independently.

    A placement is ``weights = f(scores, mask)`` with scores (…, query, key) already scaled and the causal mask, True = may
    look. Adam with ``lr``, falling over the last 30 %; equal seeds start from equal weights and see equal noise. A
    training that meets a NaN ends there. All seeds train at once. Raises ``ValueError`` without placements or seeds.
    """
    seeds = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not placements or not seeds:
        raise ValueError(f"{len(placements)} placements and {len(seeds)} seeds; give at least one of each.")
    with bar(steps * len(placements), progress) as shown:
        runs = [_train(place, seeds, steps, batch, lr, size, shown.update) for place in placements.values()]
    losses, models = zip(*runs, strict=True)
    tests = [
        torch.stack([_scores(partial(m, seed=i), seed, size) for i, seed in enumerate(seeds)]) for m in models
    ]
    scores = torch.stack(tests).movedim(-1, 0)
    return NoiseRun(tuple(placements), logged_steps(steps), torch.stack(losses), *scores, models)


def noise(
    seed: int, steps: int, batch: int, length: int, test: bool = False
) -> Int[Tensor, "step batch position"]:
    """Symbols 0 … 7, each drawn for itself. ``test`` is a stream never trained on."""
    source = torch.Generator().manual_seed(2 * int(seed) + test)
    return torch.randint(SYMBOLS, (steps, batch, length), generator=source)


def initial(seed: int, size: Size) -> Parameters:
    """Fresh weights of one model: embeddings normal, matrices uniform in ±1/√fan_in, no bias outside the MLP."""
    source = torch.Generator().manual_seed(int(seed))
    d, drawn = size.d_model, {}
    for name, rows in (("symbol", SYMBOLS), ("place", size.length)):
        drawn[name] = torch.randn(rows, d, generator=source)
    for name, shape in {
        "qkv": (d, 3 * d), "o": (d, d), "up": (d, size.hidden), "down": (size.hidden, d), "read": (d, SYMBOLS)
    }.items():  # fmt: skip
        bound = shape[0] ** -0.5
        drawn[name] = torch.empty(shape).uniform_(-bound, bound, generator=source)
    return drawn | {"up_bias": torch.zeros(1, size.hidden)}


def forward(
    model: Parameters, place: Placement, size: Size, symbols: Int[Tensor, "seed batch position"]
) -> Float[Tensor, "seed batch position symbol"]:
    """Logits for the symbol after each position, every seed with its own weights (first axis)."""
    seeds, batch, n = symbols.shape
    shift = torch.arange(seeds)[:, None, None] * SYMBOLS
    x = F.embedding(symbols + shift, model["symbol"].flatten(0, 1)) + model["place"][:, None, :n]
    x = x.flatten(1, 2)  # (seed, batch · position, d_model)
    parts = (x @ model["qkv"]).view(seeds, batch, n, 3, size.num_heads, -1)
    q, k, v = parts.permute(3, 0, 1, 4, 2, 5)  # (seed, batch, head, position, d_k)
    weights = place(q @ k.mT * q.shape[-1] ** -0.5, causal(n))
    x = x + (weights @ v).transpose(2, 3).reshape(x.shape) @ model["o"]
    x = x + F.relu(x @ model["up"] + model["up_bias"]) @ model["down"]
    return (x @ model["read"]).view(seeds, batch, n, SYMBOLS)


def _train(
    place: Placement,
    seeds: list[int],
    steps: int,
    batch: int,
    lr: float,
    size: Size,
    tick: Callable[[int], object],
) -> tuple[Float[Tensor, "seed logged"], Callable[..., Tensor]]:
    """Losses at the logged steps, and the trained models as one function of symbols."""
    drawn = [initial(seed, size) for seed in seeds]
    model = {name: torch.stack([one[name] for one in drawn]).requires_grad_() for name in drawn[0]}
    optimizer = torch.optim.Adam(model.values(), lr=lr, fused=True)
    data = torch.stack(
        [noise(seed, steps, batch, size.length) for seed in seeds], 1
    )  # (step, seed, batch, n)
    log_at = logged_steps(steps)
    losses = torch.full((len(seeds), len(log_at)), torch.nan)
    for step, symbols in enumerate(data):
        logits = forward(model, place, size, symbols)[:, :, :-1]
        loss = F.cross_entropy(logits.flatten(0, 2), symbols[:, :, 1:].flatten(), reduction="none")
        loss = loss.view(len(seeds), -1).mean(1)
        if step in log_at:
            losses[:, log_at.index(step)] = loss.detach()
        if not loss.isfinite().all():
            break
        loss.sum().backward()  # the seeds share nothing
        optimizer.param_groups[0]["lr"] = rate(step, steps, lr)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        tick(1)
    return losses, partial(_run, {name: w.detach() for name, w in model.items()}, place, size)


def _run(
    trained: Parameters,
    trained_with: Placement,
    size: Size,
    symbols: Int[Tensor, "batch position"],
    seed: int = 0,
    place: Placement | None = None,
) -> Float[Tensor, "batch position symbol"]:
    """Logits of one seed's model; ``place`` instead of the placement that it was trained with."""
    one = {name: w[seed : seed + 1] for name, w in trained.items()}
    return forward(one, place or trained_with, size, symbols[None])[0]


@torch.no_grad()
def _scores(model: Callable[[Tensor], Tensor], seed: int, size: Size) -> Float[Tensor, " 4"]:
    """Right with the future shown, right with the past only, loss with the past only, repeats in what it writes."""
    symbols = noise(seed, 1, TEST_BATCH, size.length, test=True)[0]
    targets = symbols[:, 1:]
    whole = model(symbols)[:, :-1]
    past = torch.stack([model(symbols[:, :end])[:, -1] for end in range(1, size.length)], 1)
    found = [
        (logits.argmax(-1) == targets).float().mean() if logits.isfinite().all() else torch.tensor(torch.nan)
        for logits in (whole, past)
    ]
    if not past.isfinite().all():  # as with the standard deviation of a single score: nothing to draw from
        return torch.stack([*found, *torch.full((2,), torch.nan)])
    written, source = symbols[:, :1], torch.Generator().manual_seed(2 * int(seed) + 1)
    for _ in range(size.length - 1):
        drawn = torch.multinomial(model(written)[:, -1].softmax(-1), 1, generator=source)
        written = torch.cat([written, drawn], 1)
    repeats = (written[:, 1:] == written[:, :-1]).float().mean()
    return torch.stack([*found, F.cross_entropy(past.flatten(0, 1), targets.flatten()), repeats])


def _spread(values: Float[Tensor, " seed"]) -> str:
    """The mean with two digits, and a bound on the spread that doesn't hang on the last bit of a sum."""
    sd = float(values.std(correction=0))
    bound = next((b for b in (0.02, 0.05, 0.1, 0.2) if sd < b), 0.5)
    return f"{values.mean():.2f}, sd < {bound}"
