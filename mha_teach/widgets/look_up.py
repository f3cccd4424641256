"""Look-up: one query among three keys, to be turned and stretched, and a crowd that fits not at all (chapter 00)."""

from __future__ import annotations

import math
from typing import ClassVar

import torch

from mha_teach.attention import attend
from mha_teach.shapes import Float, Tensor
from mha_teach.widgets import pictures, static
from mha_teach.widgets.base import Choice, Widget, judged


def parts(
    angle: float, length: float, others: int
) -> tuple[Float[Tensor, "1 2"], Float[Tensor, "key 2"], Float[Tensor, "key 2"]]:
    """The query at ``angle`` degrees, and the keys and values of the three words, then of ``others`` words of zeros."""
    tokens = static.words("look_up")["tokens"]
    turn = math.radians(angle)
    q = torch.tensor([[length * math.cos(turn), length * math.sin(turn)]], dtype=torch.float64)
    crowd = torch.zeros(others, 2, dtype=torch.float64)
    k, v = (torch.tensor([token[name] for token in tokens], dtype=torch.float64) for name in ("key", "value"))
    return q, torch.cat([k, crowd]), torch.cat([v, crowd])


class LookUp(Widget):
    """The query of "it": its ``angle`` in degrees, its ``length``, and how many ``others`` stand by with a key of zeros."""

    NAME = "look_up"
    CHOICES: ClassVar = {"angle": 0, "length": 2, "others": 0}
    STATIC: ClassVar = {"angle": [-180, 180, 0], "length": [0, 4, 0], "others": [0, 10_000, 1]}
    LIVE: ClassVar = STATIC

    angle = Choice(0).tag(sync=True)
    length = Choice(2).tag(sync=True)
    others = Choice(0).tag(sync=True)
    _admit = judged(CHOICES)

    @classmethod
    def compute(cls, choices: dict, device: str = "cpu", dtype: torch.dtype = torch.float32) -> dict:
        made = parts(float(choices["angle"]), float(choices["length"]), int(choices["others"]))
        q, k, v = (x.to(device, dtype) for x in made)
        output, weights = attend(q, k, v)
        return {
            "query": q[0].tolist(),
            "scores": (q @ k[:3].T / math.sqrt(2))[0].tolist(),
            "weights": weights[0, :3].tolist(),
            "crowd": weights[0, 3:].sum().item(),
            "output": output[0].tolist(),
        }

    @classmethod
    def picture(cls, choices: dict) -> tuple[str, str, str]:
        q, k, v = parts(float(choices["angle"]), float(choices["length"]), 0)
        weights, words = attend(q, k, v)[1][0], static.words(cls.NAME)
        names = [token["word"] for token in words["tokens"]]
        top = int(weights.argmax())
        listed = ", ".join(
            f"{name} {weight:.2f}" for name, weight in zip(names, weights.tolist(), strict=True)
        )
        values = {
            "angle": choices["angle"],
            "length": choices["length"],
            "word": names[top],
            "weights": listed,
        }
        values["max"] = f"{100 * weights[top]:.0f} %"
        svg = pictures.plane_and_bars(q[0], k, weights, names)
        return svg, words["picture_alt"].format(**values), words["picture_caption"].format(**values)
