"""MultiHeadAttention against nn.MultiheadAttention and a loop of heads, at its edges, and in its error messages."""

from __future__ import annotations

import copy
import io
import os

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mha_teach.attention import attend
from mha_teach.masking import causal, combine, padding, to_convention, window
from mha_teach.multihead import MultiHeadAttention
from mha_teach.quick import attend_quickly, merge_quickly

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 6e-2, torch.float16: 6e-3}
SIZES = st.sampled_from([1, 2, 3, 5, 7])


def randomised(module: nn.Module, seed: int) -> nn.Module:
    """Biases that aren't zero, so that a forgotten one is seen."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for each in module.parameters():
            each.copy_(torch.randn(each.shape) * 0.5)
    return module


@st.composite
def cases(draw):
    """(torch's module, inputs as ours takes them, our mask, torch's mask arguments)."""
    batch, heads, queries, keys, d_k = (draw(SIZES) for _ in range(5))
    dtype = draw(st.sampled_from([torch.float64, torch.float32]))
    theirs = nn.MultiheadAttention(
        heads * d_k, heads, bias=draw(st.booleans()), batch_first=True, dtype=dtype
    )
    randomised(theirs, draw(st.integers(0, 999)))
    inputs = draw(st.sampled_from(["self", "memory", "three"]))
    keys = queries if inputs == "self" else keys
    count = {"self": 1, "memory": 2, "three": 3}[inputs]
    given_ = [torch.randn(batch, n, heads * d_k, dtype=dtype) for n in (queries, keys, keys)[:count]]
    scores = (batch, heads, queries, keys)
    kind = draw(
        st.sampled_from(
            ["none", "causal", "window", "padding", "both", "batch", "heads", "float", "float heads"]
        )
    )
    lengths = torch.randint(1, keys + 1, (batch,))
    start = causal(queries, keys, "start")
    rand = torch.rand(scores) > 0.5
    rand[..., 0] = True  # blind rows have tests of their own: torch gives NaN for them
    mask = {
        "none": None,
        "causal": start,
        "window": window(queries, 2, 1, keys, "start") | (torch.arange(keys) == 0),
        "padding": padding(lengths, keys),
        "both": combine(start, padding(lengths, keys)),
        "batch": rand[:, 0],
        "heads": rand,
        "float": torch.randn(queries, keys, dtype=dtype),
        "float heads": torch.randn(scores, dtype=dtype).masked_fill(~rand, -torch.inf),
    }[kind]
    if kind == "none":
        masked = {}
    elif kind == "padding":
        masked = {"key_padding_mask": to_convention(mask, "mha.key_padding_mask")}
    elif kind.startswith("float"):
        masked = {"attn_mask": mask.flatten(0, -3) if mask.dim() > 2 else mask}
    else:
        masked = {"attn_mask": to_convention(mask, "mha.attn_mask.bool", scores)}
    return theirs, given_, mask, masked


def gradients(output, *wanted):
    toward = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    return torch.autograd.grad(output, wanted, toward)


def near(mine, yours, dtype=None, times=1.0):
    """Within the tolerance, relative to the largest number there is: gradients are sums of many."""
    size = (
        TOLERANCE[dtype or yours.dtype]
        * times
        * max(1.0, float(yours.detach().abs().max()) if yours.numel() else 1.0)
    )
    torch.testing.assert_close(mine, yours, atol=size, rtol=0)


@settings(max_examples=90, deadline=None)
@given(cases(), st.booleans())
def test_outputs_weights_and_all_gradients_equal_torch(case, need_weights):
    theirs, given_, mask, masked = case
    ours = MultiHeadAttention.from_torch(theirs)
    mine, yours = ([x.clone().requires_grad_() for x in given_] for _ in range(2))
    full = [yours[0], yours[min(1, len(yours) - 1)], yours[-1]]
    output, weights = ours(*mine, mask=mask, need_weights=need_weights)
    expected, expected_weights = theirs(*full, average_attn_weights=False, **masked)
    near(output, expected)
    assert (weights is not None) == need_weights
    if need_weights:
        near(weights, expected_weights)
    if not need_weights and output.dtype == torch.float32:
        # The fused kernel rounds gradients otherwise: with one key torch's own gives the queries 3e-5 where 0 is exact.
        expected, _ = theirs(*full, need_weights=False, **masked)
    names = [name for name, _ in ours.named_parameters()]
    assert names == [name for name, _ in theirs.named_parameters()]
    for a, b in zip(
        gradients(output, *mine, *ours.parameters()),
        gradients(expected, *yours, *theirs.parameters()),
        strict=True,
    ):
        near(a, b)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_inner_width_equals_a_loop_of_heads(data):
    batch, heads, queries, keys, d_k, d_v, d_model = (data.draw(SIZES) for _ in range(7))
    ours = MultiHeadAttention(d_model, heads, d_k, d_v, bias=data.draw(st.booleans())).double()
    randomised(ours, data.draw(st.integers(0, 999)))
    x, y = (torch.randn(batch, n, d_model, dtype=torch.float64, requires_grad=True) for n in (queries, keys))
    mask = data.draw(
        st.sampled_from([None, causal(queries, keys, "end"), torch.rand(batch, queries, keys) > 0.6])
    )
    need_weights = data.draw(st.booleans())
    output, weights = ours(x, y, mask=mask, need_weights=need_weights)
    biases = torch.zeros(sum(ours.rows)).double() if ours.in_proj_bias is None else ours.in_proj_bias
    w_q, w_k, w_v = ours.in_proj_weight.split(ours.rows)
    b_q, b_k, b_v = biases.split(ours.rows)
    loop = []
    for head in range(heads):
        one, two = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
        loop.append(
            attend(x @ w_q[one].T + b_q[one], y @ w_k[one].T + b_k[one], y @ w_v[two].T + b_v[two], mask)
        )
    expected = ours.out_proj(torch.cat([o for o, _ in loop], -1))
    near(output, expected)
    if need_weights:
        near(weights, torch.stack([w for _, w in loop], 1))
    leaves = [x, y, *ours.parameters()]
    for a, b in zip(gradients(output, *leaves), gradients(expected, *leaves), strict=True):
        near(a, b)


def module(dtype=torch.float64, **options) -> MultiHeadAttention:
    return randomised(
        MultiHeadAttention(**({"d_model": 15, "num_heads": 3, "d_k": 7, "d_v": 2} | options)), 3
    ).to(dtype)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("form", [torch.bool, torch.float64])
@pytest.mark.parametrize("training", [False, True])
def test_a_blind_query_gets_zeros_from_every_head(need_weights, form, training):
    ours = module(dropout=0.5 * training).train(training)
    x = torch.randn(2, 5, 15, dtype=torch.float64, requires_grad=True)
    mask = combine(causal(5), padding([0, 4], 5))  # all of sample 0 is blind
    mask[1, 2] = False
    mask = mask if form == torch.bool else to_convention(mask, "sdpa.float", dtype=form)[:, 0]
    output, weights = ours(x, mask=mask, need_weights=need_weights)
    bias = ours.out_proj.bias.detach()
    near(output[0], bias.expand(5, 15))
    near(output[1, 2], bias)
    if need_weights:
        assert not weights[0].any() and not weights[1, :, 2].any()
    grads = gradients(output, x, *ours.parameters())
    assert all(g.isfinite().all() for g in grads) and not grads[0][0].any()
    assert not module(bias=False)(x, mask=mask)[0][0].any()


def test_blind_rows_equal_those_of_attend_and_no_keys_are_blind_too():
    ours = module()
    x = torch.randn(2, 5, 15).double()
    for need in (False, True):
        near(ours(x, x[:, :0], need_weights=need)[0], ours.out_proj.bias.detach().expand(2, 5, 15))
    assert ours(x[:0])[0].shape == (0, 5, 15) and ours(x[:, :0], x)[0].shape == (2, 0, 15)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("need_weights", [False, True])
def test_half_precision_stays_near_float64(dtype, need_weights):
    ours = module(torch.float32).to(dtype)
    exact = copy.deepcopy(ours).double()
    x = torch.randn(2, 5, 15).to(dtype)
    for mask in (None, causal(5), to_convention(causal(5), "additive", dtype=torch.float32)):
        output, _ = ours(x, mask=mask, need_weights=need_weights)
        assert output.dtype == dtype
        near(output.double(), exact(x.double(), mask=mask)[0], dtype)
    output.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in ours.parameters())


def test_unbatched_and_many_batch_axes_equal_one():
    ours = module()
    x = torch.randn(2, 3, 5, 15).double()
    mask = torch.rand(2, 3, 5, 5) > 0.3
    output, weights = ours(x, mask=mask, need_weights=True)
    assert output.shape == (2, 3, 5, 15) and weights.shape == (2, 3, 3, 5, 5)
    near(output[1], ours(x[1], mask=mask[1])[0])
    near(output[1, 2], ours(x[1, 2], mask=mask[1, 2])[0])


def test_no_gradients_gives_the_same_numbers_and_keeps_its_inputs():
    ours, x = module(), torch.randn(2, 5, 15).double()
    mask = torch.rand(2, 3, 5, 5) > 0.3
    kept = x.clone(), mask.clone()
    for at in (None, mask, mask.double()):
        with_grad = ours(x, mask=at, need_weights=True)
        with torch.no_grad():
            without = ours(x, mask=at, need_weights=True)
        assert all(torch.equal(a, b) for a, b in zip(with_grad, without, strict=True))
    assert torch.equal(x, kept[0]) and torch.equal(mask, kept[1])


@pytest.mark.parametrize("in_cache", [1, 35, 70, 105])
def test_heads_in_groups_equal_heads_at_once(in_cache, monkeypatch):
    q, k, v = (torch.randn(3, 11, n, 13).double() for n in (5, 7, 7))
    open_ = torch.rand(3, 11, 5, 7) > 0.5
    open_[..., 0] = True
    monkeypatch.setattr("mha_teach.quick.IN_CACHE", in_cache)
    floats = torch.randn(5, 1).double(), open_.double() * 3 - 1
    for mask in (None, open_, open_[:, :1], open_[..., :1, :], *floats):
        at_once, kept, given_ = attend_quickly(q, k, v, mask, 0.0, True), (k.clone(), v.clone()), q.clone()
        with torch.no_grad():
            in_groups = attend_quickly(given_, k, v, mask, 0.0, True)
        assert in_groups[0].data_ptr() == given_.data_ptr()  # the queries' memory, so this was the path meant
        for mine, yours in zip(in_groups, at_once, strict=True):
            torch.testing.assert_close(mine, yours, atol=1e-14, rtol=0)
        assert torch.equal(k, kept[0]) and torch.equal(v, kept[1])
    with torch.no_grad():
        empty = attend_quickly(q[:0], k[:0], v[:0], None, 0.0, True)
        other_width = attend_quickly(q, k, v[..., :2], None, 0.0, True)
    assert empty[0].shape == (0, 11, 5, 13) and empty[1].shape == (0, 11, 5, 7)
    near(other_width[0], attend(q, k, v[..., :2])[0])


def test_merged_heads_lie_in_the_spare_memory_only_where_they_fit_and_no_gradient_needs_it():
    heads = torch.randn(3, 7, 5, 2)
    expected = heads.permute(0, 2, 1, 3).reshape(3, 5, 14)
    spares = torch.zeros(3, 7, 5, 2), torch.zeros(3, 7, 11, 2), torch.zeros(3, 7, 5, 2).double()
    for spare, fits in zip(spares, (True, False, False), strict=True):
        assert torch.equal(merge_quickly(heads, spare), expected) and not spare.any()
        with torch.no_grad():
            assert torch.equal(merge_quickly(heads, spare), expected)
        assert bool(spare.any()) == fits
    with torch.no_grad():
        split = torch.vmap(lambda one: merge_quickly(one, torch.zeros(7, 5, 2)))(heads)
    assert torch.equal(split, expected)


@pytest.mark.parametrize("widths", [{}, {"d_v": 7}])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_input_alone_can_be_split_or_differentiated_forward_without_gradients(which, widths):
    ours = MultiHeadAttention(15, 5, **widths).double()
    inputs = [torch.randn(5, 15).double() for _ in range(3)]

    def call(x):
        return ours(*inputs[:which], x, *inputs[which + 1 :], need_weights=True)[0]

    many, toward = torch.randn(7, 5, 15).double(), torch.randn(5, 15).double()
    x = inputs[which]
    with torch.no_grad():
        near(torch.vmap(call)(many), torch.stack([call(one) for one in many]))
        output, slope = torch.func.jvp(call, (x,), (toward,))
        near(output, call(x))
        rise = (call(x + 1e-6 * toward) - call(x - 1e-6 * toward)) / 2e-6
    torch.testing.assert_close(slope, rise, atol=1e-6, rtol=1e-6)


def test_a_group_that_fails_late_is_an_error_and_never_a_wrong_number(monkeypatch):
    q, k, v = (torch.randn(3, 11, n, 13) for n in (5, 7, 7))
    monkeypatch.setattr("mha_teach.quick.IN_CACHE", 35)
    real, calls = torch.bmm, []

    def fails(at):
        def bmm(*args, **options):
            calls.append(1)
            if len(calls) == at:
                raise RuntimeError("no memory")
            return real(*args, **options)

        return bmm

    expected = attend_quickly(q, k, v, None, 0.0, True)
    with torch.no_grad():
        monkeypatch.setattr(torch, "bmm", fails(1))
        assert torch.allclose(attend_quickly(q.clone(), k, v, None, 0.0, True)[0], expected[0], atol=1e-6)
        for late in (2, 3):  # the first call is the trial on no heads
            calls.clear()
            monkeypatch.setattr(torch, "bmm", fails(late))
            with pytest.raises(RuntimeError, match="no memory"):
                attend_quickly(q.clone(), k, v, None, 0.0, True)


def test_vmap_over_masks_equals_a_loop():
    ours, x, masks = module(), torch.randn(5, 15).double(), torch.rand(7, 5, 5) > 0.6
    for need in (False, True):
        one = lambda mask, need=need: ours(x, mask=mask, need_weights=need)[0]
        near(torch.vmap(one)(masks), torch.stack([one(mask) for mask in masks]))


def test_vmap_and_forward_derivatives_work_without_gradients():
    ours, x = module().eval(), torch.randn(2, 5, 15).double()
    with torch.no_grad():
        near(torch.vmap(lambda one: ours(one, need_weights=True)[1])(x), ours(x, need_weights=True)[1])
        _, slope = torch.func.jvp(lambda z: ours(z, need_weights=True)[0], (x,), (x,))
        rise = (ours((1 + 1e-6) * x)[0] - ours((1 - 1e-6) * x)[0]) / 2e-6
    torch.testing.assert_close(slope, rise, atol=1e-6, rtol=1e-6)


def test_a_gate_that_is_trained_can_be_closed_and_comes_back():
    ours = randomised(MultiHeadAttention(6, 3), 1)
    ours.gate = gate = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
    x, copied = torch.randn(2, 5, 6), copy.deepcopy(ours)
    copied.gate = nn.Parameter(torch.tensor([1.0, 0.0, 0.0]))
    with ours.without(1), ours.without(2):
        output = ours(x)[0]
    torch.testing.assert_close(output, copied(x)[0])
    output.sum().backward()
    assert (
        ours.gate is gate
        and "gate" in dict(ours.named_parameters())
        and "gate" not in dict(ours.named_buffers())
    )
    assert gate.grad[0] != 0 and not gate.grad[1:].any()
    ours.gate = None  # its place among the parameters stays
    with ours.without(1):
        assert ours.gate.tolist() == [1.0, 0.0, 1.0]
    assert ours.gate is None and "gate" not in vars(ours)


@pytest.mark.parametrize("need_weights", [False, True])
def test_the_gate_closes_heads(need_weights):
    ours, x = module(), torch.randn(2, 5, 15).double()
    whole = ours(x)[0]
    zeroed = copy.deepcopy(ours)
    with torch.no_grad():
        zeroed.out_proj.weight[:, 2:4] = 0  # what W_o reads from head 1; d_v is 2
    with ours.without(1) as same:
        assert same is ours
        near(ours(x, need_weights=need_weights)[0], zeroed(x)[0])
        with ours.without(0, -1):
            near(ours(x)[0], ours.out_proj.bias.detach().expand(2, 5, 15))
        near(ours(x)[0], zeroed(x)[0])
    assert ours.gate is None and torch.equal(ours(x)[0], whole)
    with pytest.raises(ZeroDivisionError), ours.without(1):
        _ = 1 / 0
    assert ours.gate is None
    ours.gate = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])  # one knock-out per sample
    near(ours(x)[0], torch.stack([zeroed(x)[0][0], whole[1]]))
    ours.gate = torch.ones(3, requires_grad=True)  # how much each head matters
    ours(x)[0].pow(2).sum().backward()
    assert ours.gate.grad.abs().min() > 0
    assert "gate" not in ours.state_dict()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_there_and_back_again(bias, batch_first):
    theirs = nn.MultiheadAttention(
        15, 3, bias=bias, dropout=0.25, batch_first=batch_first, dtype=torch.bfloat16
    )
    ours = MultiHeadAttention.from_torch(randomised(theirs, 1).eval())
    back = ours.to_torch()
    assert (
        not ours.training and not back.training and back.batch_first and ours.dropout == back.dropout == 0.25
    )
    for copied in (ours.state_dict(), back.state_dict()):
        assert list(copied) == list(theirs.state_dict())
        assert all(
            torch.equal(copied[k], v) and copied[k].dtype == v.dtype for k, v in theirs.state_dict().items()
        )
    assert ours.in_proj_weight.data_ptr() != theirs.in_proj_weight.data_ptr()


def test_one_seed_starts_both_alike():
    torch.manual_seed(7)
    theirs = nn.MultiheadAttention(15, 3)
    torch.manual_seed(7)
    ours = MultiHeadAttention(15, 3)
    assert all(torch.equal(v, ours.state_dict()[k]) for k, v in theirs.state_dict().items())


def test_state_dict_and_deepcopy_and_pickle_carry_everything():
    ours, x = module(), torch.randn(2, 5, 15).double()
    other = MultiHeadAttention(15, 3, 7, 2).double()
    other.load_state_dict(ours.state_dict())
    file = io.BytesIO()
    torch.save(ours, file)
    file.seek(0)
    for same in (other, copy.deepcopy(ours), torch.load(file, weights_only=False)):
        assert torch.equal(same(x)[0], ours(x)[0])
        assert not {p.data_ptr() for p in same.parameters()} & {p.data_ptr() for p in ours.parameters()}


def test_dropout_falls_on_weights_in_training_only():
    ours, x = module(dropout=0.5), torch.randn(2, 31, 15).double()
    clean = module()(x, need_weights=True)
    assert torch.equal(ours.eval()(x, need_weights=True)[0], clean[0])
    weights = ours.train()(x, need_weights=True)[1]
    kept = weights != 0
    assert 0.4 < kept.double().mean() < 0.6
    near(weights[kept], 2 * clean[1][kept])
    assert not torch.equal(ours(x)[0], ours(x)[0])


def test_twelve_heads_of_43_need_no_padding():
    ours = MultiHeadAttention(512, 12, d_k=43)
    assert ours.out_proj.in_features == 516 and ours(torch.randn(1, 3, 512))[0].shape == (1, 3, 512)


def test_it_traces_as_one_graph():
    torch._dynamo.reset()
    ours, x = module(torch.float32), torch.randn(2, 5, 15)
    traced = torch.compile(ours, backend="eager", fullgraph=True)
    near(traced(x, mask=causal(5), need_weights=True)[0], ours(x, mask=causal(5))[0])
    with torch.no_grad(), ours.without(1):
        near(traced(x, need_weights=True)[1], ours(x, need_weights=True)[1])


@pytest.mark.skipif(
    "MHA_COMPILE" not in os.environ, reason="20 to 70 s of C++ compiler: set MHA_COMPILE=1 to run"
)
def test_compiled_equals_eager():
    torch._dynamo.reset()
    ours, x = module(torch.float32), torch.randn(2, 5, 15)
    mine, yours = torch.compile(ours, fullgraph=True)(x, mask=causal(5))[0], ours(x, mask=causal(5))[0]
    near(mine, yours)
    for a, b in zip(gradients(mine, *ours.parameters()), gradients(yours, *ours.parameters()), strict=True):
        near(a, b)


def ones(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.ones(*shape, dtype=dtype)


def gated(gate: torch.Tensor, **options) -> MultiHeadAttention:
    ours = module(**options)
    ours.gate = gate
    return ours


X = ones(2, 5, 15)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: MultiHeadAttention(512, 12), ValueError, "d_model = 512.*num_heads = 12.*d_k=43.*516"),
        (lambda: MultiHeadAttention(0, 2), ValueError, "d_model = 0 and num_heads = 2"),
        (lambda: MultiHeadAttention(6, 2.0), ValueError, "d_model = 6 and num_heads = 2.0.*whole number"),
        (lambda: MultiHeadAttention(6, 2, d_k=0), ValueError, "d_k = 0 and d_v = 0"),
        (lambda: MultiHeadAttention(6, 2, d_v=1.5), ValueError, "d_k = 3 and d_v = 1.5.*whole number"),
        (lambda: MultiHeadAttention(6, 2, dropout=1.0), ValueError, "dropout is 1.0"),
        (lambda: module()(ones(2, 5, 11)), ValueError, "query is 11 wide and d_model is 15.*d_model=11"),
        (lambda: module()(ones(15)), ValueError, r"query has shape \(15,\)"),
        (lambda: module()(X, ones(3, 5, 15)), ValueError, r"batch \(2,\) and key has \(3,\).*expand"),
        (lambda: module()(X, ones(2, 7, 15), X), ValueError, "key has 7 positions and value has 5"),
        (lambda: module()(X, value=X), ValueError, "value came without key"),
        (lambda: module()(X, mask=ones(2, 5, dtype=torch.bool)), ValueError, r"\(2, 5\).*\(2, 3, 5, 5\).*mask\[:, None, :\]"),
        (lambda: module()(X, mask=ones(1, 2, 3, 5, 5)), ValueError, r"\(1, 2, 3, 5, 5\)"),
        (lambda: module()(X, mask=ones(5)), ValueError, r"\(5,\)"),
        (lambda: module()(X, mask=ones(5, 5, dtype=torch.int64)), TypeError, r"torch.int64.*mask.bool\(\)"),
        (lambda: module().without(3).__enter__(), IndexError, "head 3 of num_heads = 3.*0 to 2"),
        (lambda: gated(ones(5))(X), ValueError, r"gate has shape \(5,\); num_heads = 3.*\(2, 3\)"),
        (lambda: gated(ones(3), num_heads=3, d_k=5, d_v=5).to_torch(), ValueError, "no gate"),
        (lambda: module().to_torch(), ValueError, r"\(21, 6\) and d_model is 15"),
        (lambda: MultiHeadAttention.from_torch(nn.Linear(6, 2)), TypeError, "got Linear; from_torch copies"),
        (lambda: MultiHeadAttention(6, 2)(torch.ones(3, 6), mask=[[True]]), TypeError, "mask is list; give a tensor"),
        (lambda: MultiHeadAttention(6, 2)([1.0]), TypeError, "query is list; give a tensor"),
        (lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(6, 2, kdim=5)), ValueError, "embed_dim is 6, kdim 5"),
        (lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(6, 2, add_bias_kv=True)), ValueError, "add_bias_kv"),
        (lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(6, 2, add_zero_attn=True)), ValueError, "add_zero"),
    ],
)  # fmt: skip
def test_errors_state_both_sizes_and_the_cure(call, error, words):
    with pytest.raises(error, match=words):
        call()


def ignores_key_and_value(ours, x, y):
    return ours(x)


def view_without_transpose(ours, x, y):
    q, k, v = ours._project(x, y, y)
    heads, _ = attend(q, k, v)
    return ours.out_proj(heads.reshape(*x.shape[:-1], -1)), None


def interleaved_layout(ours, x, y):
    q, k, v = (
        z.transpose(-3, -2).flatten(-2).unflatten(-1, (-1, ours.num_heads)).movedim(-1, -3)
        for z in ours._project(x, y, y)
    )
    return ours.out_proj(attend(q, k, v)[0].transpose(-3, -2).flatten(-2)), None


@pytest.mark.parametrize("wrong", [ignores_key_and_value, view_without_transpose, interleaved_layout])
def test_the_oracle_tells_wrong_modules_apart(wrong):
    theirs = randomised(nn.MultiheadAttention(15, 3, batch_first=True), 2).double()
    ours = MultiHeadAttention.from_torch(theirs)
    x, y = torch.randn(2, 5, 15).double(), torch.randn(2, 7, 15).double()
    expected = theirs(x, y, y)[0]
    near(ours(x, y)[0], expected)
    assert not torch.allclose(wrong(ours, x, y)[0], expected, atol=1e-3)
