"""Where does attention dropout fall, and does it stop in eval mode?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from mha_teach.shapes import Float, Tensor

WORDS = {
    "sound": "Dropout falls on single weights in training ({zeros:.2f} of them are 0, row sums keep {sums:.2f} of their size), "
    "and nothing is drawn in eval mode.",
    "none": "Nothing is drawn at random in training: there is no dropout on the weights.",
    "eval": "Eval mode still draws at random: dropout is called without `training=self.training`.",
    "before": "No weight becomes 0 though the weights are random: dropout came before the softmax, where a dropped "
    "score of 0 still gets weight.",
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
        keys = self.faults or (("sound",) if self.drawn else ("none",))
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
    that keep their mean (kept weights are divided by 1 − p), nothing random in eval mode. The module's mode is restored.
    Raises ``ValueError`` for fewer than 8 draws, which can't tell a rule from luck. Taught in chapter 04.
    """
    if draws < 8:
        raise ValueError(f"draws is {draws}; take at least 8 to tell a rule from luck")
    mode = module.training
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            still = [weights_of(module.eval()) for _ in range(2)]
            drawn = torch.stack([weights_of(module.train()) for _ in range(draws)]).double()
    finally:
        module.train(mode)
    seen = still[0] > 0  # what a mask closes in any case is no drop
    moves = not torch.equal(drawn[0].nan_to_num(), drawn[1].nan_to_num())
    zero = (drawn == 0) & seen
    zeros = float(zero.sum() / (seen.sum() * draws))
    rows = float(((drawn == 0).all(-1) & seen.any(-1)).double().mean())
    # two independent weights of a row vanish together far more rarely than one alone, unless rows are dropped whole
    whole = rows > 0 and rows > 0.5 * zeros
    sums = float(drawn.sum(-1).nanmean() / still[0].double().sum(-1).nanmean())
    faults = {
        "nan": bool(drawn.isnan().any()) and not bool(still[0].isnan().any()),
        "eval": not torch.equal(*(weights.nan_to_num() for weights in still)),
        "before": moves and zeros == 0,
        "rows": moves and whole,
        "rescale": moves and zeros > 0 and abs(sums - 1) > max(0.1, zeros / 2),
    }
    return DropPattern(tuple(name for name, found in faults.items() if found), moves, zeros, rows, sums)
