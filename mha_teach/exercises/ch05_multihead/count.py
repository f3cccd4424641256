"""Exercise 05-count (recall)."""

from __future__ import annotations

from mha_teach.exercises.cases import apart, varied, word
from mha_teach.exercises.model import Exercise, Mutant
from mha_teach.exercises.points import value

_TENS = {
    20: "twenty",
    30: "thirty",
    40: "forty",
    50: "fifty",
    60: "sixty",
    70: "seventy",
    80: "eighty",
    90: "ninety",
}


def _attention(samples: int, heads: int, queries: int, keys: int) -> tuple[int, ...]:
    """The right number of attention weights, and what three slips give."""
    return (
        samples * heads * queries * keys,
        samples * queries * keys,
        heads * queries * keys,
        samples * heads * queries**2,
    )


def _cases() -> list[tuple]:
    return [
        (width, heads, d_k, samples, queries, keys)
        for width in (256, 384, 512, 640, 768, 1024)
        for heads in (6, 7, 9, 10, 11, 12, 13, 14)
        for d_k in _TENS
        for samples in (2, 3, 4, 5)
        for queries, keys in ((5, 7), (5, 11), (7, 5), (7, 11), (7, 13), (11, 5), (11, 7))
        if width % heads  # no inner width could equal it
        and apart(heads * d_k, width, d_k)
        and apart(4 * heads * d_k, 4 * width, 3 * heads * d_k + width, 3 * heads * d_k)
        and apart(*_attention(samples, heads, queries, keys))
    ]


def _count(width: int, heads: int, d_k: int, samples: int, queries: int, keys: int) -> Exercise:
    inner = heads * d_k
    parameters = 4 * width * inner
    attention, shared, single, square = _attention(samples, heads, queries, keys)
    return Exercise(
        id="05-count",
        kind="recall",
        title=f"{word(heads).capitalize()} heads of {_TENS[d_k]}",
        minutes=3,
        prompt=f"A module has $d_{{model}} = {width}$, {heads} heads, $d_k = d_v = {d_k}$ and no biases. Three numbers, no code. "
        "**(a)** To how many numbers does it **concatenate** the heads' outputs for one token? **(b)** How many **weights** "
        f"do its four matrices hold together? **(c)** It attends from {queries} queries to {keys} keys in each of {samples} "
        "samples. How many **attention weights** does it compute?",
        stub="inner = ...\nparameters = ...\nattention = ...\n",
        solution=f"inner = {inner}\nparameters = {parameters}\nattention = {attention}\n",
        points=(
            value(
                "inner width",
                "Each head hands over d_v numbers, and heads are laid side by side.",
                inner,
                part=0,
            ),
            value(
                "parameters",
                "Three matrices lead from d_model to the inner width, one leads back.",
                parameters,
                part=1,
            ),
            value(
                "attention weights",
                "Every head has one weight for each pair of a query and a key, in each sample.",
                attention,
                part=2,
            ),
        ),
        hints=(
            "For (a), $d_{model}$ plays no part.",
            f"For (b), each of the four matrices has ${width} \\cdot {inner}$ numbers.",
            "For (c), the weights have the axes (batch, head, query, key).",
        ),
        mutants=(
            Mutant(
                "back to d_model",
                "inner width",
                f"{width} comes out after W_O. Before it stand {heads} heads of {d_k}.",
                ((f"inner = {inner}", f"inner = {width}"),),
            ),
            Mutant("one head", "inner width", "That is one head.", ((f"inner = {inner}", f"inner = {d_k}"),)),
            Mutant(
                "the usual four squares",
                "parameters",
                "4 · d_model² holds only where the inner width is d_model.",
                ((f"= {parameters}", f"= 4 * {width}**2"),),
            ),
            Mutant(
                "W_O as a square",
                "parameters",
                "W_O leads from the inner width back to d_model: it isn't square here.",
                ((f"= {parameters}", f"= 3 * {width} * {inner} + {width}**2"),),
            ),
            Mutant(
                "W_O forgotten",
                "parameters",
                "W_O is a matrix too.",
                ((f"= {parameters}", f"= 3 * {width} * {inner}"),),
            ),
            Mutant(
                "heads share a map",
                "attention weights",
                "Each head has a softmax of its own.",
                ((f"attention = {attention}", f"attention = {shared}"),),
            ),
            Mutant(
                "one sample",
                "attention weights",
                f"That is one sample of {samples}.",
                ((f"attention = {attention}", f"attention = {single}"),),
            ),
            Mutant(
                "queries meet queries",
                "attention weights",
                f"Queries meet keys: {queries} by {keys}, not {queries} by {queries}.",
                ((f"attention = {attention}", f"attention = {square}"),),
            ),
        ),
        variants=(
            f"inner, parameters, attention = {inner}.0, {parameters}.0, {attention}.0\n",
            (
                f"inner = {heads} * {d_k}\nparameters = 4 * {width} * inner\n"
                f"attention = {samples} * {heads} * {queries} * {keys}\n"
            ),
            (
                f"inner = torch.tensor({inner})\nparameters = 2 * {heads} * {width} * ({d_k} + {d_k})\n"
                f"attention = torch.ones({samples}, {heads}, {queries}, {keys}).sum()\n"
            ),
        ),
        why=f"The heads put {heads} · {d_k} = {inner} numbers side by side. Three matrices lead from {width} to {inner} and "
        f"W_O leads back, so there are 4 · {width} · {inner} parameters. Each sample and each head has a weight for every pair of "
        f"query and key. {width} is no multiple of {heads}, and nothing here minds.",
    )


COUNT = varied(_count, (768, 10, 80, 3, 7, 11), _cases)
