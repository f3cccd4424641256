"""split and merge against hand-made indices, five wrong ways caught by a number and by a probe, origins of numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mha_teach import reshaping
from mha_teach.attention import attend
from mha_teach.probes import batch_leak, causal_leak
from mha_teach.reshaping import merge_heads, split_heads, trace_origin

B, N, H, D = 3, 7, 5, 2  # batch, position, head, dim
WIDTH = H * D
CAUSAL = torch.ones(N, N, dtype=torch.bool).tril()
SIZES = st.integers(1, 5)


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def attention(split, merge=merge_heads, mask=CAUSAL):
    """A whole self-attention on given projections, with a split and a merge of choice."""
    w_q, w_k, w_v = numbers(3, WIDTH, WIDTH, seed=1)

    def run(x):
        output, _ = attend(split(x @ w_q, H), split(x @ w_k, H), split(x @ w_v, H), mask=mask)
        return merge(output)

    return run


def reference(x: torch.Tensor) -> torch.Tensor:
    """The same, one sample and one head at a time, by slices."""
    w_q, w_k, w_v = numbers(3, WIDTH, WIDTH, seed=1)
    rows = []
    for sample in x:
        parts = [
            attend(*((sample @ w)[:, h * D : (h + 1) * D] for w in (w_q, w_k, w_v)), mask=CAUSAL)[0]
            for h in range(H)
        ]
        rows.append(torch.cat(parts, -1))
    return torch.stack(rows)


def test_split_by_hand():
    x = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])
    assert split_heads(x, 2).tolist() == [[[1, 2], [5, 6], [9, 10]], [[3, 4], [7, 8], [11, 12]]]
    assert merge_heads(split_heads(x, 2)).tolist() == x.tolist()


@settings(max_examples=40, deadline=None)
@given(st.lists(SIZES, max_size=2), SIZES, SIZES, SIZES)
def test_merge_undoes_split_and_split_copies_nothing(lead, n, h, d):
    x = torch.arange(torch.Size([*lead, n, h * d]).numel()).view(*lead, n, h * d)
    parts = split_heads(x, h)
    assert parts.shape == (*lead, h, n, d) and parts.data_ptr() == x.data_ptr()
    assert torch.equal(merge_heads(parts), x)
    for head in range(h):
        assert torch.equal(parts[..., head, :, :], x[..., head * d : (head + 1) * d])


def test_attention_through_split_and_merge_equals_one_head_at_a_time():
    x = numbers(B, N, WIDTH)
    torch.testing.assert_close(attention(split_heads)(x), reference(x), atol=1e-12, rtol=1e-12)
    assert not causal_leak(attention(split_heads), x) and not batch_leak(attention(split_heads), x)


def merge_flat(out):
    return reshaping.merge_untransposed(out, N)


WRONG = {
    "view": attention(reshaping.split_by_view),
    "swapped": attention(reshaping.split_swapped),
    "untransposed": attention(reshaping.split_untransposed, merge_flat, mask=None),
    "merge": attention(split_heads, merge_flat),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_way_keeps_the_shape_raises_nothing_and_is_wrong(name):
    x = numbers(B, N, WIDTH)
    output = WRONG[name](x)
    assert output.shape == (B, N, WIDTH)
    assert (output - reference(x)).abs().max() > 0.1


@pytest.mark.parametrize("name", ["view", "merge"])
def test_the_causal_probe_finds_reading_of_the_future(name):
    x = numbers(B, N, WIDTH)
    leak = causal_leak(WRONG[name], x)
    assert leak.number > 0.1 and all(pair.input > pair.output for pair in leak.pairs)
    assert not batch_leak(WRONG[name], x)


def test_the_batch_probe_finds_the_swap_which_a_batch_of_one_hides():
    x = numbers(B, N, WIDTH)
    assert batch_leak(WRONG["swapped"], x).number > 0.1
    torch.testing.assert_close(WRONG["swapped"](x[:1]), reference(x[:1]))


def test_the_causal_probe_hears_the_silence_of_a_forgotten_transpose():
    x = numbers(B, N, WIDTH)
    leak = causal_leak(WRONG["untransposed"], x)
    assert leak.silent and not leak and "forgotten transpose" in str(leak)
    assert not causal_leak(attention(split_heads), x).silent


def test_one_head_hides_the_view():
    x = numbers(B, N, WIDTH)
    assert torch.equal(reshaping.split_by_view(x, 1), split_heads(x, 1))


def fused_right(qkv, num_heads):
    return tuple(split_heads(part, num_heads) for part in qkv.chunk(3, -1))


def test_the_fused_layout_is_found_by_origins_and_by_outputs_but_leaks_nothing():
    mha = nn.MultiheadAttention(WIDTH, H, bias=False, batch_first=True, dtype=torch.float64)
    x = numbers(B, N, WIDTH)

    def run(split):
        return lambda x: mha.out_proj(
            merge_heads(attend(*split(x @ mha.in_proj_weight.T, H), mask=CAUSAL)[0])
        )

    expected, _ = mha(x, x, x, attn_mask=~CAUSAL)
    torch.testing.assert_close(run(fused_right)(x), expected)
    assert (run(reshaping.split_interleaved)(x) - expected).abs().max() > 0.01
    assert not causal_leak(run(reshaping.split_interleaved), x)
    for split, right in ((fused_right, True), (reshaping.split_interleaved, False)):
        origins = trace_origin(lambda q, split=split: split(q, H), B, N, H, D, roles=3)
        kept = all(bool((origin.role == role).all()) for role, origin in enumerate(origins))
        assert kept is right
    assert torch.equal(reshaping.split_interleaved(x[..., :6], 1)[1], fused_right(x[..., :6], 1)[1])


@pytest.mark.parametrize(
    ("split", "wrong"),
    [
        (split_heads, set()),
        (reshaping.split_by_view, {"position", "head"}),
        (reshaping.split_swapped, {"batch", "position"}),
    ],
)
def test_origins_name_what_is_misplaced(split, wrong):
    found = trace_origin(lambda x: split(x, H), B, N, H, D).misplaced()
    assert {name for name, share in found.items() if share > 0} == wrong


def test_origins_of_the_merge():
    right = trace_origin(lambda x: merge_heads(x).unflatten(-1, (H, D)), B, N, H, D, split=True)
    wrong = trace_origin(lambda x: merge_flat(x).unflatten(-1, (H, D)), B, N, H, D, split=True)
    assert set(right.misplaced("batch position head dim").values()) == {0.0}
    assert wrong.misplaced("batch position head dim")["position"] > 0.5
    untransposed = trace_origin(lambda x: reshaping.split_untransposed(x, H), B, N, H, D)
    assert set(untransposed.misplaced("batch position head dim").values()) == {0.0}
    assert untransposed.batch.shape == (B, N, H, D)


@settings(max_examples=30, deadline=None)
@given(SIZES, SIZES, SIZES, SIZES, st.permutations(range(3)))
def test_origins_follow_any_permutation(b, n, h, d, order):
    origin = trace_origin(lambda x: x.permute(order), b, n, h, d)
    names = [("batch", "position", "_")[axis] for axis in order]
    assert set(origin.misplaced(" ".join(names)).values()) <= {0.0}
    assert origin.at(0, 0, 0) == "batch 0, position 0, head 0, dim 0"


def test_origins_by_hand():
    origin = trace_origin(lambda x: x.flip(-1), 1, 1, 2, 2)
    assert origin.head.tolist() == [[[1, 1, 0, 0]]] and origin.dim.tolist() == [[[1, 0, 1, 0]]]
    assert origin.at(0, 0, 1) == "batch 0, position 0, head 1, dim 0"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: x + 1,
        lambda x: x.cumsum(-1),
        lambda x: x.amax(-1),
        lambda x: (x + x.flip(-1)) // 2,
        lambda x: x.softmax(-1) if x.is_floating_point() else x.double().softmax(-1),
        lambda x: nn.functional.pad(x, (1, 0)),
        lambda x: x.sort(-1, descending=True).values.flip(-1),
    ],
)
def test_arithmetic_is_no_movement(function):
    with pytest.raises(ValueError, match=r"computes new numbers .*trace only its views and transposes"):
        trace_origin(function, B, N, H, D)


ERRORS = [
    (lambda x: split_heads(x, 3), "a width of 10 does not split into 3 equal parts: choose num_heads"),
    (lambda x: split_heads(x, 0), "a width of 10 does not split into 0 equal parts"),
    (lambda x: reshaping.split_by_view(x, 3), "a width of 10 does not split into 3"),
    (lambda x: reshaping.split_swapped(x, 3), "a width of 10 does not split into 3"),
    (lambda x: reshaping.split_untransposed(x, 3), "a width of 10 does not split into 3"),
    (lambda x: reshaping.split_interleaved(x, 2), "a width of 10 does not split into 6"),
    (lambda x: split_heads(x[0, 0], 5), r"x has shape \(10,\); it needs two axes at least: \(position, width\)"),
    (lambda x: reshaping.split_swapped(x[0], 5), r"x has shape \(7, 10\); the swap needs three axes"),
    (lambda x: merge_heads(x[0]), r"x has shape \(7, 10\); it needs three axes at least: \(head, position, d_k\)"),
    (lambda x: reshaping.merge_untransposed(x[0]), r"it needs three axes at least"),
    (lambda x: reshaping.merge_untransposed(x, 11), r"its 3 × 7 rows don't fill 11 positions; pass the n"),
    (lambda x: trace_origin(lambda y: y, 0), r"'batch': 0.* must be positive, and roles 1 when split"),
    (lambda x: trace_origin(lambda y: y, roles=3, split=True), r"'role': 3.* must be positive"),
    (lambda x: trace_origin(lambda y: y).misplaced("batch"), r"axes='batch' must name the 3 axes .*\(2, 3, 4\)"),
    (lambda x: trace_origin(lambda y: y).misplaced("batch position width"), r"each one of batch, role, position"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), ERRORS)
def test_errors_state_sizes_and_the_cure(call, said):
    with pytest.raises(ValueError, match=said):
        call(numbers(B, N, WIDTH))


def test_a_function_that_returns_no_tensor():
    with pytest.raises(
        TypeError, match="the function returned int; it must return a tensor or a tuple of them"
    ):
        trace_origin(lambda x: x.ndim)
