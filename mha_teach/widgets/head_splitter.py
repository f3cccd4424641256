"""Head splitter: one square of numbers cut into h heads, and what reaches a word (chapter 01)."""

from __future__ import annotations

import math
from typing import ClassVar

import torch

from mha_teach import attention, collapse
from mha_teach.shapes import Float, Int, Tensor
from mha_teach.widgets import pictures, static
from mha_teach.widgets.base import Choice, Problem, Widget, judged
from mha_teach.widgets.draws import normals

D_MODEL, KEY, NOISE = 64, 32, 0.7
COARSE = 2**20  # more weights than this travel as bytes of 1/255


def sentence_of(choices: dict) -> tuple[list[str], Int[Tensor, "role query"]]:
    """The words and, for both questions, the position of each word's right answer; sentence -1 is the reader's own."""
    if choices["sentence"] >= 0:
        known = static.words("head_splitter")["sentences"][int(choices["sentence"])]
        return known["words"], torch.tensor(known["targets"])
    own = choices["text"].split()
    place = torch.arange(len(own))
    return own, torch.stack([place + 1, place - 1]).clamp(0, len(own) - 1)


def embed(
    targets: Int[Tensor, "role query"], seed: int
) -> tuple[Float[Tensor, "role query key_width"], Float[Tensor, "role key key_width"]]:
    """Queries and keys: q_i = (k_target(i) + 0.7 ε) / √1.49 for each question, all numbers of variance 1."""
    roles, n = targets.shape
    keys = normals(seed, 0, roles * n * KEY).view(roles, n, KEY)
    noise = normals(seed, 2, roles * n * KEY).view(roles, n, KEY)
    looked_for = keys.gather(1, targets[..., None].expand(-1, -1, KEY))
    return (looked_for + NOISE * noise) / math.hypot(1, NOISE), keys


def cut(
    x: Float[Tensor, "role position key_width"], num_heads: int, d_k: int
) -> Float[Tensor, "head position d_k"]:
    """The inner width h·d_k, first half from question 1, second half from question 2, cut into heads.

    Where a half is longer than a key's 32 numbers they repeat; where it is shorter the last ones are left out.
    """
    width = num_heads * d_k
    place = torch.arange(width)
    second = (2 * place >= width).long()
    inner = x[second, :, (place - second * math.ceil(width / 2)) % KEY]  # (h·d_k, position)
    return inner.view(num_heads, d_k, -1).transpose(1, 2)


def served(num_heads: int, d_k: int) -> Float[Tensor, "role head"]:
    """1/count for the heads that carry numbers of a question, else 0: the sum that W_o can take."""
    first = torch.arange(num_heads) * d_k
    half = num_heads * d_k / 2
    carries = torch.stack([first < half, first + d_k > half]).double()
    return carries / carries.sum(1, keepdim=True)


class HeadSplitter(Widget):
    """Cuts one attention into ``num_heads`` heads. ``d_k`` counts only when ``tied`` is False.

    Keys and queries are constructed, not learned: each word asks two questions and the right answers are written
    down, so it can be counted how many of them arrive. ``sentence`` -1 takes the words of ``text``.
    """

    NAME = "head_splitter"
    CHOICES: ClassVar = {
        "num_heads": 1,
        "d_k": 64,
        "tied": True,
        "sentence": 0,
        "text": static.words(NAME)["own_text"],
        "query": 6,
        "seed": 0,
    }
    STATIC: ClassVar = {
        "num_heads": [1, 64, 1],
        "d_k": [1, 64, 1],
        "sentence": [-1, 2, 1],
        "query": [0, 255, 1],
        "seed": [0, 9999, 1],
        "words": [2, 24],
    }
    LIVE: ClassVar = STATIC | {"d_k": [1, 1024, 1], "words": [2, 256]}

    num_heads = Choice(1).tag(sync=True)
    d_k = Choice(64).tag(sync=True)
    tied = Choice(True).tag(sync=True)
    sentence = Choice(0).tag(sync=True)
    text = Choice("").tag(sync=True)
    query = Choice(6).tag(sync=True)
    seed = Choice(0).tag(sync=True)
    _admit = judged(CHOICES)

    @classmethod
    def misfit(cls, choices: dict, limits: dict, words: dict) -> Problem | None:
        if not isinstance(choices["tied"], bool):
            return "tied", words["choose"].format(label=words["field_names"]["tied"], options="True, False")
        if choices["tied"] and D_MODEL % choices["num_heads"]:
            options = ", ".join(str(h) for h in range(1, D_MODEL + 1) if D_MODEL % h == 0)
            values = {"h": choices["num_heads"], "d_model": D_MODEL, "options": options}
            return "num_heads", words["divide"].format(**values)
        low, high = limits["words"]
        n = len(choices["text"].split()) if isinstance(choices["text"], str) else 0
        if choices["sentence"] < 0 and not low <= n <= high:
            return "text", words["text_size"].format(low=low, high=high, n=n)
        return None

    @classmethod
    def compute(cls, choices: dict, device: str = "cpu", dtype: torch.dtype = torch.float32) -> dict:
        tokens, targets = sentence_of(choices)
        n, h = len(tokens), int(choices["num_heads"])
        d_k = D_MODEL // h if choices["tied"] else int(choices["d_k"])
        queries, keys = (x.to(device, dtype) for x in embed(targets, int(choices["seed"])))
        q, k = cut(queries, h, d_k), cut(keys, h, d_k)
        _, maps = attention.attend(q, k, torch.eye(n).to(q).expand(h, n, n))  # (h, query, key)
        answers = torch.einsum("rh,hij->rij", served(h, d_k).to(maps), maps)
        arrived = answers.gather(
            -1, targets.to(device)[..., None]
        )  # weight on the right word, (role, query, 1)
        scores = q @ k.mT * d_k**-0.5
        return {
            "n": n,
            "h": h,
            "d_k": d_k,
            "sentence": int(choices["sentence"]),
            "text": choices["text"],
            "coarse": maps.numel() > COARSE,
            "maps": (255 * maps).round().to(torch.uint8) if maps.numel() > COARSE else maps,
            "answers": answers,
            "right": int((arrived > 0.5).sum()),
            "on_target": arrived.mean((1, 2)).tolist(),
            "largest": float(maps.amax(-1).mean()),
            "confusion": float(collapse.role_confusion(maps, targets.T.to(device)).mean()),
            "variance": float(scores.var(unbiased=False)),
            "parameters": collapse.parameters(D_MODEL, h, d_k),
            "macs": 4 * n * D_MODEL * h * d_k + 2 * n * n * h * d_k,
            "score_bytes": 4 * h * n * n,
        }

    @classmethod
    def picture(cls, choices: dict) -> tuple[str, str, str]:
        tokens, targets = sentence_of(choices)
        found = cls.compute(choices, dtype=torch.float64)
        two = cls.compute(choices | {"num_heads": 2, "tied": True}, dtype=torch.float64)
        words = static.words(cls.NAME)
        values = {
            "right": found["right"],
            "all": 2 * found["n"],
            "two": two["right"],
            "sentence": " ".join(tokens),
            "h": found["h"],
        }
        svg = pictures.attention_map(found["maps"][0], tokens, targets)
        return svg, words["picture_alt"].format(**values), words["picture_caption"].format(**values)
