"""Our module runs the real weights: held against transformers' BertModel, from the same file."""

from __future__ import annotations

import copy
import hashlib
import subprocess
import sys

import pytest
import torch

from mha_teach.data import encoder, weights

TOLERANCE = 1e-5
NEAR = {"atol": TOLERANCE, "rtol": 0.0}


@pytest.fixture(scope="module")
def theirs():
    transformers = pytest.importorskip("transformers")
    folder = weights.find("model.safetensors").parent
    return transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval()


def run(theirs, encoded):
    """(states, attention) of transformers, axes as ours; filler told by its own mask, 1 = real."""
    with torch.no_grad():
        out = theirs(
            input_ids=encoded.ids,
            attention_mask=encoded.mask.long(),
            output_attentions=True,
            output_hidden_states=True,
        )
    return torch.stack(out.hidden_states, 1), torch.stack(out.attentions, 1)


def distance(encoded, reference) -> float:
    """Largest difference at real queries, over attention and every layer's states."""
    states, attention = reference
    real = encoded.mask
    return max(
        (states - encoded.states).transpose(1, 2)[real].abs().max().item(),
        (attention - encoded.attention).permute(0, 3, 1, 2, 4)[real].abs().max().item(),
    )


def test_it_reproduces_transformers_attention_and_hidden_states(theirs, encoded):
    assert not encoded.mask.all(), "filler must be in the batch"
    assert distance(encoded, run(theirs, encoded)) <= TOLERANCE


def test_in_float64_they_agree_to_rounding_filler_included(theirs, minilm, texts):
    double = copy.deepcopy(minilm).double()(texts)
    states, attention = run(copy.deepcopy(theirs).double(), double)
    torch.testing.assert_close(double.states, states, atol=1e-11, rtol=0.0)
    torch.testing.assert_close(double.attention, attention, atol=1e-11, rtol=0.0)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: setattr(m.layers[3].after_mlp, "eps", 1e-5),
        lambda m: m.layers[5].attention.in_proj_weight.data[::97].mul_(1.01),
        lambda m: m.layers[0].attention.in_proj_bias.data[:384].zero_(),
        lambda m: setattr(m.layers[2].attention, "gate", torch.tensor([1.0] * 11 + [0.99])),
        lambda m: m.place.weight.data.copy_(m.place.weight.data.roll(1, 0)),
        lambda m: m.kind.weight.data.copy_(m.kind.weight.data.flip(0)),
    ],
    ids=[
        "eps",
        "one per cent of W",
        "no query bias",
        "a head at .99",
        "places off by one",
        "second of a pair",
    ],
)
def test_that_comparison_can_fail(theirs, minilm, encoded, texts, spoil):
    broken = copy.deepcopy(minilm)
    spoil(broken)
    assert distance(broken(texts), run(theirs, encoded)) > 2 * TOLERANCE


def test_a_mask_read_the_other_way_is_seen(theirs, minilm, encoded):
    unmasked = minilm.run(encoded.ids)
    assert distance(encoded, run(theirs, unmasked)) > 0.01


def test_the_tokens_are_those_of_transformers_tokenizer(encoded, texts):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.find("tokenizer.json").parent)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    assert torch.equal(batch["input_ids"], encoded.ids)
    assert torch.equal(batch["attention_mask"].bool(), encoded.mask)


def test_shapes_and_what_filler_is(encoded, texts):
    sentence, position = encoded.ids.shape
    assert encoded.attention.shape == (sentence, 6, 12, position, position)
    assert encoded.hidden.shape == (sentence, position, 384)
    assert encoded.states.shape == (sentence, 7, position, 384)
    assert encoded.tokens[0] == ["[CLS]", "dogs", "bark", "at", "strange", "cats", ".", "[SEP]"]
    assert [len(t) for t in encoded.tokens] == encoded.mask.sum(-1).tolist()
    assert not encoded.ids[~encoded.mask].any()
    assert not encoded.attention.movedim(-1, 1)[~encoded.mask].any(), "nobody looks at filler"
    torch.testing.assert_close(encoded.attention.sum(-1), torch.ones(sentence, 6, 12, position))


def test_filler_changes_nothing_for_real_tokens(minilm, encoded, texts):
    alone, many = minilm(texts[:1]), len(encoded.tokens[0])
    torch.testing.assert_close(alone.hidden[0], encoded.hidden[0, :many], **NEAR)
    torch.testing.assert_close(alone.embedding[0], encoded.embedding[0], **NEAR)


def test_the_embedding_is_a_mean_of_length_one(encoded):
    many = len(encoded.tokens[0])
    mean = encoded.hidden[0, :many].mean(0)
    torch.testing.assert_close(encoded.embedding[0], mean / mean.norm(), **NEAR)


def test_it_knows_which_sentences_are_alike(minilm):
    a, b, c = minilm(
        ["A cat sleeps on the sofa.", "A kitten naps on the couch.", "Taxes rose again."]
    ).embedding
    assert a @ b > 0.5
    assert a @ c < 0.3


def test_weights_are_float32_frozen_and_in_eval_mode(minilm, untrained):
    for model in (minilm, untrained):
        assert not model.training
        assert {p.dtype for p in model.parameters()} == {torch.float32}
        assert not any(p.requires_grad for p in model.parameters())
        assert sum(p.numel() for p in model.parameters()) == 22_565_376  # without the pooler, 22.7 M with it


def test_a_gate_can_need_a_gradient(minilm, texts):
    gate = torch.ones(12, requires_grad=True)
    minilm.layers[1].attention.gate = gate
    try:
        minilm(texts[:2]).embedding.sum().backward()
    finally:
        minilm.layers[1].attention.gate = None
    assert (gate.grad != 0).all()


def test_random_weights_are_berts_start_and_one_draw_per_seed(untrained, texts):
    assert untrained.layers[4].attention.in_proj_weight.std() == pytest.approx(0.02, rel=0.01)
    assert not untrained.layers[4].attention.in_proj_bias.any()
    assert (untrained.norm.weight == 1).all()
    assert (untrained.layers[2].after_mlp.weight == 1).all()
    again, other = encoder("random", 0), encoder("random", 1)
    assert torch.equal(again(texts).hidden, untrained(texts).hidden)
    assert not torch.equal(other(texts).hidden, untrained(texts).hidden)


def test_it_leaves_the_callers_random_numbers_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    encoder("random", 3)
    assert torch.equal(before, torch.get_rng_state())


def test_ids_in_any_order(minilm, encoded):
    backwards = minilm.run(encoded.ids[:1, :8].flip(1))
    assert backwards.tokens[0] == encoded.tokens[0][::-1]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda m: m("One string."), TypeError, "takes a list"),
        (lambda m: m([]), ValueError, "0 sentences; give at least 1"),
        (lambda m: m(["short", "word " * 600]), ValueError, "sentence 1 has 602 tokens and the encoder has 512"),
        (lambda m: m.run(torch.zeros(2, 5).long(), torch.ones(2, 3).bool()), ValueError, r"\(2, 5\) and mask \(2, 3\)"),
        (lambda m: m.run(torch.zeros(1, 513).long()), ValueError, r"\(1, 513\).*at most 512"),
        (lambda m: encoder("bert"), ValueError, "'bert'; there are 'minilm' and 'random'"),
    ],
)  # fmt: skip
def test_errors_say_the_cure(minilm, call, error, said):
    with pytest.raises(error, match=said):
        call(minilm)


def test_the_file_is_the_one_that_was_published():
    assert hashlib.sha256(weights.find("model.safetensors").read_bytes()).hexdigest() == weights.SHA256


def test_importing_data_loads_no_reader_of_weights():
    code = "import sys, mha_teach.data; print(*sorted({'tokenizers', 'safetensors', 'huggingface_hub', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
