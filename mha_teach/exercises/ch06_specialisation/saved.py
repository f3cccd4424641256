"""Exercise 06-saved (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
from mha_teach.exercises.compare import same
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import Point, expression


def _at(name: str, message: str, expected: float, **where: float) -> Point:
    return Point(
        name,
        message,
        measure=lambda answer: formula.at(answer, where),
        reveal=False,
        expected=expected,
        compare=partial(same, atol=1e-9, rtol=1e-6),
        alone=False,
    )


SAVED = Exercise(
    id="06-saved",
    kind="derive",
    title="What pruning saves",
    minutes=8,
    difficulty=2,
    marks=2,
    prompt="A model has `layers` attention layers of width `d_model`, with $h \\cdot d_k = d_{model}$ and no biases, and "
    "`total` parameters in all. You remove a `share` of all its heads (0.2 means 20 %), each with its rows or columns "
    "of $W_Q, W_K, W_V$ and $W_O$. By what fraction of `total` does the model shrink? Give the formula as text in "
    "`share`, `layers`, `d_model` and `total`.",
    stub='saved = ""\n',
    solution='saved = "share * layers * 4 * d_model**2 / total"\n',
    points=(
        _at("nothing", "Removing no heads saves nothing.", 0.0, share=0.0, layers=3, d_model=10, total=5000),
        _at(
            "all heads",
            "All heads of a layer hold its four matrices, each d_model by d_model.",
            0.8,
            share=1.0,
            layers=2,
            d_model=10,
            total=1000,
        ),
        expression(
            "formula",
            "A share of the heads holds that share of the four matrices.",
            {"share": (0.05, 0.95), "layers": (1, 24), "d_model": (8, 512), "total": (1e6, 1e8)},
            alone=False,
        ),
    ),
    hints=(
        "One head has $d_{model}\\cdot d_k$ numbers in each of four matrices.",
        "All $h$ heads of a layer: $4\\,d_{model}\\,h\\,d_k = 4\\,d_{model}^2$.",
        "`share * layers * 4 * d_model**2 / total`.",
    ),
    mutants=(
        Mutant(
            "W_O forgotten",
            "all heads",
            "Three matrices: a removed head also frees its columns of W_O.",
            (("4 *", "3 *"),),
        ),
        Mutant("one layer", "all heads", "That is the saving in one layer.", (("layers * ", ""),)),
        Mutant(
            "the share itself",
            "all heads",
            "The rest of the model (embeddings, MLPs) has no heads and doesn't shrink.",
            (("share * layers * 4 * d_model**2 / total", "share"),),
        ),
        Mutant("numbers, not a fraction", "all heads", "Divide by the total.", ((" / total", ""),)),
        Mutant(
            "what is left",
            "nothing",
            "That is the fraction that stays.",
            (("share * layers * 4 * d_model**2 / total", "1 - share * layers * 4 * d_model**2 / total"),),
        ),
        Mutant(
            "the MLP too",
            "all heads",
            "12 d_model² is a whole block. The MLP doesn't belong to any head.",
            (("4 *", "12 *"),),
        ),
    ),
    variants=(
        'saved = "4 * share * layers * d_model^2 / total"\n',
        "def saved(share, layers, d_model, total):\n    head = 4 * d_model**2\n    return share * layers * head / total\n",
        'saved = "(share / total) * layers * (2*d_model)**2"\n',
    ),
    why="For a BERT-base (12 layers, d_model 768, 110 million parameters) all 144 heads hold 26 % of the model: 20 % of them "
    "are 5 %, not 12 %. For MiniLM (6 layers, 384, 22.7 million) it is 3 %.",
)
