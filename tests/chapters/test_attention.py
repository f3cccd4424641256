"""attend() against torch in float64, by hand, at its edges, and in its error messages."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_teach.attention import attend

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 5e-3}
SIZES = st.sampled_from([1, 2, 3, 5, 7])


def draw(seed: int, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


@st.composite
def cases(draw_from):
    batch, heads, queries, keys, d_k, d_v = (draw_from(SIZES) for _ in range(6))
    lead = draw_from(st.sampled_from([(), (batch,), (batch, heads)]))
    q, k, v = draw(
        draw_from(st.integers(0, 999)), (*lead, queries, d_k), (*lead, keys, d_k), (*lead, keys, d_v)
    )
    full = (*lead, queries, keys)
    shape = tuple(size if draw_from(st.booleans()) else 1 for size in full)
    shape = shape[draw_from(st.integers(0, len(lead))) :]  # masks may lack leading axes
    mask = draw_from(st.sampled_from(["none", "bool", "float"]))
    if mask == "none":
        return q, k, v, None
    mask_values = draw(draw_from(st.integers(0, 999)), shape)[0]
    if mask == "float":
        return q, k, v, mask_values
    keep = mask_values > -0.3
    keep[..., 0] = True  # no blind row here: torch's answer to it differs between versions
    return q, k, v, keep


def leaves(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [x.detach().clone().requires_grad_() for x in tensors]


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([torch.float64, torch.float32]))
def test_output_and_gradients_equal_torch(case, dtype):
    *qkv, mask = case
    mask = mask.to(dtype) if mask is not None and mask.is_floating_point() else mask
    ours, theirs = (leaves(*(x.to(dtype) for x in qkv)) for _ in range(2))
    output, weights = attend(*ours, mask=mask)
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    near = {"atol": TOLERANCE[dtype], "rtol": TOLERANCE[dtype]}
    assert output.dtype == dtype and weights.dtype == dtype
    torch.testing.assert_close(output, expected, **near)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), **near)
    toward = torch.linspace(-1, 1, output.numel(), dtype=dtype).view_as(output)
    for mine, yours in zip(
        torch.autograd.grad(output, ours, toward), torch.autograd.grad(expected, theirs, toward), strict=True
    ):
        torch.testing.assert_close(mine, yours, atol=10 * TOLERANCE[dtype], rtol=10 * TOLERANCE[dtype])


@settings(max_examples=30, deadline=None)
@given(cases(), st.sampled_from([torch.bfloat16, torch.float16]))
def test_half_precision_stays_near_float64(case, dtype):
    *qkv, mask = case
    output, weights = attend(*(x.to(dtype) for x in qkv), mask=mask)
    exact, _ = attend(*(x.to(dtype).double() for x in qkv), mask=mask)
    assert output.dtype == weights.dtype == dtype
    torch.testing.assert_close(output.double(), exact, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@settings(max_examples=30, deadline=None)
@given(cases())
def test_bfloat16_gradients_equal_torch_as_far_as_its_digits_go(case):
    *qkv, mask = case
    mask = mask.bfloat16() if mask is not None and mask.is_floating_point() else mask
    ours, theirs = (leaves(*(x.bfloat16() for x in qkv)) for _ in range(2))
    output, expected = attend(*ours, mask=mask)[0], F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    toward = torch.linspace(-1, 1, output.numel()).bfloat16().view_as(output)
    largest = toward.abs().max() * max(x.abs().max() for x in qkv) ** 2
    for mine, yours in zip(
        torch.autograd.grad(output, ours, toward), torch.autograd.grad(expected, theirs, toward), strict=True
    ):
        assert mine.dtype == torch.bfloat16
        torch.testing.assert_close(mine, yours, atol=float(largest) * 2**-6, rtol=4e-2)  # 8 bits, a few sums


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_half_precision_equals_torch_as_far_as_its_digits_go(dtype):
    q, k, v = (x.to(dtype) for x in draw(3, (2, 3, 5, 7), (2, 3, 11, 7), (2, 3, 11, 13)))
    torch.testing.assert_close(
        attend(q, k, v)[0],
        F.scaled_dot_product_attention(q, k, v),
        atol=TOLERANCE[dtype],
        rtol=TOLERANCE[dtype],
    )


def test_worked_by_hand():
    q = torch.tensor([[2.0, 0.0]])
    k = torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    powers = [math.exp(score / math.sqrt(2)) for score in (4, 0, 2)]
    expected = torch.tensor([[power / sum(powers) for power in powers]])
    output, weights = attend(q, k, v)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(output, expected[:, :2])


def test_scale_is_the_factor_of_the_scores():
    q, k, v = draw(1, (3, 5), (7, 5), (7, 2))
    torch.testing.assert_close(attend(q, k, v, scale=0.7)[1], (q @ k.T * 0.7).softmax(-1))
    torch.testing.assert_close(attend(q, k, v)[1], (q @ k.T / math.sqrt(5)).softmax(-1))
    torch.testing.assert_close(attend(q, k, v, scale=0.0)[1], torch.full((3, 7), 1 / 7, dtype=q.dtype))


def test_a_blind_query_gets_zeros_and_its_gradients_are_zero():
    q, k, v = leaves(*draw(2, (2, 3, 5), (2, 7, 5), (2, 7, 2)))
    mask = torch.ones(2, 3, 7, dtype=torch.bool)
    mask[1, 2] = False
    for form in (mask, torch.zeros(2, 3, 7, dtype=q.dtype).masked_fill(~mask, -torch.inf)):
        output, weights = attend(q, k, v, form)
        assert torch.equal(output[1, 2], torch.zeros(2, dtype=q.dtype))
        assert torch.equal(weights[1, 2], torch.zeros(7, dtype=q.dtype))
        grads = torch.autograd.grad(output.sum() + weights.pow(2).sum(), (q, k, v))
        assert all(grad.isfinite().all() for grad in grads)
        assert torch.equal(grads[0][1, 2], torch.zeros(5, dtype=q.dtype))
        seeing = attend(q[0], k[0], v[0])[0]
        torch.testing.assert_close(output[0], seeing)


def test_all_blind_and_no_keys():
    q, k, v = leaves(*draw(2, (3, 5), (7, 5), (7, 2)))
    output, weights = attend(q, k, v, torch.zeros(3, 7, dtype=torch.bool))
    assert not output.any() and not weights.any()
    assert all(not grad.any() for grad in torch.autograd.grad(output.sum(), (q, k, v)))
    output, weights = attend(q, k[:0], v[:0])
    assert output.shape == (3, 2) and weights.shape == (3, 0) and not output.any()


def test_the_mask_may_learn():
    q, k, v, bias = leaves(*draw(4, (3, 5), (7, 5), (7, 2), (3, 7)))
    attend(q, k, v, bias)[0].pow(2).sum().backward()
    assert bias.grad.abs().min() > 0


def test_leading_axes_broadcast_and_equal_a_loop():
    q, k, v = draw(5, (2, 3, 5, 7), (3, 11, 7), (2, 1, 11, 13))
    output, weights = attend(q, k, v)
    assert output.shape == (2, 3, 5, 13) and weights.shape == (2, 3, 5, 11)
    for batch in range(2):
        for head in range(3):
            one = attend(q[batch, head], k[head], v[batch, 0])
            torch.testing.assert_close(output[batch, head], one[0])


def test_order_of_keys_does_not_matter_and_order_of_queries_is_kept():
    q, k, v = draw(6, (2, 5, 7), (2, 11, 7), (2, 11, 3))
    keys, queries = torch.randperm(11), torch.randperm(5)
    output, weights = attend(q, k, v)
    torch.testing.assert_close(attend(q, k[:, keys], v[:, keys])[0], output)
    torch.testing.assert_close(attend(q, k[:, keys], v[:, keys])[1], weights[..., keys])
    torch.testing.assert_close(attend(q[:, queries], k, v)[0], output[:, queries])


def test_arguments_stay_as_they_were():
    given_ = draw(7, (2, 3, 5), (2, 7, 5), (2, 7, 2))
    mask = torch.rand(2, 3, 7) > 0.3
    kept = [x.clone() for x in (*given_, mask)]
    attend(*given_, mask)
    assert all(torch.equal(a, b) for a, b in zip((*given_, mask), kept, strict=True))


def test_large_scores_do_not_overflow():
    q, k, v = draw(8, (3, 5), (7, 5), (7, 2))
    assert attend(q.float() * 1e3, k.float() * 1e3, v.float())[0].isfinite().all()


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(*shape, dtype=dtype)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            (ones(3, 5), ones(7, 11), ones(7, 2)),
            ValueError,
            r"q has d_k = 5 and k has d_k = 11.*Project both",
        ),
        ((ones(3, 5), ones(7, 5), ones(11, 2)), ValueError, r"k has 7 rows and v has 11.*same positions"),
        ((ones(5), ones(7, 5), ones(7, 2)), ValueError, r"q has shape \(5,\).*q\[None\]"),
        ((ones(3, 5), ones(7, 5), ones(7)), ValueError, r"v has shape \(7,\)"),
        (
            (ones(3, 5, dtype=torch.int64), ones(7, 5), ones(7, 2)),
            TypeError,
            r"q holds torch.int64.*q.float\(\)",
        ),
        (
            (ones(2, 3, 5), ones(2, 7, 5), ones(2, 7, 2), ones(2, 7, dtype=torch.bool)),
            ValueError,
            r"mask has shape \(2, 7\) and the scores .* = \(2, 3, 7\).*mask\[:, None, :\]",
        ),
        (
            (ones(3, 5), ones(7, 5), ones(7, 2), ones(2, 3, 7)),
            ValueError,
            r"mask has shape \(2, 3, 7\) and the scores .* = \(3, 7\)",
        ),
        (
            (ones(3, 5), ones(7, 5), ones(7, 2), ones(3, 7, dtype=torch.int64)),
            TypeError,
            r"torch.int64.*mask.bool\(\)",
        ),
    ],
)
def test_errors_state_both_sizes_and_the_cure(arguments, error, words):
    with pytest.raises(error, match=words):
        attend(*arguments)


WRONG = {
    "no scale": lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-1) @ v,
    "softmax over the queries": lambda q, k, v: (
        (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-2) @ v
    ),
    "scale twice": lambda q, k, v: (q @ k.transpose(-2, -1) / q.shape[-1]).softmax(-1) @ v,
    "scale by length": lambda q, k, v: (q @ k.transpose(-2, -1) * k.shape[-2] ** -0.5).softmax(-1) @ v,
}


@pytest.mark.parametrize("name", WRONG)
def test_the_oracle_tells_wrong_attentions_apart(name):
    q, k, v = draw(9, (2, 3, 5, 7), (2, 3, 11, 7), (2, 3, 11, 13))
    assert not torch.allclose(WRONG[name](q, k, v), F.scaled_dot_product_attention(q, k, v), atol=1e-3)
