"""Exercise 05-count (recall)."""

from __future__ import annotations

from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

COUNT = Exercise(
    id="05-count",
    kind="recall",
    title="Ten heads of eighty",
    minutes=3,
    prompt="A module has $d_{model} = 768$, 10 heads, $d_k = d_v = 80$ and no biases. Three numbers, no code. "
    "**(a)** To how many numbers does it **concatenate** the heads' outputs for one token? **(b)** How many **weights** "
    "do its four matrices hold together? **(c)** It attends from 7 queries to 11 keys in each of 3 samples. How many "
    "**attention weights** does it compute?",
    stub="inner = ...\nparameters = ...\nattention = ...\n",
    solution="inner = 800\nparameters = 2457600\nattention = 2310\n",
    points=(
        value(
            "inner width", "Each head hands over d_v numbers, and heads are laid side by side.", 800, part=0
        ),
        value(
            "parameters",
            "Three matrices lead from d_model to the inner width, one leads back.",
            2457600,
            part=1,
        ),
        value(
            "attention weights",
            "Every head has one weight for each pair of a query and a key, in each sample.",
            2310,
            part=2,
        ),
    ),
    hints=(
        "For (a), $d_{model}$ plays no part.",
        "For (b), each of the four matrices has $768 \\cdot 800$ numbers.",
        "For (c), the weights have the axes (batch, head, query, key).",
    ),
    mutants=(
        Mutant(
            "back to d_model",
            "inner width",
            "768 comes out after W_O. Before it stand 10 heads of 80.",
            (("inner = 800", "inner = 768"),),
        ),
        Mutant("one head", "inner width", "That is one head.", (("inner = 800", "inner = 80"),)),
        Mutant(
            "the usual four squares",
            "parameters",
            "4 · d_model² holds only where the inner width is d_model.",
            (("2457600", "4 * 768**2"),),
        ),
        Mutant(
            "W_O as a square",
            "parameters",
            "W_O leads from the inner width back to d_model: it isn't square here.",
            (("2457600", "3 * 768 * 800 + 768**2"),),
        ),
        Mutant("W_O forgotten", "parameters", "W_O is a matrix too.", (("2457600", "3 * 768 * 800"),)),
        Mutant(
            "heads share a map",
            "attention weights",
            "Each head has a softmax of its own.",
            (("2310", "231"),),
        ),
        Mutant("one sample", "attention weights", "That is one sample of 3.", (("2310", "770"),)),
        Mutant(
            "queries meet queries",
            "attention weights",
            "Queries meet keys: 7 by 11, not 7 by 7.",
            (("2310", "3 * 10 * 49"),),
        ),
    ),
    variants=(
        "inner, parameters, attention = 800.0, 2457600.0, 2310.0\n",
        "inner = 10 * 80\nparameters = 4 * 768 * inner\nattention = 3 * 10 * 7 * 11\n",
        "inner = torch.tensor(800)\nparameters = 2 * 10 * 768 * (80 + 80)\nattention = torch.ones(3, 10, 7, 11).sum()\n",
    ),
    why="768 is no multiple of 10, and nothing here minds. The inner width 800 shows only between the projections and W_O.",
)
