"""The mask atlas against transformers, Keras and JAX themselves; torch's own rows are proven in test_masking.py.

The three are in the extra ``dev`` and nowhere else: the package and the book never import them.
"""

from __future__ import annotations

import os

import pytest
import torch

from mha_teach.attention import attend
from mha_teach.conventions import from_convention, to_convention
from mha_teach.masking import causal, combine, padding

os.environ.setdefault("KERAS_BACKEND", "torch")
B, H, L, S, D = 2, 3, 5, 7, 11
SCORES = (B, H, L, S)


def masks() -> dict[str, torch.Tensor]:
    """Without blind rows; what each library does with those is a test of its own."""
    torch.manual_seed(1)
    rand = torch.rand(SCORES) > 0.4
    rand[..., 2] = True
    return {
        "query, key": causal(L, S, "end"),
        "padding": padding([3, 7]),
        "batch, query, key": combine(padding([3, 7]), causal(L, S, "start")),
        "heads": rand,
    }


def over_scores(mask: torch.Tensor) -> torch.Tensor:
    return mask.unsqueeze(1) if mask.dim() == 3 else mask


def draw() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return tuple(torch.randn(B, H, n, D) for n in (L, S, S))


def close(a, b):
    torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


# --- JAX


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_platforms", "cpu")
    return jax


def through_jax(jax, q, k, v, mask):
    """jax.nn.dot_product_attention, whose axes are (batch, position, head, dim)."""
    q, k, v = (jax.numpy.asarray(x.transpose(1, 2).numpy()) for x in (q, k, v))
    out = jax.nn.dot_product_attention(q, k, v, mask=jax.numpy.asarray(mask.numpy()))
    return torch.tensor(jax.device_get(out)).transpose(1, 2)


@pytest.mark.parametrize("kind", masks())
def test_jax(jax, kind):
    q, k, v = draw()
    mask = masks()[kind]
    theirs = to_convention(mask, "jax.mask", SCORES)
    close(through_jax(jax, q, k, v, theirs), attend(q, k, v, over_scores(mask))[0])
    assert torch.equal(from_convention(theirs, "jax.mask").expand(SCORES), over_scores(mask).expand(SCORES))


def test_jax_reads_a_blind_row_as_uniform_and_refuses_numbers(jax):
    q, k, v = draw()
    mask = torch.ones(SCORES, dtype=torch.bool)
    mask[:, :, 1] = False
    close(through_jax(jax, q, k, v, mask)[:, :, 1], v.mean(-2))
    with pytest.raises(ValueError, match="should be bool"):
        through_jax(jax, q, k, v, mask.float())


# --- Keras


@pytest.fixture(scope="module")
def keras():
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "torch":
        pytest.skip("Keras is set to another backend than torch")
    return keras


def through_keras(keras, q, k, v, mask):
    """Heads' outputs of keras.layers.MultiHeadAttention with identity projections, and its weights."""
    layer = keras.layers.MultiHeadAttention(num_heads=H, key_dim=D, use_bias=False)
    flat = [x.transpose(1, 2).flatten(2) for x in (q, k, v)]
    layer.build(*(x.shape for x in flat))
    eye = torch.eye(H * D)
    layer.set_weights([eye.view(H * D, H, D)] * 3 + [eye.view(H, D, H * D)])
    out, weights = layer(
        flat[0], flat[2], flat[1], attention_mask=mask, return_attention_scores=True
    )  # Keras' order: query, value, key
    return out.detach().cpu().unflatten(-1, (H, D)).transpose(1, 2), weights.detach().cpu()


@pytest.mark.parametrize("kind", ["query, key", "padding", "batch, query, key"])
def test_keras(keras, kind):
    q, k, v = draw()
    mask = masks()[kind]
    theirs = to_convention(mask, "keras.attention_mask", SCORES)
    out, weights = through_keras(keras, q, k, v, theirs)
    expected = attend(q, k, v, over_scores(mask))
    close(out, expected[0])
    close(weights, expected[1])
    back = from_convention(theirs, "keras.attention_mask")
    assert torch.equal(over_scores(back).expand(SCORES), over_scores(mask).expand(SCORES))


def test_keras_takes_zeros_and_ones_and_empties_a_blind_row(keras):
    q, k, v = draw()
    mask = torch.ones(B, L, S, dtype=torch.bool)
    mask[:, 1, 2:] = False
    close(through_keras(keras, q, k, v, mask.float())[0], through_keras(keras, q, k, v, mask)[0])
    mask[:, 3] = False
    out, weights = through_keras(keras, q, k, v, mask)
    assert (out[:, :, 3] == 0).all() and (weights[:, :, 3] == 0).all()


# --- transformers


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers")


def bert(transformers, implementation: str = "eager"):
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=H * D,
        num_attention_heads=H,
        num_hidden_layers=1,
        intermediate_size=13,
        vocab_size=17,
        max_position_embeddings=S,
        attn_implementation=implementation,
    )
    model = transformers.BertModel(config).eval()
    with torch.no_grad():  # large enough scores that a mask that is missed shows
        for part in (model.encoder.layer[0].attention.self.query, model.encoder.layer[0].attention.self.key):
            part.weight.normal_(0, 0.3)
    return model


def by_hand(model, ids, mask):
    """The weights of the model's first layer from its own projections and our ``attend``."""
    layer, x = model.encoder.layer[0].attention.self, model.embeddings(input_ids=ids)
    q, k, v = (
        part(x).unflatten(-1, (H, D)).transpose(1, 2) for part in (layer.query, layer.key, layer.value)
    )
    return attend(q, k, v, mask)[1]


IDS = torch.arange(B * S).view(B, S) % 17
FULL = (B, H, S, S)


def test_transformers_attention_mask_is_about_keys(transformers):
    model, mask = bert(transformers), padding([3, 7])
    theirs = to_convention(mask, "transformers.attention_mask")
    assert theirs.tolist() == [[1, 1, 1, 0, 0, 0, 0], [1] * 7]
    with torch.no_grad():
        weights = model(IDS, attention_mask=theirs, output_attentions=True).attentions[0]
        close(weights, by_hand(model, IDS, mask[:, None]))
    assert torch.equal(from_convention(theirs, "transformers.attention_mask"), mask)


@pytest.mark.parametrize("kind", ["causal", "batch, query, key"])
def test_transformers_adds_a_mask_of_four_axes(transformers, kind):
    mask = {"causal": causal(S), "batch, query, key": combine(padding([3, 7]), causal(S))}[kind]
    model = bert(transformers)
    theirs = to_convention(mask, "transformers.attention_mask.4d", (B, 1, S, S))
    assert theirs.shape == (B, 1, S, S) and theirs.dtype == torch.float32
    with torch.no_grad():
        weights = model(IDS, attention_mask=theirs, output_attentions=True).attentions[0]
        close(weights, by_hand(model, IDS, over_scores(mask)))
    back = from_convention(theirs, "transformers.attention_mask.4d")
    assert torch.equal(back.expand(FULL), over_scores(mask).expand(FULL))


def test_transformers_eager_adds_booleans_as_numbers_and_so_masks_nothing(transformers):
    """Four axes of booleans: "eager" adds 0 and 1, "sdpa" reads True = may look. No error in either."""
    mask = causal(S).expand(B, 1, S, S)
    with torch.no_grad():
        eager = bert(transformers)(IDS, attention_mask=mask, output_attentions=True).attentions[0]
        assert eager[:, :, 0, 1:].min() > 0
        seen = [
            bert(transformers, "sdpa")(ids, attention_mask=mask).last_hidden_state[:, 0]
            for ids in (IDS, late())
        ]
        close(*seen)


def late() -> torch.Tensor:
    """Other words everywhere but in the first place."""
    return torch.cat([IDS[:, :1], (IDS[:, 1:] + 5) % 17], 1)


def test_a_causal_model_adds_causality_to_its_attention_mask(transformers):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=H * 4,
        num_attention_heads=H,
        num_key_value_heads=H,
        num_hidden_layers=1,
        intermediate_size=13,
        vocab_size=17,
        attn_implementation="eager",
    )
    model = transformers.LlamaModel(config).eval()
    theirs = to_convention(padding([3, 7]), "transformers.attention_mask")
    with torch.no_grad():
        weights = model(IDS, attention_mask=theirs, output_attentions=True).attentions[0]
    allowed = over_scores(combine(padding([3, 7]), causal(S))).expand(FULL)
    assert torch.equal(weights > 0, allowed)


def test_the_comparison_can_fail(transformers):
    model, mask = bert(transformers), padding([3, 7])
    with torch.no_grad():
        weights = model(IDS, attention_mask=(~mask[:, 0]).long().clamp(min=0), output_attentions=True)
        with pytest.raises(AssertionError):
            close(weights.attentions[0][1], by_hand(model, IDS, mask[:, None])[1])
