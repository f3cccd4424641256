"""Head gallery: a head's map beside the control's, and what its knock-out does to the output (chapter 06)."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

import torch

from mha_teach.shapes import Float, Tensor
from mha_teach.widgets import exhibits, pictures, static
from mha_teach.widgets.base import Choice, Problem, Widget, judged, outside


class HeadGallery(Widget):
    """One head of ``model`` on one sentence: its map, its roles and the control's, and with ``closed`` the knock-out.

    ``model`` is "minilm", its control "random" (the same shape, random weights), "toy", or its control "toy_random".
    ``layer`` and ``head`` count from 0. ``sentence`` -1 takes the words of ``text``. Where the real encoder's weights
    can't be found, ``message`` says how to get them and the toy is shown.
    """

    NAME = "head_gallery"
    CHOICES: ClassVar = {
        "model": "minilm",
        "layer": 0,
        "head": 2,
        "sentence": 0,
        "text": static.words(NAME)["own_text"],
        "closed": False,
    }
    SHOWN = ("model", "layer", "head", "closed")
    STATIC: ClassVar = {"layer": [0, 5, 1], "head": [0, 11, 1], "sentence": [0, 2, 1], "words": [1, 24]}
    LIVE: ClassVar = STATIC | {"sentence": [-1, 2, 1], "tokens": 32}

    model = Choice("minilm").tag(sync=True)
    layer = Choice(0).tag(sync=True)
    head = Choice(2).tag(sync=True)
    sentence = Choice(0).tag(sync=True)
    text = Choice("").tag(sync=True)
    closed = Choice(False).tag(sync=True)
    _admit = judged(CHOICES)

    def __init__(self, device: str | None = None, **choices: Any) -> None:
        shown = exhibits.on_show(look_again=True)
        # What may be chosen depends on which models are here, so these limits are the instance's own.
        self.LIVE, self.STATIC = ({**limits, "models": shown} for limits in (self.LIVE, self.STATIC))
        if shown[0][0] != self.CHOICES["model"]:
            # Without the real encoder everything starts at the first model that is here.
            self.CHOICES = {**self.CHOICES, "model": shown[0][0], "layer": 0, "head": 0}
        super().__init__(device, **choices)
        if exhibits.missing():
            self.message = {"field": "model", "text": self.words["missing"]}

    @classmethod
    def misfit(cls, choices: dict, limits: dict, words: dict) -> Problem | None:
        names, sizes = words["field_names"], {name: size for name, *size in limits["models"]}
        if choices["model"] not in list(sizes):  # a list: the reader's value may have no hash
            if choices["model"] in [name for name, _ in words["models"]]:
                return "model", words["missing"]
            return "model", words["choose"].format(label=names["model"], options=", ".join(sizes))
        for name, size in zip(("layer", "head"), sizes[choices["model"]], strict=True):
            if found := outside(name, choices[name], {name: [0, size - 1, 1]}, words, names[name]):
                return found
        if not isinstance(choices["closed"], bool):
            return "closed", words["choose"].format(label=names["closed"], options="True, False")
        return None if choices["sentence"] >= 0 else _own(choices, limits, words)

    @classmethod
    def compute(cls, choices: dict, device: str = "cpu", dtype: torch.dtype = torch.float32) -> dict:
        words, sentence = static.words(cls.NAME), int(choices["sentence"])
        text = words["sentences"][sentence] if sentence >= 0 else choices["text"]
        scenes = exhibits.scenes(sentence, text, device, dtype)
        maps = {f"maps_{name}": scene["maps"] for name, scene in scenes.items()}
        rest = {
            name: {part: value for part, value in scene.items() if part != "maps"}
            for name, scene in scenes.items()
        }
        return {"sentence": sentence, "scenes": rest, **maps}

    def html(self) -> str:
        choices = self.choices()
        if self.problem(choices, self.STATIC):
            choices = dict(self.CHOICES)
        state = {**choices, "limits": self.STATIC, "baked": baked()}
        return static.block(self.NAME, state, *self.picture(choices))

    @classmethod
    def picture(cls, choices: dict) -> tuple[str, str, str]:
        words, name = static.words(cls.NAME), choices["model"]
        scenes = exhibits.scenes(int(choices["sentence"]), words["sentences"][int(choices["sentence"])])
        trained, control = exhibits.pair(name)
        layer, head = int(choices["layer"]), int(choices["head"])
        roles = [scenes[which]["roles"][layer][head] for which in (trained, control)]
        role = max(range(len(exhibits.ROLES) - 1), key=lambda k: roles[0][k] or 0)
        values = {
            "name": f"L{layer}H{head}",
            "sentence": " ".join(scenes[trained]["tokens"]),
            "role": words["roles"][role],
            "score": f"{roles[0][role] or 0:.2f}",
            "control": f"{roles[1][role] or 0:.2f}",
        }
        pair = [_weights(scenes[which]["maps"])[layer, head] for which in (trained, control)]
        svg = pictures.two_maps(pair, scenes[trained]["tokens"], words["columns"])
        return svg, words["picture_alt"].format(**values), words["picture_caption"].format(**values)


def _own(choices: dict, limits: dict, words: dict) -> Problem | None:
    """What is wrong with the reader's own words."""
    if choices["model"] not in exhibits.REAL:
        return "sentence", words["toy_words"]
    low, high = limits["words"]
    n = len(choices["text"].split()) if isinstance(choices["text"], str) else 0
    if not low <= n <= high:
        return "text", words["text_size"].format(low=low, high=high, n=n)
    if len(choices["text"]) > 1000 or exhibits.count_tokens(choices["text"]) > limits["tokens"]:
        return "text", words["too_long"].format(high=limits["tokens"])
    return None


def _weights(maps: Tensor) -> Float[Tensor, "layer head query key"]:
    return maps.double() / 255


def baked() -> list[dict]:
    """For each sentence the scenes of all models, with the maps as base64: what a page without a kernel shows."""
    out = []
    for sentence, text in enumerate(static.words(HeadGallery.NAME)["sentences"]):
        scenes = exhibits.scenes(sentence, text)
        out.append({name: {**scene, "maps": _base64(scene["maps"])} for name, scene in scenes.items()})
    return out


def _base64(maps: Tensor) -> str:
    return base64.b64encode(maps.contiguous().numpy().tobytes()).decode()
