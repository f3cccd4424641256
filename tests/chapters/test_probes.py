"""Leak probes: they find what is planted, by both methods, and stay quiet on torch's own correct attention."""

from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mha_teach.attention import attend
from mha_teach.probes import batch_leak, causal_leak, row_sums

B, H, N, D = 3, 2, 7, 5
WIDTH = H * D
FUTURE = torch.ones(N, N, dtype=torch.bool).triu(1)
DTYPES = [torch.float64, torch.float32, torch.bfloat16]
PAIRS = [(i, j) for i in range(N) for j in range(i + 1, N)]


def draw(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def seeded(make, **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return make(**options)


def encoder(
    dtype: torch.dtype = torch.float64, dropout: float = 0.0, **options
) -> nn.TransformerEncoderLayer:
    return seeded(
        lambda: nn.TransformerEncoderLayer(
            WIDTH, H, 13, dropout=dropout, batch_first=True, dtype=dtype, **options
        )
    )


def mha(dtype: torch.dtype = torch.float64, **options) -> nn.MultiheadAttention:
    return seeded(lambda: nn.MultiheadAttention(WIDTH, H, dtype=dtype, **{"batch_first": True, **options}))


def indices(leak) -> set[tuple[int, int]]:
    return {(pair.output, pair.input) for pair in leak.pairs}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("training", [True, False])
def test_no_false_alarm_on_torch_modules(dtype, training):
    x = draw(B, N, WIDTH, dtype=dtype)
    added = torch.zeros(N, N, dtype=dtype).masked_fill(FUTURE, -torch.inf)
    attention, layer = mha(dtype).train(training), encoder(dtype).train(training)
    for mask in (FUTURE, added):
        for options in ({}, {"need_weights": False}, {"need_weights": False, "is_causal": True}):
            assert not causal_leak(attention, x, attn_mask=mask, **options)
        assert not causal_leak(layer, x, src_mask=mask)
        assert not batch_leak(layer, x, src_mask=mask)
    assert not causal_leak(layer, x, src_mask=added, is_causal=True)
    leak = batch_leak(attention, x, attn_mask=FUTURE)
    assert (
        not leak and leak.number == 0.0 and leak.notes == () and leak.methods == ("gradient", "perturbation")
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_false_alarm_on_sdpa(dtype):
    q, k, v = (draw(B, H, N, D, dtype=dtype, seed=s) for s in range(3))
    for options in ({"is_causal": True}, {"attn_mask": ~FUTURE}, {"attn_mask": torch.zeros(N, N, dtype=dtype).masked_fill(FUTURE, -torch.inf)}):  # fmt: skip
        assert not causal_leak(F.scaled_dot_product_attention, q, k, v, **options)
    assert not batch_leak(F.scaled_dot_product_attention, q, k, v)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_missing_mask_leaks_every_future_pair(dtype):
    x = draw(B, N, WIDTH, dtype=dtype)
    for leak in (causal_leak(mha(dtype), x), causal_leak(encoder(dtype).eval(), x)):
        assert indices(leak) == set(PAIRS) and leak.forbidden == len(PAIRS)
    assert 0 < leak.number <= 1 and leak.number == leak.pairs[0].strength


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.integers(1, 6))
def test_exactly_the_planted_pairs_are_found(seed, count):
    chosen = random.Random(seed).sample(PAIRS, count)
    may = ~FUTURE
    may = may.index_put(tuple(torch.tensor(chosen).T), torch.tensor(True))
    x = draw(B, N, WIDTH, seed=seed)
    leak = causal_leak(lambda x: attend(x, x, x, mask=may)[0], x)
    assert indices(leak) == set(chosen)
    assert all(pair.gradient > 0 and pair.perturbation > 0 for pair in leak.pairs)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5), st.sampled_from([2, 3, 5, 7]), st.sampled_from([2, 3, 5]))
def test_batch_pairs_are_found(shift, size, n):
    x = draw(size, n, WIDTH)
    leak = batch_leak(lambda x: x + x.roll(shift, 0), x)
    assert indices(leak) == {(a, (a - shift) % size) for a in range(size) if shift % size}


def test_cross_inputs_are_told_apart_and_an_offset_serves_a_cache():
    q, k, v = draw(B, N, D), draw(B, N, D, seed=1), draw(B, N, D, seed=2)
    leak = causal_leak(lambda q, k, v: attend(q, k, v, mask=~FUTURE)[0] + v.flip(-2), q, k, v)
    assert {pair.name for pair in leak.pairs} == {"value"} and "the value input at position" in str(leak)
    q = draw(B, N - 2, D)
    aligned = torch.ones(N - 2, N, dtype=torch.bool).tril(2)
    assert not causal_leak(F.scaled_dot_product_attention, q, k, v, attn_mask=aligned, offset=2)
    assert causal_leak(F.scaled_dot_product_attention, q, k, v, attn_mask=aligned)
    tied = causal_leak(lambda q, memory: attend(q, memory, memory)[0], q, k)
    assert set(tied.allowed) == {"query", "key"}
    assert set(causal_leak(lambda q, k, v: q + k[:, :1] + v[:, :1], q, k, k).allowed) == {
        "query",
        "key/value",
    }


def test_the_normaliser_of_a_mask_after_softmax_leaks():
    x = draw(B, N, WIDTH)

    def after(x, renormalise):
        weights = (x @ x.mT).softmax(-1) * ~FUTURE
        return (weights / weights.sum(-1, keepdim=True) if renormalise else weights) @ x

    assert causal_leak(after, x, renormalise=False)
    assert not causal_leak(after, x, renormalise=True, tolerance=1e-12)
    assert causal_leak(lambda x: attend(x, x, x, mask=(~FUTURE).double())[0], x)  # tril added to the scores


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x.detach().flip(1),
        lambda x: x + F.one_hot(x[..., 0].argmax(1), N)[..., None],
        lambda x: x + (x.sum((1, 2), keepdim=True) * 10).round(),
    ],
)
def test_perturbation_sees_what_has_no_gradient(function):
    leak = causal_leak(function, draw(B, N, WIDTH))
    assert leak and any(pair.gradient == 0 < pair.perturbation for pair in leak.pairs)
    assert "only by perturbation" in str(leak)


def test_gradient_sees_what_perturbation_may_miss():
    leak = causal_leak(lambda x: x + 1e-9 * torch.tanh(x.mean(1, keepdim=True) / 1e9), draw(B, N, WIDTH))
    assert not leak  # 1e-18 is below float64's eps for both
    loud = causal_leak(lambda x: x + 1e-9 * x.mean(1, keepdim=True), draw(B, N, WIDTH), tolerance=1e-12)
    assert indices(loud) == set(PAIRS)
    assert not causal_leak(lambda x: x + 1e-9 * x.mean(1, keepdim=True), draw(B, N, WIDTH), tolerance=1e-6)


@pytest.mark.parametrize("axis", [-2, -1])
@pytest.mark.parametrize("fill", [-1e4, -1e9, torch.finfo(torch.float32).min])
def test_a_huge_constant_in_one_column_hides_nothing_of_the_others(fill, axis):
    """As logits whose padding token is closed."""
    x = draw(B, N, WIDTH, dtype=torch.float32).transpose(axis, -2)

    def model(x, leaky, columns=1):
        x = x.transpose(axis, -2)
        y = x.cumsum(1) + leaky * x.detach().roll(-1, 1)
        closed = torch.full_like(y[..., :columns], fill)
        return torch.cat([y[..., columns:], closed], -1).transpose(axis, -2)

    leak = causal_leak(lambda x: model(x, 1e-3), x, position_axis=axis)
    assert indices(leak) == {(i, i + 1) for i in range(N - 1)}
    by_batch = batch_leak(lambda x: model(x + x.detach().roll(1, 0), 0.0), x)
    assert by_batch or (
        axis == -1 and "features changes below" in str(by_batch)
    )  # there one row is huge everywhere
    quiet = causal_leak(lambda x: model(x, 0.0), x, position_axis=axis)
    assert not quiet and ("in 1 of 10 features changes below" in str(quiet)) == (fill < -1e6)
    most = causal_leak(
        lambda x: model(x, 1e-3, 8), x, position_axis=axis
    )  # most are huge: the verdict says so
    assert most if fill > -1e6 else "in 2 of 10 features changes below" in str(most)


def test_a_small_column_does_not_turn_rounding_into_a_leak():
    """Rounding of 1e-16 · size: beside a column of 1 it is below the floor of a column of 1e-3."""
    x = draw(B, N, WIDTH)
    small = torch.ones(WIDTH, dtype=torch.float64)
    small[1::3] = 1e-3
    rounding = 1e-16 * torch.tanh(draw(WIDTH, seed=2))
    assert not causal_leak(lambda x: (x.cumsum(1) * small) + x.detach().flip(1).sign() * rounding, x)


class Tokens(nn.Module):
    """A small language model on ids; ``peek`` adds the next token's vector."""

    def __init__(self, peek: bool) -> None:
        super().__init__()
        self.embed, self.layer, self.peek = nn.Embedding(11, WIDTH), encoder(torch.float32), peek

    def forward(self, ids):
        x = self.embed(ids)
        x = x + x.roll(-1, 1) if self.peek else x
        return {"loss": x.mean(), "logits": self.layer(x, src_mask=FUTURE)}


def test_token_ids_and_a_mapping_as_output():
    ids = torch.randint(0, 11, (B, N), generator=torch.Generator().manual_seed(0))
    quiet = causal_leak(Tokens(peek=False), ids)
    assert not quiet and quiet.methods == ("perturbation",) and "only the perturbation speaks" in str(quiet)
    assert (0, 1) in indices(causal_leak(Tokens(peek=True), ids))
    assert not batch_leak(Tokens(peek=False), ids)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dropout_is_told_and_is_no_leak(dtype):
    x, layer = draw(B, N, WIDTH, dtype=dtype), encoder(dtype, dropout=0.3)
    for leak in (causal_leak(layer, x, src_mask=FUTURE), batch_leak(layer, x, src_mask=FUTURE)):
        assert not leak and "(Dropout, MultiheadAttention)" in str(leak)
    assert causal_leak(layer.eval(), x, src_mask=FUTURE).notes == ()
    functional = causal_leak(lambda x: F.dropout(x, 0.5), x)
    assert not functional and "draws at random, as dropout in training mode does. The" in str(functional)
    assert causal_leak(encoder(dtype, dropout=0.3), x)  # and a leak is found through it


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("probe", [causal_leak, batch_leak])
def test_rrelu_draws_as_many_numbers_whatever_the_signs(probe, inplace):
    x = draw(B, N, WIDTH)
    leak = probe(nn.RReLU(inplace=inplace), x)
    assert not leak and leak.methods == ("gradient", "perturbation") and "(RReLU)" in str(leak)
    assert probe(lambda x: F.rrelu(x + x.flip(0, 1), training=True, inplace=inplace), x)
    assert "random" not in str(probe(nn.RReLU(inplace=inplace).eval(), x))


class Normed(nn.Module):
    def __init__(self, leak: bool = False, **options) -> None:
        super().__init__()
        self.norm, self.leak = nn.BatchNorm1d(WIDTH, dtype=torch.float64, **options), leak

    def forward(self, x):
        x = self.norm(x.transpose(1, 2)).transpose(1, 2)
        return x + x.flip(0).flip(1) if self.leak else x


@pytest.mark.parametrize("probe", [causal_leak, batch_leak])
def test_batch_norm_in_training_mode_is_told_and_is_no_leak(probe):
    module, x = Normed(), draw(B, N, WIDTH)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    leak = probe(module, x)
    assert not leak and "Batch norm in training mode mixes samples" in str(leak)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert str(probe(lambda x: module(x), x)) == str(leak)
    assert probe(Normed(leak=True), x)
    assert "Batch norm" not in str(probe(Normed().eval(), x))


class AlwaysTraining(Normed):
    """Forgets to pass ``self.training`` on: eval mode mixes too."""

    def forward(self, x):
        return F.batch_norm(x.mT, self.norm.running_mean, self.norm.running_var, training=True).mT


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("probe", [causal_leak, batch_leak])
def test_batch_norm_that_mixes_in_eval_mode_too_is_a_leak(probe, training):
    x = draw(B, N, WIDTH)
    for leak in (
        probe(Normed(track_running_stats=False).train(training), x),
        probe(lambda x: F.batch_norm(x.mT, None, None, training=True).mT, x),
        probe(AlwaysTraining().eval(), x),
    ):
        assert leak and "Batch norm" not in str(leak)


def test_non_determinism_is_told_and_is_no_leak():
    chance = random.Random(0)
    for probe in (causal_leak, batch_leak):
        leak = probe(lambda x: x * (1 + chance.random()), draw(B, N, WIDTH))
        assert not leak and leak.methods == ("gradient",) and "not deterministic: equal inputs" in str(leak)
    assert causal_leak(lambda x: (x + x.flip(1)) * (1 + chance.random()), draw(B, N, WIDTH))
    with torch.no_grad():
        nothing = causal_leak(lambda x: x.detach() * chance.random(), draw(B, N, WIDTH))
    assert not nothing and nothing.methods == () and "nothing is known" in str(nothing)
    assert str(nothing).startswith("No verdict on 21 forbidden pairs: neither method could run.")


def test_a_row_that_is_fully_masked_is_told():
    x = draw(B, N, WIDTH)
    blind = ~FUTURE
    blind[0] = False

    def naive(x):
        return (x @ x.mT).masked_fill(~blind, -torch.inf).softmax(-1) @ x

    leak = causal_leak(naive, x)
    assert not leak and leak.methods == ("perturbation",) and "NaN or infinity before" in str(leak)
    assert str(leak).startswith(
        "No causal leak found among the finite outputs, in 21 forbidden pairs, by pert"
    )
    assert leak.finite == (N - 1) / N

    def hidden(x):
        weights = (x @ x.mT + torch.zeros(N, N).masked_fill(~blind, -torch.inf)).softmax(-1)
        return torch.where(weights.isnan(), 0.0, weights) @ x

    assert "Some gradients are NaN" in str(causal_leak(hidden, x))
    assert not causal_leak(lambda x: attend(x, x, x, mask=blind)[0], x).notes
    assert causal_leak(lambda x: x / (x.flip(1) < 2.5), x)  # infinity that comes and goes


@pytest.mark.parametrize("probe", [causal_leak, batch_leak])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_where_no_output_is_finite_there_is_no_verdict(probe, value):
    leak = probe(lambda x: x.cumsum(1) * 0 + value, draw(B, N, D))
    first, *notes = str(leak).split("\n")
    assert not leak and leak.finite == 0 and "No causal leak" not in leak._repr_html_()
    assert first == f"No verdict on {leak.forbidden} forbidden pairs: every output is NaN or infinite."
    assert len(notes) == 1 and "look for a row that is fully masked" in notes[0]


def test_batch_first_misread_is_a_batch_leak():
    x = draw(B, N, WIDTH)
    assert batch_leak(mha(batch_first=False), x)
    assert not batch_leak(mha(batch_first=False), x.transpose(0, 1), batch_axis=1)
    assert not causal_leak(mha(batch_first=False), x.transpose(0, 1), position_axis=0, attn_mask=FUTURE)


def test_nothing_of_the_module_changes():
    layer, x = encoder(), draw(B, N, WIDTH).requires_grad_()
    state, before = torch.get_rng_state(), x.detach().clone()
    causal_leak(layer, x, src_mask=FUTURE)
    assert torch.equal(state, torch.get_rng_state()) and torch.equal(x, before) and x.grad is None
    assert all(p.grad is None for p in layer.parameters()) and layer.training


def test_the_callers_grad_mode_does_not_matter():
    layer = encoder().eval()
    for mode in (torch.inference_mode, torch.no_grad, torch.enable_grad):
        with mode():
            leak = causal_leak(layer, draw(B, N, WIDTH), src_mask=FUTURE)
        assert not leak and leak.notes == ()


def test_long_inputs_are_sampled_and_say_so():
    leak = causal_leak(lambda x: x + x.flip(1), draw(2, 31, 3), most=5)
    assert "5 of 31 places were tested" in str(leak) and leak
    assert (0, 30) in indices(leak) and len(leak.pairs) < 15
    assert causal_leak(lambda x: x + x.flip(1), draw(2, 31, 3), most=31).notes == ()


def test_the_number_of_passes_is_bounded():
    calls = []

    def counted(x):
        calls.append(x)
        return x.cumsum(1)

    causal_leak(counted, draw(2, 61, 3))
    assert len(calls) <= 24 + 6  # one backward pass per tested position comes on top
    calls.clear()
    batch_leak(counted, draw(2, 61, 3))
    assert len(calls) <= 2 + 6


def test_silence_is_told_only_of_positions():
    assert causal_leak(lambda x: x * 2, draw(B, N, D)).silent
    assert "forgotten transpose" not in str(batch_leak(lambda x: x * 2, draw(B, N, D)))


def test_words_and_html():
    leak = batch_leak(lambda x: x + 0.5 * x.flip(0), draw(2, N, D))
    first, second = str(leak).split("\n")
    assert first == "Batch leak: 2 of 2 forbidden pairs (2 by gradient, 2 by perturbation)."
    assert second.startswith("The strongest: the output at sample ")
    assert "of the strongest dependence anywhere" in second
    html = leak._repr_html_()
    assert html == leak._repr_html_() and "<td>input 1</td>" in html and html.count("<tr>") == 3
    quiet = causal_leak(lambda x: x.cumsum(1), draw(B, N, D))
    assert str(quiet) == "No causal leak in 21 forbidden pairs, by gradient and perturbation." == repr(quiet)
    assert "<table>" not in quiet._repr_html_()


ERRORS = [
    (lambda: causal_leak(encoder(), [1.0]), TypeError, "query is list; give a tensor: settings such as a mask go by"),
    (lambda: causal_leak(encoder(), draw(1, 2, 3), 5), TypeError, "key is int; give a tensor"),
    (lambda: causal_leak(attend, draw(1, 2, 3), None, draw(1, 2, 3)), ValueError, "value is given without key"),
    (lambda: causal_leak(lambda x: x.sum(), draw(B, N, D)), TypeError, "no floating-point tensor with two axes"),
    (lambda: causal_leak(lambda x: "no", draw(B, N, D)), TypeError, "no floating-point tensor with two axes"),
    (lambda: causal_leak(lambda x: x, draw(B, 1, D)), ValueError, "the position axis has size 1: a leak needs at least 2"),
    (lambda: causal_leak(lambda x: x[:, :5], draw(B, N, D)), ValueError, r"size 5 along the position axis and input has 7 \(shapes \(3, 5, 5\) and \(3, 7, 5\)\): set position_axis"),
    (lambda: causal_leak(lambda x: x, draw(B, N, D), position_axis=3), ValueError, r"no axis 3: set position_axis"),
    (lambda: batch_leak(lambda x: x, draw(1, N, D)), ValueError, "the batch axis has size 1: a leak needs at least 2"),
    (lambda: batch_leak(lambda q, k: q + k[:1], draw(B, N, D), draw(2, N, D)), ValueError, "the output has 3 samples and key has 2: set batch_axis"),
    (lambda: causal_leak(nn.Embedding(5, D), torch.full((B, N), 4)), ValueError, "input holds only the id 4: give at least two"),
]  # fmt: skip


@pytest.mark.parametrize("probe", [causal_leak, batch_leak])
@pytest.mark.parametrize(("options", "said"), [({"most": 0}, "most is 0: test at least one place"), ({"most": -1}, "most is -1"), ({"tolerance": float("nan")}, "tolerance is nan: give 0 or more"), ({"tolerance": -1.0}, "tolerance is -1.0")])  # fmt: skip
def test_settings_that_would_find_nothing_are_refused(probe, options, said):
    with pytest.raises(ValueError, match=said):
        probe(lambda x: x + x.mean((0, 1)), draw(B, N, D), **options)


@pytest.mark.parametrize(("call", "kind", "said"), ERRORS)
def test_errors_state_sizes_and_the_cure(call, kind, said):
    with pytest.raises(kind, match=said):
        call()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(DTYPES), st.sampled_from([2, 3, 13]), st.sampled_from([5, 101, 997]))
def test_rows_of_a_softmax_sum_to_one(dtype, queries, keys):
    found = row_sums((draw(B, queries, keys) * 3).to(dtype).softmax(-1))
    assert found and found.number == 0 and str(found) == f"All {B * queries} rows sum to 1."


def test_the_wrong_axis_is_named():
    found = row_sums(draw(B, H, N, 5).softmax(-2))
    assert not found and found.axis == -2 and "the softmax ran over that axis" in str(found)
    assert row_sums(draw(B, H, N, 5).softmax(1)).axis == -3
    assert len(found.rows) == B * H * N and found.rows[0] == (0, 0, 0)


def test_rows_by_hand():
    found = row_sums(torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.25]]))
    assert found.rows == ((2,),) and found.number == 0.25 and found.axis is None
    assert str(found).startswith("1 of 3 rows do not sum to 1: their sums run from 0.75 to 0.75.")
    assert "a mask or dropout came after the softmax" in found._repr_html_()
    blind = row_sums(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    assert blind and str(blind) == "1 of 2 rows hold only zeros: queries that may look at nothing."


def test_faults_of_rows_are_named():
    weights = draw(N, N).softmax(-1)
    assert not row_sums(weights * ~FUTURE) and not row_sums(F.dropout(weights, 0.5))
    assert row_sums(weights * ~FUTURE / (weights * ~FUTURE).sum(-1, keepdim=True))
    nan = row_sums(torch.full((2, 3), torch.nan))
    assert not nan and nan.number != nan.number and repr(nan).startswith("2 of 2 rows hold NaN")
    assert "Some weights are negative" in str(row_sums(torch.tensor([[1.5, -0.5]])))
    assert row_sums(torch.tensor([[0.9, 0.0]]), tolerance=0.2) and not row_sums(torch.tensor([[0.9, 0.0]]))
    for bad, said in ((torch.ones(2, 2, dtype=torch.long), "torch.int64"), ([[1.0]], "list")):
        with pytest.raises(TypeError, match=f"weights hold {said}; give the floating-point weights"):
            row_sums(bad)
    for shape in ((3,), (0, 2)):
        with pytest.raises(ValueError, match=r"they need \(query, key\), neither empty"):
            row_sums(torch.ones(shape))


def test_the_picture_frames_leaks_and_hatches_the_rest():
    from mha_teach.figures import base, probes

    leak = causal_leak(lambda x: x + F.pad(x[:, 3:4], (0, 0, 1, N - 2)), draw(B, N, D))
    assert indices(leak) == {(1, 3)}
    ax = probes.dependence(base.axes(), leak.perturbation["input"], leak.allowed["input"])
    framed = [patch.get_xy() for patch in ax.patches if patch.get_hatch() is None]
    assert framed == [(2.5, 0.5)] and len(ax.patches) == len(PAIRS)
    with pytest.raises(
        ValueError, match=r"strength has shape \(7, 7\) and allowed \(6, 7\): take both of one"
    ):
        probes.dependence(ax, leak.gradient["input"], leak.allowed["input"][1:])
