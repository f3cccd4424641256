"""The part of ``measure_heads.py`` that looks for heads which find a word's governor, or its dependent.

A head's guess for a word is the other word that it looks at most. The best head, and the best fixed offset as its
control, are chosen on one half of the sentences and tested on the other; a bootstrap over the test half's sentences
gives the intervals.
"""

from __future__ import annotations

import torch

from mha_teach.data import Encoder, encoder, sentences
from mha_teach.data.words import by_word, relations, words

TEXTS, SEEDS, HEADS, DRAWS = 400, 5, 12, 1000
REACH = [offset for offset in range(-6, 7) if offset]
WAYS = {"dependent → governor": (0, 1), "governor → dependent": (1, 0)}


def guesses(model: Encoder, ids, mask) -> list[torch.Tensor]:
    """For each sentence which other word each head looks at most from each word, (72, word)."""
    found = []
    with torch.no_grad():
        for some, real in zip(ids.split(50), mask.split(50), strict=True):
            encoded = model.run(some, real)
            for attention, tokens in zip(encoded.attention, encoded.tokens, strict=True):
                maps = by_word(attention.flatten(0, 1), tokens)
                maps.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                found.append(maps.argmax(-1))
    return found


def reorder(model: Encoder, ids, mask, seed: int) -> tuple[torch.Tensor, list[list[int]]]:
    """Whole words in a random order, and for each sentence where every word went."""
    draw, mixed, places = torch.Generator().manual_seed(seed), ids.clone(), []
    for row, many in zip(mixed, mask.sum(-1).tolist(), strict=True):
        groups = words([model.tokenizer.id_to_token(i) for i in row[:many].tolist()])
        order = torch.randperm(len(groups), generator=draw).tolist()
        row[1 : many - 1] = row[[piece for word in order for piece in groups[word]]]
        places.append(torch.tensor(order).argsort().tolist())
    return mixed, places


def hits(guess: list[torch.Tensor], asked: list[tuple[int, int, int]]) -> torch.Tensor:
    """(asked, 72): whether each head's guess is right."""
    return torch.stack([guess[s][:, source] == target for s, source, target in asked]).float()


def interval(values: torch.Tensor) -> list[float]:
    return values.quantile(torch.tensor([0.025, 0.975])).tolist()


def test(right: torch.Tensor, offset: torch.Tensor, sentence: torch.Tensor, choose: torch.Tensor) -> dict:
    """Choose on the sentences of ``choose``, test on the rest."""
    first = choose[sentence]
    head, fixed = int(right[first].mean(0).argmax()), int(offset[first].mean(0).argmax())
    a, b, at = right[~first, head], offset[~first, fixed], sentence[~first]
    held = (~choose).nonzero().flatten()
    draw = torch.Generator().manual_seed(0)
    picked = held[torch.randint(len(held), (DRAWS, len(held)), generator=draw)]
    often = torch.zeros(DRAWS, len(choose)).scatter_add_(1, picked, torch.ones(picked.shape))[
        :, at
    ]  # (draw, asked)
    mean_a, mean_b = ((often * x).sum(-1) / often.sum(-1) for x in (a, b))
    return {
        "head": list(divmod(head, HEADS)),
        "pairs": [int(first.sum()), len(a)],
        "chosen at": right[first, head].mean().item(),
        "held out": a.mean().item(),
        "interval": interval(mean_a),
        "offset": REACH[fixed],
        "offset held out": b.mean().item(),
        "offset interval": interval(mean_b),
        "gain": (a.mean() - b.mean()).item(),
        "gain interval": interval(mean_a - mean_b),
        "where the offset misses": [int((b == 0).sum()), a[b == 0].mean().item()],
    }


def dependencies(model: Encoder) -> dict:
    """One row for each relation and way: the chosen head held out, its interval, and what controls get."""
    texts = sentences(TEXTS)
    ids, mask = model.tokenise(texts)
    plain = guesses(model, ids, mask)
    orders = [reorder(model, ids, mask, seed) for seed in range(SEEDS)]
    mixed = [guesses(model, some, mask) for some, _ in orders]
    untrained = [guesses(encoder("random", seed), ids, mask) for seed in range(SEEDS)]
    choose = torch.zeros(TEXTS, dtype=torch.bool)
    choose[torch.randperm(TEXTS, generator=torch.Generator().manual_seed(0))[: TEXTS // 2]] = True
    number = {text: at for at, text in enumerate(texts)}
    rows = {}
    for name, found in relations().items():
        for way, (source, target) in WAYS.items():
            asked = [(number[t], pair[source], pair[target]) for t, pairs in found.items() for pair in pairs]
            sentence = torch.tensor([s for s, _, _ in asked])
            offset = torch.tensor([[b - a == step for step in REACH] for _, a, b in asked]).float()
            right = hits(plain, asked)
            row = test(right, offset, sentence, choose)
            swapped = test(right, offset, sentence, ~choose)
            row["halves swapped"] = {
                key: swapped[key] for key in ("head", "held out", "offset held out", "gain")
            }
            at = row["head"][0] * HEADS + row["head"][1]
            row["shuffled: this head"] = [
                hits(guess, [(s, go[s][a], go[s][b]) for s, a, b in asked])[:, at].mean().item()
                for guess, (_, go) in zip(mixed, orders, strict=True)
            ]
            others = [test(hits(guess, asked), offset, sentence, choose) for guess in untrained]
            row["random: chosen head held out"] = [other["held out"] for other in others]
            rows[f"{name}, {way}"] = row
            print(
                name, way, {key: value for key, value in row.items() if key != "halves swapped"}, flush=True
            )
    return rows
