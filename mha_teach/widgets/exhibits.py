"""What hangs in the head gallery: for one sentence in one model the maps, the roles' scores, and the harm of every knock-out."""

from __future__ import annotations

import copy
import math
import string
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F

from mha_teach import data
from mha_teach.data.causal import CausalModel, induction_model, repeated
from mha_teach.shapes import Bool, Float, Int, Tensor
from mha_teach.specialisation import broadness, role_score, role_targets

REAL, TOYS = ("minilm", "random"), ("toy", "toy_random")  # each: the trained model, then its control
PERIODS, LENGTH = (8, 9, 10), 20  # of the toy's sequences
SYMBOLS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+-"
FEWEST = 3  # tokens of a sentence that have a key of a role; fewer say nothing about a head
ROLES = ("previous", "next", "first", "same token", "induction", "broad")


@lru_cache(maxsize=1)
def missing() -> bool:
    """Whether the real encoder can't be had here; asked once for each widget, as a hub may take seconds to be silent."""
    try:
        for name in REAL:
            encoder(name)
    except (ImportError, OSError):
        return True
    return False


@lru_cache(maxsize=6)
def encoder(name: str, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Any:
    """The real encoder or its control with random weights, loaded once."""
    if (device, dtype) == ("cpu", torch.float32):
        return data.encoder(name)
    return copy.deepcopy(encoder(name)).to(device, dtype)


def pair(name: str) -> tuple[str, str]:
    """The trained model and the control that belong to ``name``."""
    return REAL if name in REAL else TOYS


def on_show(look_again: bool = False) -> list[list]:
    """``[name, layers, heads]`` of each model that is here."""
    if look_again and missing():
        missing.cache_clear()  # the reader may have installed the weights meanwhile
    real = [] if missing() else [[name, 6, 12] for name in REAL]
    toys = [[name, len(toy(name).layers), toy(name).layers[0].num_heads] for name in TOYS]
    return real + toys


def scenes(
    sentence: int, text: str, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> dict[str, dict]:
    """The scenes of all models that are here; the reader's own sentence is number -1."""
    if sentence >= 0 and device == "cpu":
        dtype = torch.float64  # pages store these: float64 rounds alike on every processor
    real = {} if missing() else {name: scene(name, text, device, dtype) for name in REAL}
    return real | {name: toy_scene(name, max(0, sentence)) for name in TOYS}


def count_tokens(text: str) -> int:
    """How many tokens the real encoder reads, [CLS] and [SEP] included."""
    return encoder("minilm").tokenise([text])[0].shape[1]


@lru_cache(maxsize=32)
@torch.no_grad()
def scene(name: str, sentence: str, device: str = "cpu", dtype: torch.dtype = torch.float32) -> dict:
    """One sentence in the encoder or its control: tokens, maps as bytes of 1/255, ``roles``, ``harm`` and ``places``.

    ``roles[layer][head]`` holds a score for each of ROLES. ``harm[layer][head]`` is the drift when that head is closed,
    1 - cos(mean hidden state, the same with the head closed); ``places`` the drift of each token's hidden state.
    """
    model = encoder(name, device, dtype)
    seen = model.run(*(x.to(device) for x in model.tokenise([sentence])))
    drifts = [_drift(closed, seen) for closed in _closed(model, seen)]
    harm, places = (torch.stack(part) for part in zip(*drifts, strict=True))
    allowed = torch.ones(seen.attention.shape[-2:], dtype=torch.bool)
    return hang(seen.tokens[0], seen.ids[0], seen.attention[0], harm, places, allowed)


def _closed(model: Any, seen: Any) -> Iterator[Float[Tensor, "head position d_model"]]:
    # What comes before the layer stays as it was, so only the rest is computed, for all heads of the layer at once.
    for at, layer in enumerate(model.layers):
        heads = layer.attention.num_heads
        x, mask = seen.states[:, at].expand(heads, -1, -1), seen.mask[:, None, :].expand(heads, -1, -1)
        layer.attention.gate = 1 - torch.eye(heads, dtype=x.dtype, device=x.device)
        try:
            x, _ = layer(x, mask)
        finally:
            layer.attention.gate = None
        for later in model.layers[at + 1 :]:
            x, _ = later(x, mask)
        yield x


def _drift(closed: Float[Tensor, "head position d_model"], seen: Any) -> tuple[Tensor, Tensor]:
    whole = F.cosine_similarity(closed.mean(1), seen.hidden.mean(1), -1)
    return 1 - whole, 1 - F.cosine_similarity(closed, seen.hidden, -1)


@lru_cache(maxsize=2)
def toy(name: str) -> CausalModel:
    """The recorded small causal model in float64, or its control: the same as it is before any training."""
    if name == "toy":
        return induction_model().double()
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return CausalModel().double().eval().requires_grad_(False)


def toy_ids(which: int) -> Int[Tensor, "1 position"]:
    """A sequence of the toy and the symbol that comes after it."""
    return repeated(1, seed=which, length=LENGTH + 1, period=PERIODS[which])[0]


@lru_cache(maxsize=8)
@torch.no_grad()
def toy_scene(name: str, which: int) -> dict:
    """The toy on its sequence number ``which``: ``harm`` as in :func:`toy_harm`.

    ``places``: fall in the probability of the right next symbol at each position of the sequence shown.
    """
    model, ids = toy(name), toy_ids(which)
    seen, right = ids[:, :-1], ids[:, 1:]

    def chance_of_right() -> Float[Tensor, " position"]:
        return model(seen)[0].softmax(-1).gather(-1, right[..., None])[0, :, 0]

    tokens = [SYMBOLS[i] for i in seen[0].tolist()]
    allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    return hang(tokens, seen[0], model(seen)[1][0], toy_harm(name), _lost(model, chance_of_right), allowed)


@lru_cache(maxsize=2)
@torch.no_grad()
def toy_harm(name: str) -> Float[Tensor, "layer head"]:
    """Accuracy that is lost when a head is closed, over 64 sequences, where a symbol that stood there before comes next."""
    model, (ids, periods) = toy(name), repeated(64, seed=7)
    asked = torch.arange(ids.shape[1] - 1) >= periods[:, None]
    right = ids[:, 1:][asked]

    def accuracy() -> Float[Tensor, ""]:
        return (model(ids)[0][:, :-1].argmax(-1)[asked] == right).double().mean()

    return _lost(model, accuracy)


def _lost(model: Any, score: Callable[[], Tensor]) -> Float[Tensor, "layer head *score"]:
    whole, layers = score(), []
    for at, layer in enumerate(model.layers):
        heads = []
        for head in range(layer.num_heads):
            with data.without_heads(model, {(at, head)}):
                heads.append(whole - score())
        layers.append(torch.stack(heads))
    return torch.stack(layers)


def hang(
    tokens: list[str],
    ids: Int[Tensor, " position"],
    maps: Float[Tensor, "layer head query key"],
    harm: Float[Tensor, "layer head"],
    places: Float[Tensor, "layer head position"],
    allowed: Bool[Tensor, "query key"],
) -> dict:
    """A scene as it travels: maps in steps of 1/255, numbers with two or three digits, None where a score has no meaning."""
    maps, ids = maps.cpu(), ids.cpu()
    targets, scores = role_targets(ids), []
    for role in ROLES[:-1]:
        score = role_score(maps, targets[role].expand(len(maps), -1, -1))
        enough = targets[role].any(-1).sum() >= FEWEST
        scores.append(score if enough else torch.full_like(score, torch.nan))
    scores.append(broadness(maps, allowed.expand(len(maps), -1, -1)))
    return {
        "tokens": tokens,
        "maps": (255 * maps).round().to(torch.uint8),
        "roles": _short(torch.stack(scores, -1)),
        "harm": _short(harm),
        "places": _short(places, 2),
    }


def _short(values: Tensor, digits: int = 3) -> list:
    def cut(value: Any) -> Any:
        if isinstance(value, list):
            return [cut(item) for item in value]
        if math.isnan(value):
            return None
        # What is only rounding differs from processor to processor, in its sign as well.
        return float(f"{value:.{digits}g}") if abs(value) > 1e-9 else 0.0

    return cut(values.double().cpu().tolist())
