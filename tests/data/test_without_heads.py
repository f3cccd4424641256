"""Closing heads from outside, in our models and in transformers', each held to a cut made by hand in W_o."""

from __future__ import annotations

import copy

import pytest
import torch

from mha_teach.data import without_heads
from mha_teach.multihead import MultiHeadAttention

transformers = pytest.importorskip("transformers")
SMALL = {"vocab_size": 53, "attn_implementation": "eager"}


def build(name):
    """A small random model, and the columns of W_o as a (layer) list of (d_model, head · d_v) tensors."""
    torch.manual_seed(0)
    if name == "bert":
        config = transformers.BertConfig(
            hidden_size=35, num_attention_heads=5, num_hidden_layers=3, intermediate_size=37, **SMALL
        )
        model = transformers.BertForMaskedLM(config)
        outs = [layer.attention.output.dense.weight for layer in model.bert.encoder.layer]
    elif name == "gpt2":
        config = transformers.GPT2Config(n_embd=35, n_head=5, n_layer=3, n_positions=41, **SMALL)
        model = transformers.GPT2LMHeadModel(config)
        outs = [layer.attn.c_proj.weight.T for layer in model.transformer.h]
    else:
        config = transformers.LlamaConfig(
            hidden_size=36,
            num_attention_heads=6,
            num_key_value_heads=2,
            num_hidden_layers=3,
            intermediate_size=37,
            **SMALL,
        )
        model = transformers.LlamaForCausalLM(config)
        outs = [layer.self_attn.o_proj.weight for layer in model.model.layers]
    return model.eval(), outs


IDS = torch.tensor([[1, 5, 9, 2, 7, 7, 3], [4, 4, 8, 1, 2, 11, 13]])
NAMES = ["bert", "gpt2", "llama"]


def logits(model, **options):
    with torch.no_grad():
        return model(input_ids=IDS, **options).logits


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_head_equals_zeroed_columns_of_w_o(name):
    model, _ = build(name)
    cut, outs = build(name)
    before = logits(model)
    heads = {(0, 1), (2, 0), (2, 4)}
    for layer, head in heads:
        wide = outs[layer].shape[1] // model.config.num_attention_heads
        outs[layer].data[:, head * wide : (head + 1) * wide] = 0.0
    with without_heads(model, heads) as same:
        assert same is model
        torch.testing.assert_close(logits(model), logits(cut), atol=1e-6, rtol=0.0)
    assert (logits(cut) - before).abs().max() > 1e-4
    assert torch.equal(logits(model), before), "all is as before"


@pytest.mark.parametrize("name", NAMES)
def test_head_mask_is_ignored_by_transformers_and_ours_is_not(name):
    if int(transformers.__version__.partition(".")[0]) < 5:
        pytest.skip("transformers 4 still reads head_mask")
    model, _ = build(name)
    count = model.config.num_attention_heads
    before = logits(model)
    try:
        masked = logits(model, head_mask=torch.zeros(3, count))  # asks to close every head
    except TypeError:
        masked = before  # refused is as good as ignored: it closes nothing
    assert torch.equal(masked, before)
    with without_heads(model, {(layer, head) for layer in range(3) for head in range(count)}):
        assert (logits(model) - before).abs().max() > 1e-4


def test_our_encoder_and_its_gates_agree(minilm, texts, encoded):
    with without_heads(minilm, [(2, 5), (0, 11)]):
        hooked = minilm(texts).hidden
    with minilm.layers[2].attention.without(5), minilm.layers[0].attention.without(11):
        gated = minilm(texts).hidden
    torch.testing.assert_close(hooked, gated, atol=1e-6, rtol=0.0)
    assert (hooked - encoded.hidden)[encoded.mask].abs().max() > 0.1
    assert torch.equal(minilm(texts).hidden, encoded.hidden)


def test_nesting_adds_up(minilm, texts):
    with without_heads(minilm, {(1, 3)}):
        with without_heads(minilm, {(1, 7), (4, 0)}):
            inner = minilm(texts).hidden
        outer = minilm(texts).hidden
    with without_heads(minilm, {(1, 3), (1, 7), (4, 0)}):
        assert torch.equal(inner, minilm(texts).hidden)
    with without_heads(minilm, {(1, 3)}):
        assert torch.equal(outer, minilm(texts).hidden)


def test_an_error_inside_restores_as_well(minilm, texts, encoded):
    with pytest.raises(RuntimeError, match="on purpose"), without_heads(minilm, {(0, 0)}):
        raise RuntimeError("on purpose")
    assert torch.equal(minilm(texts).hidden, encoded.hidden)
    assert not any(module._forward_pre_hooks for module in minilm.modules())


def test_nan_of_a_closed_head_stays_inside():
    module = MultiHeadAttention(6, 3)
    module.in_proj_bias.data[12:14] = torch.nan  # values of head 0
    x = torch.randn(2, 5, 6)
    assert module(x)[0].isnan().all()
    with without_heads(module, {(0, 0)}):
        assert not module(x)[0].isnan().any()


def test_no_heads_is_no_change(minilm, texts, encoded):
    with without_heads(minilm, ()):
        assert torch.equal(minilm(texts).hidden, encoded.hidden)


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ({(6, 2)}, r"layer 6 \(for its head 2\) of 6 layers; layers count from 0 to 5"),
        ({(-1, 2)}, r"layer -1 \(for its head 2\) of 6 layers"),
        ({(5, 12)}, "head 12 in layer 5, which has 12 heads; they count from 0 to 11"),
        ({(0, 1), (4, -3)}, "head -3 in layer 4, which has 12 heads"),
    ],
)
def test_errors_name_layer_head_and_sizes_and_leave_no_hook(minilm, heads, said):
    with pytest.raises(IndexError, match=said), without_heads(minilm, heads):
        pass
    assert not any(module._forward_pre_hooks for module in minilm.modules())


def test_a_model_without_a_known_projection_is_named():
    with (
        pytest.raises(TypeError, match="Linear has no output projection"),
        without_heads(torch.nn.Linear(2, 2), {(0, 0)}),
    ):
        pass


def test_a_compiled_model_is_refused(minilm):
    compiled = torch.compile(copy.copy(minilm))
    with pytest.raises(TypeError, match="before torch.compile"), without_heads(compiled, {(0, 0)}):
        pass
