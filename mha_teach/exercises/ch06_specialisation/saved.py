"""Exercise 06-saved (derive)."""

from __future__ import annotations

from functools import partial

from mha_teach.exercises import formula
from mha_teach.exercises.cases import listed, varied
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
    )


def _cases() -> list[tuple]:
    return [(layers,) for layers in (4, 5, 6, 8, 9, 10, 12, 16, 18, 20, 22, 24, 28, 30, 32, 36, 40, 48)]


def _saved(layers: int) -> Exercise:
    """So many layers; 0 leaves ``layers`` in the formula."""
    n, known = ("layers", "`layers`") if not layers else (str(layers), f"{layers}")
    right = f"share * {n} * 4 * d_model**2 / total"
    ranges = {"share": (0.05, 0.95), "layers": (1, 24), "d_model": (8, 512), "total": (1e6, 1e8)}
    if layers:
        del ranges["layers"]

    def number(few: int) -> dict[str, int]:
        return {} if layers else {"layers": few}

    return Exercise(
        id="06-saved",
        kind="derive",
        title="What pruning saves",
        minutes=8,
        difficulty=2,
        marks=2,
        prompt=f"A model has {known} attention layers of width `d_model`, with $h \\cdot d_k = d_{{model}}$ and no biases, and "
        "`total` parameters in all. You remove a `share` of all its heads (0.2 means 20 %), each with its rows or columns "
        "of $W_Q, W_K, W_V$ and $W_O$. By what fraction of `total` does the model shrink? Give the formula as text in "
        f"{listed([f'`{name}`' for name in ranges])}.",
        stub='saved = ""\n',
        solution=f'saved = "{right}"\n',
        points=(
            _at(
                "nothing",
                "Removing no heads saves nothing.",
                0.0,
                share=0.0,
                **number(3),
                d_model=10,
                total=5000,
            ),
            _at(
                "all heads",
                "All heads of a layer hold its four matrices, each d_model by d_model.",
                0.8,
                share=1.0,
                **number(2),
                d_model=10,
                total=500 * (layers or 2),
            ),
            expression(
                "formula",
                "A share of the heads holds that share of the four matrices.",
                ranges,
            ),
        ),
        hints=(
            "One head has $d_{model}\\cdot d_k$ numbers in each of four matrices.",
            "All $h$ heads of a layer: $4\\,d_{model}\\,h\\,d_k = 4\\,d_{model}^2$.",
            f"`{right}`.",
        ),
        mutants=(
            Mutant(
                "W_O forgotten",
                "all heads",
                "Three matrices: a removed head also frees its columns of W_O.",
                ((f"{n} * 4", f"{n} * 3"),),
            ),
            Mutant("one layer", "all heads", "That is the saving in one layer.", ((f"{n} * 4", "4"),)),
            Mutant(
                "the share itself",
                "all heads",
                "The rest of the model (embeddings, MLPs) has no heads and doesn't shrink.",
                ((right, "share"),),
            ),
            Mutant("numbers, not a fraction", "all heads", "Divide by the total.", ((" / total", ""),)),
            Mutant(
                "what is left",
                "nothing",
                "That is the fraction that stays.",
                ((right, f"1 - {right}"),),
            ),
            Mutant(
                "the MLP too",
                "all heads",
                "12 d_model² is a whole block. The MLP doesn't belong to any head.",
                ((f"{n} * 4", f"{n} * 12"),),
            ),
            Mutant(
                "share of rows and of columns",
                "formula",
                "A head owns columns of W_Q, W_K, W_V and rows of W_O, never both of one matrix: the share counts once.",
                (("share *", "share**2 *"),),
            ),
            Mutant(
                "divided by the share",
                "nothing",
                "total / share has no value where no head is removed. Multiply by the share instead.",
                ((right, f"{n} * 4 * d_model**2 / (total / share)"),),
            ),
            Mutant(
                "whole blocks where all heads go",
                "all heads",
                "Where all heads go it takes 12 d_model² for each layer, the MLP included. The MLP stays.",
                source=f"def saved({', '.join(ranges)}):\n    matrices = 12 if share == 1 else 4\n"
                f"    return share * {n} * matrices * d_model**2 / total\n",
            ),
        ),
        variants=(
            f'saved = "4 * share * {n} * d_model^2 / total"\n',
            f"def saved({', '.join(ranges)}):\n    head = 4 * d_model**2\n    return share * {n} * head / total\n",
            f'saved = "(share / total) * {n} * (2*d_model)**2"\n',
        ),
        why="For a BERT-base (12 layers, d_model 768, 110 million parameters) all 144 heads hold 26 % of the model: 20 % of them "
        "are 5 %, not 12 %. For MiniLM (6 layers, 384, 22.7 million) it is 3 %.",
    )


SAVED = varied(_saved, (0,), _cases)
