"""Probes on modules as they are at work: in place, stateful, without gradient, drawn with the probe's own seed."""

from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mha_teach.multihead import MultiHeadAttention
from mha_teach.probes import (
    batch_leak,
    causal_leak,
    drop_pattern,
    ignored_inputs,
    mask_leak,
    row_sums,
    scale_law,
)
from mha_teach.reshaping import split_by_view

B, N, D, HEADS = 3, 7, 15, 3
PAST = torch.ones(N, N, dtype=torch.bool).tril()


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    """Seed 0 on purpose: the numbers that a probe with seed 0 must not draw again."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- what the probe changes and what it leaves


def test_a_module_that_works_in_place_is_probed_and_the_input_stays():
    x = draw(B, N, D)
    before = x.clone()
    assert not causal_leak(lambda x: x.mul_(2).cumsum(1), x)
    assert causal_leak(lambda x: x.add_(x.flip(1)), x).methods == ("gradient", "perturbation")
    assert not batch_leak(nn.Sequential(nn.ReLU(inplace=True), nn.Linear(D, D).double()), x)
    mask = torch.zeros(N, N, dtype=torch.float64)
    causal_leak(lambda x, mask: F.scaled_dot_product_attention(x, x, x, mask.sub_(1)), x, mask=mask)
    assert torch.equal(x, before) and not mask.any()


class Averaging(nn.Module):
    """Replaces its buffer at each call, and uses it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(D, dtype=torch.float64))

    def forward(self, x):
        out = x.cumsum(1) + self.mean
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean((0, 1))
        return out


def test_a_buffer_that_is_replaced_comes_back():
    module = Averaging()
    leak = causal_leak(module, draw(B, N, D))
    assert not leak and leak.notes == () and not module.mean.any()


class Reusing(nn.Module):
    """Hands out the same memory at each call: a registered buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("out", torch.zeros(B, N, D, dtype=torch.float64))

    def forward(self, x):
        return self.out.copy_(x.flip(1))


def test_an_output_that_lies_in_the_same_memory_at_each_call_is_probed():
    x, memory = draw(B, N, D), torch.empty(B, N, D, dtype=torch.float64)

    @torch.no_grad()
    def reusing(x):
        return torch.mul(x.flip(1), 2, out=memory)

    module = Reusing()
    for function, methods in ((reusing, 1), (torch.no_grad()(Reusing()), 1), (module, 2)):
        for leak in (causal_leak(function, x), mask_leak(function, x, PAST)):
            assert leak and len(leak.methods) == methods and leak.perturbation["input"].count_nonzero() == N
    assert not module.out.any() and not module.out.requires_grad


def test_a_cache_that_grows_is_told():
    seen = []

    def cached(x):
        seen.append(x)
        return torch.cat(seen, 1)

    with pytest.raises(
        ValueError,
        match=r"one call returned shape \(3, 7, 15\), another \(3, 14, 15\).*a wrapper that empties",
    ):
        causal_leak(cached, draw(B, N, D))


# --- numbers of its own


def test_the_caller_s_seed_is_not_the_probe_s():
    """Drawn again from the same seed, the new numbers would be the old ones, or thrice them: no sign changes."""
    x = draw(B, N, D)
    assert causal_leak(lambda x: x + (x.flip(1) > 0), x)
    assert causal_leak(lambda x: torch.where(x.flip(1) > 0, x, torch.nan), x)
    q, k, v = draw(2, 5, D), draw(2, N, D), draw(2, N, D)
    assert ignored_inputs(F.scaled_dot_product_attention, q, k, v) == ()


def test_nan_in_the_input_does_not_spoil_the_draw():
    x = draw(B, N, D)
    x[1, 5:] = torch.nan
    assert not causal_leak(lambda x: x.nan_to_num().cumsum(1), x)
    assert causal_leak(lambda x: x.cumsum(1) + x.nan_to_num().detach().flip(1), x[:, :5])
    leak = causal_leak(lambda x: x.nan_to_num().detach().flip(1), x)
    assert leak and leak.perturbation["input"].count_nonzero() == N


@pytest.mark.parametrize("leaky", [False, True])
def test_numbers_outside_a_function_s_domain_are_no_leak(leaky):
    """NaN or infinity that the new number alone brings reaches forbidden places as 0 · NaN."""
    x = draw(B, N, D)
    mask = torch.ones(N, N, dtype=torch.bool).tril(int(leaky))

    def attend(x):
        return F.scaled_dot_product_attention(x, x, x, mask)

    def mixed(x):  # one feature in a domain of its own
        return attend(torch.cat([x[..., :1].log(), x[..., 1:]], -1).detach())

    half = (x * 1.5e4).half()
    half[0, 0, 0] = torch.nan
    for function, given in (
        (lambda x: attend(x.log()), x.exp()),
        (lambda x: attend((1 - x).sqrt().detach()), x.sigmoid()),
        (mixed, torch.cat([x[..., :1].exp(), x[..., 1:]], -1)),
        (lambda x: attend(F.layer_norm(x.nan_to_num(0.0, torch.inf, torch.inf), (D,))), half),
    ):
        leak = causal_leak(function, given)
        assert {(p.output, p.input) for p in leak.pairs} == {(i, i + 1) for i in range(N - 1) if leaky}, given
        assert leak.perturbation["input"].tril().count_nonzero() == N * (N + 1) / 2


def test_ids_as_floats_are_probed_where_they_can_be():
    embedding, ids = draw(7, D), torch.arange(7.0).repeat(B, 1)[..., None]
    leak = causal_leak(lambda x: embedding[x[..., 0].long()].roll(-1, 1), ids)
    assert (0, 1) in {(p.output, p.input) for p in leak.pairs}
    table = {float(at): embedding[at] for at in range(7)}
    with pytest.raises(
        ValueError, match=r"fails when input is replaced at place 0 \(KeyError: .* give them as integers"
    ):
        causal_leak(lambda x: torch.stack([table[at] for at in x.flatten().tolist()])[None], ids[:1])


# --- a gradient that can't be read


class NoWayBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.cumsum(1)

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError("no backward here")


def test_where_no_gradient_can_be_read_the_perturbation_speaks():
    x = draw(B, N, D)
    through_numpy = causal_leak(lambda x: torch.from_numpy(x.numpy()[:, ::-1].copy()), x)
    assert through_numpy and through_numpy.methods == ("perturbation",)
    assert "The gradient could not be read (RuntimeError: Can't call numpy()" in str(through_numpy)
    quiet = causal_leak(NoWayBack.apply, x)
    assert not quiet and "no backward here), so only the perturbation speaks" in str(quiet)


# --- noise that two equal calls don't show


def test_rare_noise_and_a_state_that_drifts_are_no_leak():
    chance = random.Random(1)
    leak = causal_leak(lambda x: x.cumsum(1) + (chance.random() < 0.1), draw(B, N, D))
    assert not leak and "not deterministic" in str(leak)
    calls = []

    def late(x):
        calls.append(x)
        return x.cumsum(1) + (len(calls) > 8)

    leak = causal_leak(late, draw(B, N, D))
    assert not leak and leak.methods == ("gradient",)


def test_what_may_be_rounding_says_so():
    x = draw(B, N, D)

    def by_difference(x):
        return x.sum(1, keepdim=True) - (x.flip(1).cumsum(1).flip(1) - x)

    for given, cure in ((x, "tolerance=1e-13"), (x.float(), "Probe in float64")):
        leak = causal_leak(by_difference, given)
        assert leak and "it may be rounding" in str(leak) and cure in str(leak)
    assert not causal_leak(by_difference, x, tolerance=1e-13)
    assert "rounding" not in str(causal_leak(lambda x: x.cumsum(1) + 1e-6 * x.flip(1), x.float()))


# --- filler and ids


def test_filler_s_own_outputs_do_not_count():
    """Filler on the left: its rows are blind, and a finite mask lets them look everywhere."""
    x, real = draw(B, N, D), torch.ones(B, N, dtype=torch.bool)
    real[2, :3] = False
    added = torch.zeros(B, N, N, dtype=torch.float64).masked_fill(~(PAST & real[:, None]), -1e30)

    def model(x):
        return F.scaled_dot_product_attention(x, x, x, added)

    assert {pair.output for pair in causal_leak(model, x).pairs} == {0, 1, 2}
    assert not causal_leak(model, x, real=real)
    assert not mask_leak(model, x, PAST, real=real)
    assert causal_leak(lambda x: model(x) + 1e-3 * x.flip(1), x, real=real)
    for bad, said in (
        (real[:, :5], r"torch.bool of shape \(3, 5\)"),
        (real.double(), "torch.float64"),
        (7, "int"),
    ):
        with pytest.raises(ValueError, match=said + r".*the output has shape \(3, 7, 15\): give booleans"):
            causal_leak(model, x, real=bad)


def test_an_id_that_matters_is_often_met():
    """Everybody reads whether place 4 holds padding: few swaps put it there, so ids are drawn four times."""

    def model(ids):
        return F.one_hot(ids, 11).double().cumsum(1) + (ids[:, 4] == 0)[:, None, None]

    found = 0
    for seed in range(20):
        ids = torch.randint(1, 11, (B, N), generator=torch.Generator().manual_seed(seed))
        ids[0, -1] = 0
        found += bool(causal_leak(model, ids))
    assert found >= 8


def test_mask_leak_takes_ids_and_checks_the_output():
    ids = torch.randint(0, 11, (B, N), generator=torch.Generator().manual_seed(0))
    embedding = draw(11, D)
    assert not mask_leak(lambda ids: embedding[ids].cumsum(1), ids, PAST)
    assert mask_leak(lambda ids: embedding[ids].sum(1, keepdim=True).expand(-1, N, -1), ids, PAST)
    with pytest.raises(ValueError, match="size 5 along the position axis and input has 7"):
        mask_leak(lambda x: x[:, :5], draw(B, N, D), PAST)


def test_three_inputs_are_asked_for_though_a_fourth_goes_by_name():
    def attention(query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, mask)

    assert not causal_leak(attention, draw(B, N, D), mask=PAST)


@pytest.mark.parametrize("shape", [(0, N, D), (B, N, 0)])
def test_an_empty_axis_is_refused(shape):
    with pytest.raises(ValueError, match="query has shape .* give at least one on every axis"):
        causal_leak(lambda x: x, torch.zeros(shape))


def test_heads_cut_by_a_view_read_the_future_only_where_merged_by_transposing_back():
    def cut(x, transposed):
        heads = split_by_view(x, HEADS)
        y = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        return y.transpose(1, 2).flatten(2) if transposed else y.reshape(x.shape)

    assert causal_leak(cut, draw(B, N, D), transposed=True)
    leak = causal_leak(cut, draw(B, N, D), transposed=False)
    assert not leak and not leak.silent and (N - 1, 0) in leak.unread


# --- the other probes


def test_ignored_inputs_refuses_what_can_t_be_known():
    q, k, v = draw(2, 5, D), draw(2, N, D, seed=1), draw(2, N, D, seed=2)
    chance = random.Random(0)
    for function in (lambda q, k, v: q * chance.random(), lambda q, k, v: q * torch.nan):
        with pytest.raises(ValueError, match="equal inputs gave unequal outputs, or none that is finite"):
            ignored_inputs(function, q, k, v)
    ids = [torch.randint(0, 5, (2, N), generator=torch.Generator().manual_seed(s)) for s in range(3)]
    assert ignored_inputs(lambda q, k, v: (F.one_hot(q, 5) + k[..., None]).double(), *ids) == ("value",)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("masked", [True, False])
def test_few_keys_and_much_dropout_are_no_fault(rate, n, masked):
    module = MultiHeadAttention(D, HEADS, dropout=rate)
    mask = PAST[:n, :n] if masked else None
    found = drop_pattern(module, lambda m: m(draw(B, n, D).float(), mask=mask, need_weights=True)[1])
    assert found, str(found)


def test_weights_averaged_over_heads_are_no_fault():
    module = nn.MultiheadAttention(24, 8, dropout=0.1, batch_first=True)
    x = draw(B, N, 24).float()
    found = drop_pattern(module, lambda m: m(x, x, x)[1])
    assert found and found.drawn and "the weights are means over heads" in str(found)


def test_missing_rescaling_is_found_at_a_small_rate():
    class Kept(nn.Module):
        def forward(self, x):
            kept = torch.rand_like(x) >= (0.05 if self.training else 0.0)
            return x.softmax(-1) * kept

    assert drop_pattern(Kept(), lambda m: m(draw(B, N, N))).faults == ("rescale",)


class Frozen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.free, self.still = nn.BatchNorm1d(N), nn.BatchNorm1d(N).eval()

    def forward(self, x):
        return self.still(self.free(x)).softmax(-1)


def test_drop_pattern_restores_every_mode_and_all_statistics():
    module = Frozen()
    drop_pattern(module, lambda m: m(draw(B, N, N).float()))
    assert module.training and module.free.training and not module.still.training
    assert module.free.num_batches_tracked == 0 and not module.free.running_mean.any()


def test_drop_pattern_says_what_it_needs():
    with pytest.raises(TypeError, match="got function; drop_pattern needs an nn.Module"):
        drop_pattern(lambda x: x, lambda m: m(draw(B, N, N)))
    with pytest.raises(TypeError, match="weights_of gave NoneType; .* need_weights=True"):
        drop_pattern(MultiHeadAttention(D, HEADS), lambda m: m(draw(B, N, D).float())[1])


def test_the_wrong_axis_is_named_beside_empty_columns():
    closed = torch.ones(N, N, dtype=torch.bool)
    closed[:, 5:] = False
    weights = draw(B, N, N).masked_fill(~closed, -torch.inf).softmax(-2).nan_to_num()
    assert row_sums(weights).axis == -2


def test_scale_law_needs_two_keys():
    with pytest.raises(ValueError, match="with 2 keys at least to compare"):
        scale_law(F.scaled_dot_product_attention, sizes=((5, 2, 1),))


def test_a_row_that_was_not_asked_for_its_gradient_hides_nothing():
    x = draw(2, 61, 3)
    leak = causal_leak(lambda x: x + x.roll(-1, 1), x, most=5)
    assert leak and "only by perturbation" not in str(leak)
    detached = causal_leak(lambda x: x + x.detach().roll(-1, 1), x, most=61)
    assert "only by perturbation" in str(detached)


def test_a_compiled_attention_is_asked_as_the_attention_itself():
    module = torch.compile(nn.MultiheadAttention(D, HEADS, batch_first=True), backend="eager")
    assert not causal_leak(module, draw(B, N, D).float(), attn_mask=~PAST)
