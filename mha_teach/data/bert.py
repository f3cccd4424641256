"""A real encoder, all-MiniLM-L6-v2, whose attention is our ``MultiHeadAttention`` (chapter 06)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from mha_teach.data.weights import find, need
from mha_teach.multihead import MultiHeadAttention
from mha_teach.shapes import Bool, Float, Int, Tensor

LAYERS, HEADS, D_MODEL, WIDE, WORDS, PLACES, EPS = 6, 12, 384, 1536, 30522, 512, 1e-12


@dataclass(frozen=True)
class Encoded:
    """What the encoder makes of some sentences. Filler at the end of short ones is 0 in ``ids``, False in ``mask``.

    ``tokens`` holds real tokens only, ``len(tokens[s]) == mask[s].sum()``. Rows of ``attention`` whose query is
    filler mean nothing; columns whose key is filler are 0. ``states[:, 0]`` enters layer 0, ``states[:, -1]`` is ``hidden``.
    """

    tokens: list[list[str]]
    ids: Int[Tensor, "sentence position"]
    mask: Bool[Tensor, "sentence position"]
    states: Float[Tensor, "sentence layer+1 position d_model"]
    attention: Float[Tensor, "sentence layer head query key"]

    @property
    def hidden(self) -> Float[Tensor, "sentence position d_model"]:
        """What leaves the last layer."""
        return self.states[:, -1]

    @property
    def embedding(self) -> Float[Tensor, "sentence d_model"]:
        """One vector of length 1 per sentence: the mean of ``hidden`` over real tokens, as the model was trained for."""
        real = self.mask[..., None].to(self.hidden.dtype)
        return F.normalize((self.hidden * real).sum(1) / real.sum(1), dim=-1)


class Layer(nn.Module):
    """A post-norm block: ``x ← norm(x + attention(x))``, then ``x ← norm(x + W_2 gelu(W_1 x))``."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(D_MODEL, HEADS)
        self.after_attention = nn.LayerNorm(D_MODEL, eps=EPS)
        self.widen, self.narrow = nn.Linear(D_MODEL, WIDE), nn.Linear(WIDE, D_MODEL)
        self.after_mlp = nn.LayerNorm(D_MODEL, eps=EPS)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        mixed, weights = self.attention(x, mask=mask, need_weights=True)
        x = self.after_attention(x + mixed)  # (sentence, position, d_model)
        return self.after_mlp(x + self.narrow(F.gelu(self.widen(x)))), weights


class Encoder(nn.Module):
    """Six layers of twelve heads (d_model 384, d_k 32). ``encoder(["A sentence."])`` returns an ``Encoded``.

    ``encoder.layers[2].attention.without(5)`` closes a head, ``without_heads(encoder, {(2, 5)})`` does the same.
    Source: Devlin et al. 2019 (the layout), Wang et al. 2020 (the weights). Taught in chapter 06.
    """

    def __init__(self) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(WORDS, D_MODEL), nn.Embedding(PLACES, D_MODEL)
        self.kind = nn.Embedding(2, D_MODEL)  # first or second of a pair; a single sentence is all "first"
        self.norm = nn.LayerNorm(D_MODEL, eps=EPS)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.tokenizer = None

    def forward(self, sentences: Sequence[str]) -> Encoded:
        """Tokenise and run. Raises ``TypeError`` for a bare string, ``ValueError`` for none or one that is too long."""
        return self.run(*self.tokenise(sentences))

    def tokenise(self, sentences: Sequence[str]) -> tuple[Tensor, Tensor]:
        """``(ids, mask)``, both (sentence, position), with [CLS] first, [SEP] last and filler behind."""
        if isinstance(sentences, str):
            raise TypeError("got one string; the encoder takes a list of sentences: encoder([sentence]).")
        if not len(sentences):
            raise ValueError("got 0 sentences; give at least 1.")
        rows = [row.ids for row in self.tokenizer.encode_batch(list(sentences))]
        long = max(range(len(rows)), key=lambda at: len(rows[at]))
        if len(rows[long]) > PLACES:
            raise ValueError(
                f"sentence {long} has {len(rows[long])} tokens and the encoder has {PLACES} places; cut it in pieces."
            )
        rows = [torch.tensor(row) for row in rows]
        real = [torch.ones(len(row), dtype=torch.bool) for row in rows]
        pad = nn.utils.rnn.pad_sequence
        return pad(rows, batch_first=True), pad(real, batch_first=True)  # filler: id 0, [PAD], and False

    def run(
        self, ids: Int[Tensor, "sentence position"], mask: Bool[Tensor, "sentence position"] | None = None
    ) -> Encoded:
        """The same from token ids, in any order the caller likes. ``mask``: True = a real token; default: all are.

        Raises ``ValueError`` where ids and mask differ in shape or there are more positions than places.
        """
        mask = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
        if ids.dim() != 2 or ids.shape != mask.shape or ids.shape[1] > PLACES:
            raise ValueError(
                f"ids have shape {tuple(ids.shape)} and mask {tuple(mask.shape)}; both need (sentence, position), "
                f"with at most {PLACES} positions."
            )
        x = self.word(ids) + self.place.weight[: ids.shape[1]] + self.kind.weight[0]
        states, maps = [self.norm(x)], []  # states: (sentence, position, d_model)
        for layer in self.layers:
            x, weights = layer(states[-1], mask[:, None, :])
            states.append(x)
            maps.append(weights)
        tokens = [
            [self.tokenizer.id_to_token(i) for i in row[real].tolist()]
            for row, real in zip(ids, mask, strict=True)
        ]
        return Encoded(tokens, ids, mask, torch.stack(states, 1), torch.stack(maps, 1))


def encoder(weights: str = "minilm", seed: int = 0) -> Encoder:
    """The real encoder in eval mode, float32, frozen, and its control.

    ``"minilm"``: all-MiniLM-L6-v2, read from its safetensors file; ``seed`` changes nothing.
    ``"random"``: the same architecture as BERT starts out before training, N(0, 0.02²) and zero biases, one draw per seed.

    Raises ``MissingWeights`` and ``ImportError`` that name the command to type, ``ValueError`` for other names.
    Taught in chapter 06.
    """
    if weights not in ("minilm", "random"):
        raise ValueError(f"weights is {weights!r}; there are 'minilm' and 'random'.")
    tokenizer = need("tokenizers").Tokenizer.from_file(str(find("tokenizer.json")))
    tokenizer.no_truncation()  # the file asks for exactly 128 tokens each; padding is ours to do
    tokenizer.no_padding()
    with torch.device("meta"):  # no memory, no time, and no draw from the caller's random numbers
        model = Encoder()
    state = _from_file() if weights == "minilm" else _at_random(model, seed)
    model.load_state_dict(state, assign=True)
    model.tokenizer = tokenizer
    return model.eval().requires_grad_(False)


def _from_file() -> dict[str, Tensor]:
    """BERT's names in ours; the three projections of a layer go one below the other."""
    file = need("safetensors.torch").load_file(find("model.safetensors"))
    renamed = {"word": "word_embeddings", "place": "position_embeddings", "kind": "token_type_embeddings"}
    state = {f"{ours}.weight": file[f"embeddings.{theirs}.weight"] for ours, theirs in renamed.items()}
    names = {
        "attention.out_proj": "attention.output.dense",
        "after_attention": "attention.output.LayerNorm",
        "widen": "intermediate.dense",
        "narrow": "output.dense",
        "after_mlp": "output.LayerNorm",
    }
    for what in ("weight", "bias"):
        state[f"norm.{what}"] = file[f"embeddings.LayerNorm.{what}"]
        for i in range(LAYERS):
            theirs, ours = f"encoder.layer.{i}", f"layers.{i}"
            parts = [file[f"{theirs}.attention.self.{part}.{what}"] for part in ("query", "key", "value")]
            state[f"{ours}.attention.in_proj_{what}"] = torch.cat(parts)
            state |= {f"{ours}.{a}.{what}": file[f"{theirs}.{b}.{what}"] for a, b in names.items()}
    return state


def _at_random(model: Encoder, seed: int) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    state = {}
    for name, empty in model.state_dict().items():
        norm = name.split(".")[-2].startswith(("norm", "after"))
        if name.endswith("bias") or norm:
            state[name] = torch.full(empty.shape, float(norm and name.endswith("weight")))
        else:
            state[name] = 0.02 * torch.randn(empty.shape, generator=draw)
    return state
