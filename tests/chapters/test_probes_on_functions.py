"""mask_leak, scale_law, drop_pattern, ignored_inputs: what they find, what they leave alone, what they refuse."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mha_teach.attention import attend
from mha_teach.masking import causal, combine, window
from mha_teach.multihead import MultiHeadAttention
from mha_teach.probes import drop_pattern, ignored_inputs, mask_leak, scale_law

N, D_MODEL, HEADS = 7, 15, 3


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(2, N, D_MODEL)


# --- mask_leak


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["ours", "torch"])
def test_a_correct_window_leaks_nothing_and_all_of_it_is_read(x, kind, dtype):
    mask = combine(causal(N), window(N, 3))
    torch.manual_seed(1)
    if kind == "ours":
        module = MultiHeadAttention(D_MODEL, HEADS).to(dtype)
        leak = mask_leak(module, x.to(dtype), mask, mask=mask)
    else:
        module = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).to(dtype)
        leak = mask_leak(module, x.to(dtype), mask, attn_mask=~mask)
    assert not leak and leak.unread == () and leak.forbidden == int((~mask).sum())
    assert str(leak).startswith(f"No mask leak in {leak.forbidden} forbidden pairs")


def test_a_window_that_is_too_wide_is_a_leak_and_one_too_narrow_is_unread(x):
    module = MultiHeadAttention(D_MODEL, HEADS)
    wide, narrow = window(N, 3), window(N, 2)
    leak = mask_leak(module, x, narrow, mask=wide)
    assert {(p.output, p.input) for p in leak.pairs} == set(map(tuple, (wide & ~narrow).nonzero().tolist()))
    missed = mask_leak(module, x, wide, mask=narrow)
    assert not missed and set(missed.unread) == set(map(tuple, (wide & ~narrow).nonzero().tolist()))


def test_two_layers_reach_further_than_one_mask_says(x):
    mask = window(N, 2)
    one, two = (MultiHeadAttention(D_MODEL, HEADS) for _ in range(2))
    leak = mask_leak(lambda x: two(one(x, mask=mask)[0], mask=mask)[0], x, mask)
    reached = (mask.double() @ mask.double()) > 0
    assert {(p.output, p.input) for p in leak.pairs} == set(map(tuple, (reached & ~mask).nonzero().tolist()))


@pytest.mark.parametrize(
    ("allowed", "error", "words"),
    [
        (torch.ones(N, N), TypeError, "no booleans"),
        ("causal", TypeError, "no booleans"),
        (
            torch.ones(N, 5, dtype=torch.bool),
            ValueError,
            r"\(7, 5\) and there are 7 positions: it needs \(7, 7\)",
        ),
    ],
)
def test_mask_leak_says_what_it_needs(x, allowed, error, words):
    with pytest.raises(error, match=words):
        mask_leak(MultiHeadAttention(D_MODEL, HEADS), x, allowed)


# --- scale_law


def scaled(by):
    return lambda q, k, v: attend(q, k, v, scale=by(q.shape[-1], q.shape[1], k.shape[-2]))


@pytest.mark.parametrize(
    ("law", "by"),
    [
        ("1/√d_k", lambda d, h, n: d**-0.5),
        ("1", lambda d, h, n: 1.0),
        ("1/d_k", lambda d, h, n: 1 / d),
        ("1/√(h · d_k)", lambda d, h, n: (d * h) ** -0.5),
        ("√d_k", lambda d, h, n: d**0.5),
        ("1/√n", lambda d, h, n: n**-0.5),
        ("0", lambda d, h, n: 0.0),
        ("", lambda d, h, n: 0.37),
    ],
)
def test_scale_law_names_the_law(law, by):
    found = scale_law(scaled(by))
    assert found.law == law and bool(found) == (law == "1/√d_k") and str(found)
    assert found.factors == pytest.approx({at: by(*at) for at in found.factors}, abs=1e-9)


def test_sdpa_is_scaled_as_it_should_be_and_so_is_ours():
    assert scale_law(F.scaled_dot_product_attention) and scale_law(attend)


def test_one_size_cannot_tell():
    """At d_k = 1 all the rules of d_k agree; the default sizes tell all of them apart."""
    assert scale_law(scaled(lambda d, h, n: 1.0), sizes=((1, 1, 3),)).law == "1/√d_k"


def test_scale_law_wants_heads_before_they_are_merged():
    with pytest.raises(ValueError, match=r"returned \(1, 1, 6\).*\(1, 2, 1, 3\), before they are merged"):
        scale_law(lambda q, k, v: attend(q, k, v)[0].transpose(1, 2).flatten(2))


# --- drop_pattern


def weights_of(x, **options):
    return lambda module: module(x, need_weights=True, **options)[1]


def test_our_dropout_is_sound_and_leaves_the_module_and_the_generator_alone(x):
    module = MultiHeadAttention(D_MODEL, HEADS, dropout=0.3).eval()
    state = torch.random.get_rng_state()
    found = drop_pattern(module, weights_of(x))
    assert found and found.drawn and found.zeros == pytest.approx(0.3, abs=0.03)
    assert found.sums == pytest.approx(1, abs=0.05)
    assert not module.training and torch.equal(torch.random.get_rng_state(), state)
    assert "falls on single weights" in str(found)


def test_torch_s_dropout_is_sound_under_a_mask_too(x):
    module = nn.MultiheadAttention(D_MODEL, HEADS, dropout=0.2, batch_first=True)
    mask = ~causal(N)
    found = drop_pattern(
        module, lambda m: m(x, x, x, attn_mask=mask, average_attn_weights=False)[1][..., 3:, :]
    )
    assert found and found.drawn


def test_no_dropout_is_no_fault(x):
    found = drop_pattern(MultiHeadAttention(D_MODEL, HEADS), weights_of(x))
    assert found and not found.drawn and "no dropout" in str(found)


def test_too_few_draws_are_refused(x):
    with pytest.raises(ValueError, match="draws is 7; take at least 8"):
        drop_pattern(MultiHeadAttention(D_MODEL, HEADS), weights_of(x), draws=7)


# --- ignored_inputs


def three():
    torch.manual_seed(3)
    return tuple(torch.randn(2, n, D_MODEL) for n in (5, 7, 7))


def test_attention_uses_all_three():
    assert ignored_inputs(MultiHeadAttention(D_MODEL, HEADS), *three()) == ()
    assert ignored_inputs(nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True), *three()) == ()


def test_what_is_not_used_is_named():
    module = MultiHeadAttention(D_MODEL, HEADS)
    q, k, v = three()
    assert ignored_inputs(lambda query, key, value: module(query, query, query)[0], q, k, v) == (
        "key",
        "value",
    )
    assert ignored_inputs(lambda query, key, value: module(query, key, key)[0], q, k, v) == ("value",)
    assert ignored_inputs(lambda query, key, value: module(key, key, value)[0], q, k, v) == ("query",)


def test_one_tensor_given_thrice_is_refused():
    q, k, _ = three()
    for given in ((q, q, k), (q, k, k), (q, k, q)):
        with pytest.raises(ValueError, match="three different ones"):
            ignored_inputs(MultiHeadAttention(D_MODEL, HEADS), *given)
