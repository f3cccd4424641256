"""Where does attention dropout fall, and does it stop in eval mode?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from mha_teach.probes.harness import kept_buffers
from mha_teach.shapes import Float, Tensor

WORDS = {
    "sound": "Dropout falls on single weights in training ({zeros:.2f} of them are 0, row sums keep {sums:.2f} of their size), "
    "and nothing is drawn in eval mode.",
    "none": "Nothing is drawn at random in training: there is no dropout on the weights.",
    "eval": "Eval mode still draws at random: dropout is called without `training=self.training`.",
    "before": "No weight becomes 0 though the weights are random, and each row keeps its sum: dropout came before the "
    "softmax, where a dropped score of 0 still gets weight. (If it falls on the module's input, that is no fault.)",
    "averaged": "No weight becomes 0, yet the row sums are random about {sums:.2f} of their size: dropout falls behind "
    "the softmax, and the weights are means over heads. Ask for each head's own to see more.",
    "rows": "Whole rows become 0 together: some queries look at nothing at all.",
    "rescale": "Rows sum to {sums:.2f} of their sum in eval mode: what is kept is not divided by 1 − p.",
    "nan": "Some weights are NaN in training: 0 · −∞, a masked score that was dropped.",
}


@dataclass(frozen=True)
class DropPattern:
    """True in a condition when dropout is where it belongs, or absent. ``faults`` names what is wrong.

    ``zeros``: share of weights that are 0 in training; ``rows``: share of rows that are all 0;
    ``sums``: mean row sum in training, over that in eval mode.
    """

    faults: tuple[str, ...]
    drawn: bool
    zeros: float
    rows: float
    sums: float

    def __bool__(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        sound = ("sound" if self.zeros else "averaged") if self.drawn else "none"
        keys = self.faults or (sound,)
        return "\n".join(WORDS[key].format(zeros=self.zeros, sums=self.sums) for key in keys)

    __repr__ = __str__


def drop_pattern(
    module: nn.Module,
    weights_of: Callable[[nn.Module], Float[Tensor, "*batch query key"]],
    draws: int = 64,
) -> DropPattern:
    """Look at the weights of ``draws`` forward passes in training mode, and of two in eval mode.

    ``weights_of(module)`` runs the module on an input of yours and returns its attention weights. Leave masks out, or
    give one that leaves each query two keys at least, so that zeros tell of dropout. Sound: single zeros, row sums
    that keep their mean (kept weights are divided by 1 − p), nothing random in eval mode. The mode of every submodule
    and all buffers are restored.
    Raises ``ValueError`` for fewer than 8 draws, which can't tell a rule from luck, ``TypeError`` for what is no module
    and where ``weights_of`` gives no floating-point tensor. Taught in chapter 04.
    """
    if draws < 8:
        raise ValueError(f"draws is {draws}; take at least 8 to tell a rule from luck")
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"got {type(module).__name__}; drop_pattern needs an nn.Module, to set train and eval mode"
        )
    modes = [(m, m.training) for m in module.modules()]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]), kept_buffers(list(module.modules())):
            torch.manual_seed(0)
            still = [_weights(weights_of, module.eval()) for _ in range(2)]
            drawn = torch.stack([_weights(weights_of, module.train()) for _ in range(draws)]).double()
    finally:
        for m, mode in modes:
            m.training = mode
    seen = still[0] > 0  # what a mask closes in any case is no drop
    moves = not torch.equal(drawn[0].nan_to_num(), drawn[1].nan_to_num())
    zero = (drawn == 0) & seen
    zeros = float(zero.sum() / (seen.sum() * draws))
    gone = (drawn == 0).all(-1).double().mean(0)  # (…, query): how often a row is all 0
    rows = float(gone[seen.any(-1)].mean()) if seen.any() else 0.0
    count = seen.sum(-1)
    several = count > 1  # a single key vanishes with its row, whoever drops
    alone = float((zeros ** count[several].double()).mean()) if several.any() else 0.0
    # independent weights of a row vanish together rarely (``alone``); where rows are dropped whole, as often as one
    whole = bool(several.any()) and float(gone[several].mean()) > (alone + zeros) / 2 > 0
    before = still[0].double().sum(-1)
    sums_drawn = drawn.sum(-1)
    sums = float(sums_drawn.nanmean() / before.nanmean())
    each = sums_drawn.flatten(1).nanmean(1) / before.nanmean()  # (draw,)
    doubt = 4 * float(each.std()) / draws**0.5
    steady = bool(
        ((sums_drawn - before).abs() <= 16 * torch.finfo(still[0].dtype).eps)[~sums_drawn.isnan()].all()
    )
    faults = {
        "nan": bool(drawn.isnan().any()) and not bool(still[0].isnan().any()),
        "eval": not torch.equal(*(weights.nan_to_num() for weights in still)),
        "before": moves and zeros == 0 and steady,
        "rows": moves and whole,
        "rescale": moves and not steady and abs(sums - 1) > max(doubt, zeros / 2, 0.01),
    }
    return DropPattern(tuple(name for name, found in faults.items() if found), moves, zeros, rows, sums)


def _weights(weights_of: Callable[[nn.Module], Tensor], module: nn.Module) -> Tensor:
    weights = weights_of(module)
    if not isinstance(weights, Tensor) or not weights.is_floating_point():
        found = (
            f"{tuple(weights.shape)} of {weights.dtype}"
            if isinstance(weights, Tensor)
            else type(weights).__name__
        )
        raise TypeError(
            f"weights_of gave {found}; it must give the attention weights (…, query, key): need_weights=True?"
        )
    return weights.detach()
