"""A small causal model in which an induction head stands: two layers of attention, nothing else (chapter 06)."""

from __future__ import annotations

from importlib import resources

import numpy as np
import torch
from torch import nn

from mha_teach.masking import causal
from mha_teach.multihead import MultiHeadAttention
from mha_teach.shapes import Float, Int, Tensor

FILE = "induction.npz"


class CausalModel(nn.Module):
    """Attention only: ``x = word + place``, ``x ← x + attention(norm(x))`` for each layer, ``logits = norm(x) W``.

    No MLP: whatever it can do, heads do. ``model(ids)`` gives ``(logits, attention)``, the attention with axes
    (sequence, layer, head, query, key). ``without_heads(model, {(1, 2)})`` closes a head.
    Source: Elhage et al. 2021, Olsson et al. 2022 (attention-only models and induction heads). Taught in chapter 06.
    """

    def __init__(
        self, symbols: int = 64, places: int = 48, d_model: int = 64, num_heads: int = 2, layers: int = 2
    ) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(symbols, d_model), nn.Embedding(places, d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(layers))
        self.layers = nn.ModuleList(MultiHeadAttention(d_model, num_heads) for _ in range(layers))
        self.norm, self.read = nn.LayerNorm(d_model), nn.Linear(d_model, symbols)

    def forward(
        self, ids: Int[Tensor, "sequence position"]
    ) -> tuple[Float[Tensor, "sequence position symbol"], Float[Tensor, "sequence layer head query key"]]:
        """Logits for the next token at every position, and all weights.

        Raises ``ValueError`` where there are more positions than places.
        """
        if ids.shape[-1] > len(self.place.weight):
            raise ValueError(
                f"{ids.shape[-1]} positions and {len(self.place.weight)} places; give fewer tokens."
            )
        mask = causal(ids.shape[-1], device=ids.device)
        x, maps = self.word(ids) + self.place.weight[: ids.shape[-1]], []
        for norm, layer in zip(self.norms, self.layers, strict=True):
            mixed, weights = layer(norm(x), mask=mask, need_weights=True)
            x = x + mixed  # (sequence, position, d_model)
            maps.append(weights)
        return self.read(self.norm(x)), torch.stack(maps, 1)


def repeated(
    count: int,
    seed: int | torch.Generator = 0,
    symbols: int = 64,
    length: int = 48,
    period: int | tuple[int, int] = (8, 24),
) -> tuple[Int[Tensor, "sequence position"], Int[Tensor, " sequence"]]:
    """``(ids, period)``: a piece of different random tokens, said again and again up to ``length``.

    Each sequence draws the piece's length between the two numbers of ``period``, both included; one number fixes it.
    With lengths that vary, no fixed distance back leads to the copy: only the tokens tell where it is.

    Raises ``ValueError`` where a period is below 1 or above ``symbols``.
    """
    low, high = (period, period) if isinstance(period, int) else period
    if not 1 <= low <= high <= symbols:
        raise ValueError(f"period is {period} and symbols is {symbols}; a period lies between 1 and symbols.")
    draw = torch.Generator().manual_seed(seed) if isinstance(seed, int) else seed
    pieces = torch.rand(count, symbols, generator=draw).argsort(-1)  # every token once, in random order
    periods = torch.randint(low, high + 1, (count,), generator=draw)
    return pieces.gather(1, torch.arange(length) % periods[:, None]), periods


def induction_model() -> CausalModel:
    """The recorded model, eval mode, frozen: two layers of two heads, 64 symbols, 48 places.

    Made by ``benchmarks/measure_induction.py``, stored as float16; ``measured("induction")`` says how it does.
    Taught in chapter 06.
    """
    with torch.device("meta"):  # no draw from the caller's random numbers
        model = CausalModel()
    with resources.as_file(resources.files("mha_teach.data").joinpath(FILE)) as path, np.load(path) as file:
        state = {name: torch.from_numpy(file[name].astype(np.float32)) for name in file.files}
    model.load_state_dict(state, assign=True)
    return model.eval().requires_grad_(False)
