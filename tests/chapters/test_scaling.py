"""Scores, scales and saturation: against hand-worked numbers, autograd in float64, and torch's own layers."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mha_teach import scaling
from mha_teach.attention import attend


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def double(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


# --- the four factors


def test_scale_by_hand() -> None:
    assert scaling.score_scale("none", 49) == 1.0
    assert scaling.score_scale("sqrt_d_k", 49) == pytest.approx(1 / 7)
    assert scaling.score_scale("d_k", 49) == pytest.approx(1 / 49)
    assert scaling.score_scale("sqrt_d_model", 49, 121) == pytest.approx(1 / 11)


def test_every_listed_scale_exists() -> None:
    assert all(0 < scaling.score_scale(kind, 3, 5) <= 1 for kind in scaling.SCALES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sqrt", 7), r"'sqrt' is unknown; choose one of none, sqrt_d_k"),
        (("none", 0), r"d_k is 0, but a head needs a width of at least 1"),
        (("sqrt_d_model", 7), r"needs d_model >= 1, got None; pass d_model"),
        (("sqrt_d_model", 7, 0), r"needs d_model >= 1, got 0"),
    ],
)
def test_bad_scale_says_what_to_do(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scaling.score_scale(*arguments)


def test_torch_divides_by_sqrt_d_k() -> None:
    q, k, v = double(2, 3, 5, 7), double(2, 3, 11, 7), double(2, 3, 11, 13)
    ours = attend(q, k, v, scale=scaling.score_scale("sqrt_d_k", 7))[0]
    assert torch.allclose(ours, F.scaled_dot_product_attention(q, k, v), atol=1e-12)


# --- mean and variance of a score


def test_predicted_moments_by_hand() -> None:
    assert scaling.predicted_moments(64) == (0.0, 64.0)
    assert scaling.predicted_moments(10, correlation=0.5, sd_q=2.0, sd_k=3.0) == (30.0, 450.0)


@settings(max_examples=12, deadline=None)
@given(d_k=st.sampled_from([1, 2, 7, 31]), rho=st.floats(-1, 1), seed=st.integers(0, 999))
def test_moments_of_matched_pairs_are_as_predicted(d_k: int, rho: float, seed: int) -> None:
    q, k = scaling.draw_qk(20_011, 20_011, d_k, rho, torch.Generator().manual_seed(seed))
    scores = (q * k).sum(-1)
    mean, variance = scaling.predicted_moments(d_k, rho)
    error = math.sqrt(variance / len(scores))
    assert abs(scores.mean() - mean) < 6 * error
    assert scores.var().item() == pytest.approx(variance, rel=0.2)


def test_only_matched_pairs_are_correlated() -> None:
    q, k = scaling.draw_qk(307, 401, 53, 0.9)
    scores = q @ k.T / 53
    assert scores.diagonal().mean().item() == pytest.approx(0.9, abs=0.05)
    assert scores[~torch.eye(307, 401, dtype=bool)].mean().abs() < 0.01
    assert k.var().item() == pytest.approx(1, abs=0.03)


def test_draw_follows_its_generator() -> None:
    one, two = (scaling.draw_qk(3, 5, 7, 0.3, torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(one[0], two[0]) and torch.equal(one[1], two[1])


def test_impossible_correlation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"correlation is 1.5, but a correlation lies between -1 and 1"):
        scaling.draw_qk(3, 5, 7, 1.5)


def test_variance_by_hand_for_two_coordinates() -> None:
    cov_q = torch.tensor([[1.0, 0.5], [0.5, 2.0]])
    cov_k = torch.tensor([[3.0, -1.0], [-1.0, 1.0]])
    assert scaling.score_variance(cov_q, cov_k) == 1 * 3 - 0.5 - 0.5 + 2 * 1


def test_variance_between_the_two_extremes() -> None:
    assert scaling.score_variance(torch.eye(17), torch.eye(17)) == 17
    assert scaling.score_variance(torch.ones(17, 17), torch.ones(17, 17)) == 17**2


def test_variance_is_that_of_drawn_scores() -> None:
    a, b = double(5, 5), double(5, 5)
    q, k = double(200_003, 5) @ a, double(200_003, 5) @ b
    predicted = scaling.score_variance(a.T @ a, b.T @ b)
    assert (q * k).sum(-1).var().item() == pytest.approx(predicted.item(), rel=0.03)


def test_variance_refuses_unlike_sizes() -> None:
    with pytest.raises(ValueError, match=r"\(2, 2\) and \(3, 3\); both must be \(d_k, d_k\)"):
        scaling.score_variance(torch.eye(2), torch.eye(3))
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(2, 3\)"):
        scaling.score_variance(torch.ones(2, 3), torch.ones(2, 3))


# --- initialisations


@pytest.mark.parametrize(
    ("init", "variance"),
    [
        ("torch default", 1 / (3 * 211)),
        ("xavier", 2 / (211 + 307)),
        ("xavier fused", 2 / (211 + 3 * 307)),
        ("normal 0.02", 0.0004),
        ("tied", 2 / (211 + 307)),
    ],
)
def test_weight_variance(init: str, variance: float) -> None:
    w_q, w_k = scaling.init_weights(init, 211, 307)
    assert w_q.shape == w_k.shape == (307, 211)
    assert w_q.var().item() == pytest.approx(variance, rel=0.03)
    assert w_k.var().item() == pytest.approx(variance, rel=0.03)
    assert torch.equal(w_q, w_k) == (init == "tied")


def test_the_fused_init_is_that_of_torchs_own_module() -> None:
    theirs = nn.MultiheadAttention(208, 13).in_proj_weight
    ours = scaling.init_weights("xavier fused", 208)[0]
    assert ours.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.01)


@pytest.mark.parametrize(
    ("init", "expected"), [("torch default", 1 / 9), ("xavier", 1), ("xavier fused", 1 / 4)]
)
def test_scaled_score_variance_at_init(init: str, expected: float) -> None:
    d_model, heads = 256, 8
    w_q, w_k = scaling.init_weights(init, d_model)
    x, y = torch.randn(2, 211, d_model)
    q, k = ((t @ w.T).view(211, heads, -1).transpose(0, 1) for t, w in ((x, w_q), (y, w_k)))
    assert (q @ k.mT * (d_model // heads) ** -0.5).var().item() == pytest.approx(expected, rel=0.1)


def test_unknown_init_is_refused() -> None:
    with pytest.raises(ValueError, match=r"init 'he' is unknown; choose one of torch default, xavier"):
        scaling.init_weights("he", 8)


# --- saturation and gradients


def test_jacobian_by_hand() -> None:
    expected = torch.tensor([[0.25, -0.25], [-0.25, 0.25]])
    assert torch.equal(scaling.softmax_jacobian(torch.tensor([0.5, 0.5])), expected)
    assert scaling.softmax_jacobian(torch.tensor([1.0, 0.0])).abs().max() == 0


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), keys=st.sampled_from([1, 2, 7, 13]), spread=st.floats(0.01, 30))
def test_jacobians_agree_with_autograd(seed: int, keys: int, spread: float) -> None:
    torch.manual_seed(seed)
    q, k, scale = double(1, 5) * spread, double(keys, 5), 0.37
    weights = (q @ k.T * scale).softmax(-1)
    to_scores = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), (q @ k.T * scale)[0])
    to_query = torch.autograd.functional.jacobian(lambda q: (q @ k.T * scale).softmax(-1), q[0])
    assert torch.allclose(scaling.softmax_jacobian(weights[0]), to_scores, atol=1e-12)
    assert torch.allclose(scaling.query_jacobian(weights, k, scale)[0], to_query, atol=1e-12)
    stats = scaling.saturation(q, k, scale)
    assert stats.to_scores.item() == pytest.approx(to_scores.norm().item(), rel=1e-6, abs=1e-12)
    assert stats.to_query.item() == pytest.approx(to_query.norm().item(), rel=1e-6, abs=1e-12)
    assert scaling.softmax_jacobian(weights).sum(-1).abs().max() < 1e-12


def test_saturation_by_hand() -> None:
    q, k = torch.tensor([[math.log(3.0)]]), torch.tensor([[1.0], [0.0]])  # weights 3/4 and 1/4
    stats = scaling.saturation(q, k, 1.0)
    assert stats.max_weight.item() == pytest.approx(0.75)
    assert stats.entropy.item() == pytest.approx(0.75 * math.log(4 / 3) + 0.25 * math.log(4), rel=1e-5)
    assert stats.to_scores.item() == pytest.approx(2 * 3 / 16, rel=1e-5)  # four entries of ±3/16
    assert stats.to_query.item() == pytest.approx(math.sqrt(2) * 3 / 16, rel=1e-5)


def test_saturation_keeps_leading_axes() -> None:
    stats = scaling.saturation(double(2, 3, 5, 7), double(2, 3, 11, 7), 0.3)
    assert all(field.shape == (2, 3, 5) for field in stats)
    one = scaling.saturation(*(t[1, 2] for t in _pair()), 0.3)
    assert torch.allclose(scaling.saturation(*_pair(), 0.3).to_query[1, 2], one.to_query)


def _pair() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(3)
    return double(2, 3, 5, 7), double(2, 3, 11, 7)


def test_float32_survives_full_saturation() -> None:
    q, k = torch.randn(101, 1024), torch.randn(53, 1024)
    single, exact = scaling.saturation(q, k, 1.0), scaling.saturation(q.double(), k.double(), 1.0)
    assert torch.allclose(single.to_query.double(), exact.to_query, rtol=0.02, atol=1e-4)
    assert torch.allclose(single.to_scores.double(), exact.to_scores, rtol=0.02, atol=1e-6)


def test_unequal_widths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"q has d_k 5 but k has 7"):
        scaling.saturation(torch.ones(2, 5), torch.ones(3, 7), 1.0)


def test_leaving_out_the_scale_shrinks_one_gradient_and_grows_the_other() -> None:
    q, k = scaling.draw_qk(503, 61, 1024)
    scaled, raw = scaling.saturation(q, k, 1 / 32), scaling.saturation(q, k, 1.0)
    assert raw.to_scores.mean() < 0.5 * scaled.to_scores.mean()
    assert raw.to_query.mean() > 5 * scaled.to_query.mean()
    assert raw.to_query.median() < 0.5 * scaled.to_query.median()  # a few rows carry it all


def test_dead_rows_by_hand() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.9995, 0.0005], [0.99, 0.01], [0.5, 0.5]])
    assert scaling.dead_rows(weights) == 0.5
    assert scaling.dead_rows(weights, threshold=0.1) == 0.75


# --- half precision


@pytest.mark.parametrize("d_k", [2, 64, 101, 1024])
def test_half_precision_overflows_where_predicted(d_k: int) -> None:
    ones = torch.ones(1, d_k)  # q = k: the score is exactly a² d_k
    limit = scaling.overflow_scale(d_k, sigmas=0.0, correlation=1.0)
    below, above = ((ones * limit * factor) for factor in (0.99, 1.01))
    assert (below @ below.T).half().isfinite().all()
    assert (above @ above.T).half().isinf().all()


def test_overflow_by_hand() -> None:
    assert scaling.overflow_scale(64, sigmas=4.0) == pytest.approx(math.sqrt(65504 / 32))
    assert scaling.overflow_scale(64, sigmas=4.0, scale=1 / 8) == pytest.approx(math.sqrt(65504 / 4))
    assert torch.finfo(torch.float16).max == scaling.FP16_LIMIT


def test_an_infinite_score_makes_the_row_nan() -> None:
    assert torch.tensor([torch.inf, 1.0]).softmax(-1).isnan().all()


# --- the probe


@settings(max_examples=15, deadline=None)
@given(scale=st.floats(0.01, 3.0), seed=st.integers(0, 999))
def test_probe_reads_the_scale_that_was_used(scale: float, seed: int) -> None:
    torch.manual_seed(seed)
    q, k = double(2, 3, 5, 7), double(2, 3, 11, 7)
    mask = torch.rand(5, 11) < 0.7
    mask[:, :2] = True
    weights = attend(q, k, k, mask=mask, scale=scale)[1]
    assert scaling.effective_scale(q, k, weights).item() == pytest.approx(scale, rel=1e-6)


def test_probe_reads_torchs_module() -> None:
    module = nn.MultiheadAttention(26, 2, batch_first=True, bias=False, dtype=torch.float64)
    x = double(3, 5, 26) * 0.1
    weights = module(x, x, x, average_attn_weights=False)[1]
    q, k = ((x @ w.T).unflatten(-1, (2, 13)).transpose(1, 2) for w in module.in_proj_weight.split(26)[:2])
    assert scaling.effective_scale(q, k, weights).item() == pytest.approx(13**-0.5)


def test_probe_says_when_it_can_read_nothing() -> None:
    q, k = torch.full((1, 2), 100.0), torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    with pytest.raises(ValueError, match="no row has two non-zero weights"):
        scaling.effective_scale(q, k, (q @ k.T).softmax(-1))


# --- drawings


def test_drawings_show_what_they_are_given() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from mha_teach.figures import scaling as draw

    widths = [1, 7, 31]
    ax = draw.variance_lines(widths, {"a": [1.0, 7.1, 30.0]}, {"a": [1.0, 7.0, 31.0]})
    assert list(ax.lines[0].get_ydata()) == [1.0, 7.0, 31.0]
    assert ax.collections[0].get_offsets()[2].tolist() == [31.0, 30.0]

    ax = draw.softmax_strips({"one": torch.tensor([0.2, 0.8]), "two": torch.tensor([0.5, 0.5])})
    assert [text.get_text() for text in ax.texts] == ["max 0.80", "max 0.50"]

    stats = {name: torch.rand(3, 11) for name in ("to_scores", "to_query")}
    left, right = draw.gradient_panels(widths, stats, stats)
    assert torch.tensor(left.lines[2].get_ydata()).allclose(stats["to_scores"].mean(1))
    assert torch.tensor(right.lines[3].get_ydata()).allclose(stats["to_query"].median(1).values)

    ax = draw.loss_curves([0, 5], torch.tensor([[[3.0, 1.0], [2.0, 0.0]]]), ["a"])
    assert [line.get_ydata().tolist() for line in ax.lines] == [[3.0, 1.0], [2.0, 0.0], [2.5, 0.5]]

    panels = draw.regimes(widths, {"a": [1, 2, 3]}, {"a": [4, 5, 6]})
    assert [list(panel.lines[0].get_ydata()) for panel in panels] == [[1, 2, 3], [4, 5, 6]]
    plt.close("all")
