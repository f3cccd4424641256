"""Masks by hand, against torch, at their edges; every convention proven by running that library's own attention."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from mha_teach.attention import attend
from mha_teach.masking import (
    CONVENTIONS,
    causal,
    combine,
    from_convention,
    over_heads,
    padding,
    sentinel,
    to_convention,
    window,
)

B, H, L, S, D = 2, 3, 5, 7, 11
SCORES = (B, H, L, S)


def bools(rows: list[str]) -> torch.Tensor:
    return torch.tensor([[cell == "x" for cell in row] for row in rows])


def test_worked_by_hand():
    assert torch.equal(causal(3), bools(["x..", "xx.", "xxx"]))
    assert torch.equal(causal(2, 3, align="start"), bools(["x..", "xx."]))
    assert torch.equal(causal(2, 3, align="end"), bools(["xx.", "xxx"]))
    assert torch.equal(causal(3, 2, align="end"), bools(["..", "x.", "xx"]))  # the first query is blind
    assert torch.equal(window(4, back=1), bools(["x...", "xx..", ".xx.", "..xx"]))
    assert torch.equal(window(3, back=0, ahead=1), bools(["xx.", ".xx", "..x"]))
    assert torch.equal(window(2, 1, key=4, align="end"), bools([".xx.", "..xx"]))
    assert torch.equal(padding([1, 3]), bools(["x..", "xxx"])[:, None])
    assert torch.equal(padding([1, 0], key=2, side="left"), bools([".x", ".."])[:, None])


@given(st.integers(1, 7), st.integers(1, 7))
def test_causal_equals_torch(queries, keys):
    q, k, v = torch.randn(1, 1, queries, 3), torch.randn(1, 1, keys, 3), torch.randn(1, 1, keys, 2)
    start = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(attend(q, k, v, causal(queries, keys, "start"))[0], start)
    bias = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_upper_left(queries, keys))
    torch.testing.assert_close(bias, start)
    if queries <= keys:
        end = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(queries, keys))
        torch.testing.assert_close(attend(q, k, v, causal(queries, keys, "end"))[0], end)


@given(st.integers(1, 9), st.integers(0, 9))
def test_a_window_is_a_causal_mask_that_forgets(n, back):
    assert torch.equal(window(n, back=n), causal(n))
    assert torch.equal(window(n, back) | window(n, 0, back), window(n, back, back))
    assert torch.equal(window(n, back, back), window(n, back, back).T)


def test_combine_is_and_over_the_right_axes():
    whole = combine(causal(5), padding([2, 5]))
    assert whole.shape == (2, 5, 5)
    assert torch.equal(whole[0], causal(5) & (torch.arange(5) < 2)) and torch.equal(whole[1], causal(5))
    heads = torch.rand(3, 3, 5, 5) > 0.3  # batch = heads: the trap
    pads = padding([1, 3, 5])
    for both in (combine(heads, pads), combine(pads, heads)):
        assert torch.equal(both, heads & pads[:, None])
    assert torch.equal(combine(causal(5)), causal(5))


def test_a_mask_meets_the_scores_at_the_head_axis():
    assert over_heads(padding([1, 3, 5]), (3, 2, 5, 5)).shape == (3, 1, 1, 5)
    assert over_heads(causal(5), (3, 2, 5, 5)).shape == (5, 5)
    assert over_heads(torch.zeros(3, 2, 5, 5), (3, 2, 5, 5)).shape == (3, 2, 5, 5)
    assert over_heads(torch.zeros(2, 5, 5), (2, 5, 5)).shape == (
        2,
        5,
        5,
    )  # no batch: the first axis is the head's


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_sentinel_neither_overflows_nor_leaks(dtype):
    scores = torch.tensor([[-90.0, 3.0, 90.0]], dtype=dtype)
    added = scores + torch.tensor([[0.0, sentinel(dtype), sentinel(dtype)]], dtype=dtype)
    assert added.isfinite().all()
    assert torch.equal(added.softmax(-1), torch.tensor([[1.0, 0.0, 0.0]], dtype=dtype))
    blind = scores + sentinel(dtype)
    assert blind.isfinite().all() and blind.softmax(-1).isfinite().all()


def test_the_usual_sentinels_do_overflow_in_half_precision():
    assert torch.tensor(-1e9).half().isinf()
    assert (torch.tensor(-90.0).half() + torch.finfo(torch.float16).min).isinf()


def draw(seed: int = 0) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(seed)
    return tuple(torch.randn(B, H, n, D, dtype=torch.float64) for n in (L, S, S))


def masks() -> dict[str, torch.Tensor]:
    """Without blind rows: what libraries do with those differs, and is tested on its own."""
    torch.manual_seed(1)
    rand = torch.rand(SCORES) > 0.4
    rand[..., 2] = True
    return {
        "query, key": causal(L, S, "end"),
        "padding": padding([3, 7]),
        "batch, query, key": combine(padding([3, 7]), causal(L, S, "start")),
        "heads": rand,
        "one batch, heads": rand[:1],
    }


def close(a, b):
    torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("name", ["sdpa.bool", "sdpa.float", "additive"])
@pytest.mark.parametrize("kind", masks())
def test_sdpa(name, kind):
    q, k, v = draw()
    mask = masks()[kind]
    theirs = to_convention(mask, name, dtype=q.dtype)
    full = mask.unsqueeze(1) if mask.dim() == 3 else mask
    close(F.scaled_dot_product_attention(q, k, v, attn_mask=theirs), attend(q, k, v, full)[0])
    assert torch.equal(from_convention(theirs, name).expand(SCORES), full.expand(SCORES))


def through_torch(q, k, v, **masked):
    """nn.MultiheadAttention with identity projections: its heads' outputs side by side."""
    module = nn.MultiheadAttention(H * D, H, bias=False, batch_first=True, dtype=q.dtype)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(H * D).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(H * D))
    flat = (x.transpose(1, 2).flatten(2) for x in (q, k, v))
    return module(*flat, **masked)[0].unflatten(-1, (H, D)).transpose(1, 2)


@pytest.mark.parametrize("name", ["mha.attn_mask.bool", "mha.attn_mask.float"])
@pytest.mark.parametrize("kind", masks())
def test_multihead_attn_mask(name, kind):
    q, k, v = draw()
    mask = masks()[kind]
    theirs = to_convention(mask, name, SCORES, q.dtype)
    assert theirs.shape == ((L, S) if kind == "query, key" else (B * H, L, S))
    full = mask.unsqueeze(1) if mask.dim() == 3 else mask
    close(through_torch(q, k, v, attn_mask=theirs), attend(q, k, v, full)[0])
    assert torch.equal(from_convention(theirs, name, SCORES).expand(SCORES), full.expand(SCORES))


def test_multihead_key_padding_mask_alone_and_beside_attn_mask():
    q, k, v = draw()
    pads, future = padding([3, 7]), causal(L, S, "start")
    theirs = to_convention(pads, "mha.key_padding_mask")
    assert theirs.shape == (B, S) and torch.equal(from_convention(theirs, "mha.key_padding_mask"), pads)
    close(through_torch(q, k, v, key_padding_mask=theirs), attend(q, k, v, pads[:, None])[0])
    both = through_torch(
        q, k, v, key_padding_mask=theirs, attn_mask=to_convention(future, "mha.attn_mask.bool")
    )
    close(both, attend(q, k, v, combine(pads, future)[:, None])[0])


@pytest.mark.parametrize("kind", masks())
def test_flex_attention(kind):
    flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="this torch has no FlexAttention")
    q, k, v = draw()
    mask = masks()[kind]
    full = mask.unsqueeze(1) if mask.dim() == 3 else mask
    rule = to_convention(mask, "flex.mask_mod", SCORES)
    assert torch.equal(flex.create_mask(rule, *SCORES, device="cpu"), full.expand(SCORES))
    assert torch.equal(from_convention(rule, "flex.mask_mod", SCORES), full.expand(SCORES))
    unfilled = to_convention(mask, "flex.mask_mod")  # axes of size 1 serve every index
    assert torch.equal(from_convention(unfilled, "flex.mask_mod", SCORES), full.expand(SCORES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it runs uncompiled
        theirs = flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(rule, *SCORES, device="cpu"))
    torch.testing.assert_close(theirs, attend(q, k, v, full)[0], atol=1e-6, rtol=1e-5)


def test_a_rule_of_indices_reads_as_a_mask():
    assert torch.equal(
        from_convention(lambda b, h, i, j: j <= i, "flex.mask_mod", SCORES)[1, 2], causal(L, S, "start")
    )


def test_what_other_libraries_want_by_hand():
    pads, both = padding([3, 7]), masks()["batch, query, key"]
    assert torch.equal(
        to_convention(pads, "transformers.attention_mask")[0], torch.tensor([1, 1, 1, 0, 0, 0, 0])
    )
    assert torch.equal(
        from_convention(torch.tensor([[1, 1, 0]]), "transformers.attention_mask"), padding([2], 3)
    )
    assert torch.equal(to_convention(both, "keras.attention_mask"), both)
    assert torch.equal(to_convention(both, "jax.mask"), both[:, None])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_convention_comes_back_as_it_went(data):
    sizes = tuple(data.draw(st.integers(1, 4)) for _ in range(4))
    name = data.draw(st.sampled_from(list(CONVENTIONS)))
    axes = CONVENTIONS[name].axes
    rank = data.draw({"keys": st.just(3), "queries": st.just(3)}.get(axes, st.integers(2, 4)))
    shape = (
        [s if data.draw(st.booleans()) else 1 for s in sizes[4 - rank :]]
        if rank != 3
        else [sizes[0], *sizes[2:]]
    )
    if axes == "keys":
        shape[1] = 1
    torch.manual_seed(data.draw(st.integers(0, 99)))
    mask = torch.rand(shape) > 0.5
    full = (mask.unsqueeze(1) if rank == 3 else mask).expand(sizes)
    back = from_convention(to_convention(mask, name, sizes), name, sizes)
    back = back.unsqueeze(1) if back.dim() == 3 else back
    assert torch.equal(back.expand(sizes), full)


@pytest.mark.parametrize("name", ["sdpa.bool", "mha.attn_mask.bool"])
def test_the_proof_can_fail(name):
    q, k, v = draw()
    mask = causal(L, S, "end")
    wrong = ~to_convention(mask, name)
    wrong[:, -1 if name.startswith("mha") else 0] = not name.startswith("mha")
    run = (
        through_torch(q, k, v, attn_mask=wrong)
        if "mha" in name
        else F.scaled_dot_product_attention(q, k, v, wrong)
    )
    assert not torch.allclose(run, attend(q, k, v, mask)[0], atol=1e-3)


def test_a_float_mask_of_ones_and_zeros_masks_nothing_and_is_refused():
    q, k, v = draw()
    row = padding([3, 7]).double()[:, None]
    assert attend(q, k, v, row)[1][0, ..., 3:].min() > 0
    with pytest.raises(ValueError, match=r"from 0 to 1; .*mask\.bool\(\)"):
        from_convention(row, "sdpa.float")


NOT_BOOL = torch.ones(3, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: causal(3, 5), ValueError, "3 queries and 5 keys.*align='end'"),
        (lambda: causal(3, 5, "left"), ValueError, "'left'.*'start' or 'end'"),
        (lambda: causal(-1), ValueError, "query = -1 and key = -1.*0 or more"),
        (lambda: causal(3, 2.5, "end"), ValueError, "query = 3 and key = 2.5.*whole number"),
        (lambda: window(3, -1), ValueError, "back = -1 and ahead = 0"),
        (lambda: window(3, 1.5), ValueError, "back = 1.5 and ahead = 0.*whole number"),
        (lambda: padding([2, 9], key=7), ValueError, "from 2 to 9 and there are 7 keys.*raise key"),
        (lambda: padding([[2]]), ValueError, r"shape \(1, 1\).*tokens != pad"),
        (lambda: padding([1.5]), ValueError, "torch.float32"),
        (lambda: padding([2], side="top"), ValueError, "'top'"),
        (lambda: combine(), ValueError, "0 masks"),
        (lambda: combine([causal(3)]), TypeError, "got list.*one by one"),
        (lambda: combine(causal(3), None), TypeError, "got NoneType.*leave None out"),
        (lambda: combine(causal(3), causal(3, device="meta")), ValueError, "on cpu and on meta"),
        (lambda: combine(NOT_BOOL), TypeError, "torch.float32.*from_convention"),
        (lambda: combine(causal(3)[0]), ValueError, r"\(3,\).*2 to 4 axes"),
        (lambda: combine(causal(3), causal(5)), ValueError, r"\(3, 3\) and \(5, 5\) don't fit"),
        (lambda: over_heads(causal(5), (2, 3, 5, 7)), ValueError, r"\(5, 5\).*\(2, 3, 5, 7\).*mask\[:, None, :\]"),
        (lambda: over_heads(causal(5).long(), (2, 3, 5, 5)), TypeError, r"torch.int64.*mask\.bool"),
        (lambda: to_convention(NOT_BOOL, "sdpa.bool"), TypeError, r"torch.float32 in shape \(3, 3\)"),
        (lambda: sentinel(torch.int64), TypeError, "torch.int64"),
        (lambda: to_convention(causal(3), "numpy"), ValueError, "'numpy' is unknown.*sdpa.bool"),
        (lambda: to_convention(causal(3), "sdpa.bool", SCORES), ValueError, r"\(1, 1, 3, 3\).*\(2, 3, 5, 7\)"),
        (lambda: to_convention(padding([3]), "mha.attn_mask.bool"), ValueError, r"\(1, 1, 3\).*Pass scores="),
        (lambda: to_convention(causal(3), "mha.key_padding_mask"), ValueError, "differs along an axis of size 3"),
        (lambda: from_convention(causal(6)[None], "mha.attn_mask.bool"), ValueError, "Pass scores="),
        (lambda: from_convention(causal(6), "keras.attention_mask"), ValueError, r"\(6, 6\).*\(3,\) axes"),
        (lambda: from_convention(NOT_BOOL, "sdpa.bool"), TypeError, r"torch.float32.*mask\.bool"),
        (lambda: from_convention(causal(3), "sdpa.float"), TypeError, "torch.bool.*floating"),
        (lambda: from_convention(NOT_BOOL * 2, "transformers.attention_mask"), ValueError, "1 = real"),
    ],
)  # fmt: skip
def test_errors_state_both_sizes_and_the_cure(call, error, words):
    with pytest.raises(error, match=words):
        call()
