"""Chapter 06's measures, against numbers worked by hand, loops, and heads that play exactly one role."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_teach import specialisation as sp
from mha_teach.multihead import MultiHeadAttention
from mha_teach.tasks import FixedOffsets
from mha_teach.training import forward, gate_score, sweep

A, B, C = 3, 5, 7
IDS = torch.tensor([[A, B, A, A, C], [B, C, B, C, C]])  # (batch, position)


def spots(targets):
    return [(int(i), int(j)) for i, j in targets.nonzero()]


def test_targets_by_hand():
    found = {name: target[0] for name, target in sp.role_targets(IDS).items()}
    assert spots(found["previous"]) == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert spots(found["next"]) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert spots(found["first"]) == [(1, 0), (2, 0), (3, 0), (4, 0)]
    assert spots(found["same token"]) == [(0, 2), (0, 3), (2, 0), (2, 3), (3, 0), (3, 2)]
    # A B A A: behind the A at 0 stands 1; behind the A at 2 stands 3
    assert spots(found["induction"]) == [(2, 1), (3, 1), (3, 3)]
    assert spots(sp.role_targets(IDS)["induction"][1]) == [(2, 1), (3, 2), (4, 2), (4, 4)]


def test_padding_has_no_role_on_either_side():
    real = torch.tensor([[True, True, True, False, False], [True] * 5])
    whole, cut = sp.role_targets(IDS), sp.role_targets(IDS, real)
    for name, target in cut.items():
        assert not target[0, 3:].any() and not target[0, :, 3:].any(), name
        assert torch.equal(target[0, :3, :3], whole[name][0, :3, :3])
        assert torch.equal(target[1], whole[name][1])
    with pytest.raises(ValueError, match=r"real has shape \(2, 3\) and ids \(2, 5\)"):
        sp.role_targets(IDS, real[:, :3])


@pytest.mark.parametrize("role", ["previous", "next", "first", "same token", "induction"])
def test_a_head_that_plays_a_role_scores_1_and_a_uniform_one_its_share(role):
    targets = sp.role_targets(IDS)[role]
    fair = sp.uniform(torch.ones(2, 5, 5, dtype=torch.bool))
    player = torch.where(targets.any(-1, keepdim=True), sp.uniform(targets)[:, 0], fair[:, 0])
    scores = sp.role_score(torch.stack([player, fair[:, 0].expand_as(player)], 1), targets)
    assert scores.shape == (2, 2)
    asks = targets.any(-1)
    for sample in range(2):
        assert scores[sample, 0] == pytest.approx(1.0)
        share = targets[sample].sum(-1)[asks[sample]].float().mean() / 5
        assert scores[sample, 1] == pytest.approx(share.item())


def test_score_equals_a_loop():
    weights = torch.randn(2, 3, 5, 5, dtype=torch.float64).softmax(-1)
    targets = sp.role_targets(IDS)["same token"]
    scores = sp.role_score(weights, targets)
    for b in range(2):
        for h in range(3):
            rows = [
                sum(weights[b, h, i, j] for j in range(5) if targets[b, i, j])
                for i in range(5)
                if targets[b, i].any()
            ]
            torch.testing.assert_close(scores[b, h], sum(rows) / len(rows))


def test_a_sentence_without_any_target_is_nan_and_not_0():
    scores = sp.role_score(torch.ones(1, 2, 3, 3) / 3, torch.zeros(1, 3, 3, dtype=torch.bool))
    assert scores.isnan().all()


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"\(2, 3, 5, 5\).*\(5, 5\)"):
        sp.role_score(torch.ones(2, 3, 5, 5), torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"inner width 12 .* 5 gates"):
        sp.gated(torch.ones(12, 7), torch.ones(5))
    with pytest.raises(ValueError, match="closed = 4 of parts = 3"):
        sp.drop_gates(3, 4)
    with pytest.raises(ValueError, match=r"16 of 64 .* 488,526,937,079,580 ways"):
        sp.drop_gates(64, 16)
    with pytest.raises(ValueError, match=r"change has shape \(3, 2\).*scores \(5,\)"):
        sp.carriers(torch.zeros(3, 2), torch.zeros(5), 0.1)


def test_uniform_keeps_to_what_is_allowed():
    weights = sp.uniform(torch.ones(5, 5).tril().bool())
    assert weights.shape == (1, 5, 5)
    torch.testing.assert_close(weights[0, 2], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0, 0.0]))
    assert sp.uniform(torch.zeros(2, 3, dtype=torch.bool)).sum() == 0


def test_broadness_by_hand():
    rows = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]]])  # (head, query, key)
    plain = sp.broadness(rows)
    assert plain.item() == pytest.approx((0 + math.log(2) / math.log(3) + 1) / 3)
    # under a causal mask the first query has no choice, and the other two are as broad as they may be
    assert sp.broadness(rows, torch.ones(3, 3).tril().bool()).item() == pytest.approx(1.0)
    assert sp.broadness(rows[:, :1], torch.tensor([[True, False, False]])).isnan().all()


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10**6))
def test_broadness_lies_between_0_and_1_and_a_uniform_head_reaches_it(n, seed):
    source = torch.Generator().manual_seed(seed)
    allowed = torch.rand(3, n, n, generator=source) < 0.6
    allowed[..., :2] = True
    scores = torch.randn(3, 2, n, n, generator=source).masked_fill(~allowed[:, None], -torch.inf)
    found = sp.broadness(scores.softmax(-1), allowed)
    assert found.min() >= 0 and found.max() <= 1 + 1e-6
    torch.testing.assert_close(sp.broadness(sp.uniform(allowed), allowed), torch.ones(3, 1))


def test_cosine_of_maps():
    maps = torch.stack([torch.eye(3), torch.ones(3, 3) / 3, torch.eye(3).roll(1, 0)])
    found = sp.map_cosine(maps)
    expected = torch.tensor([[1.0, 3**-0.5, 0.0], [3**-0.5, 1.0, 3**-0.5], [0.0, 3**-0.5, 1.0]])
    torch.testing.assert_close(found, expected)


def test_gating_rows_of_w_o_is_gating_heads():
    module = MultiHeadAttention(11, 3, d_k=2, d_v=5, bias=False).double()
    x, gate = torch.randn(2, 7, 11).double(), torch.tensor([0.0, 1.0, 0.5]).double()
    module.gate = gate
    wanted = module(x)[0]
    module.gate = None
    with torch.no_grad():
        module.out_proj.weight.copy_(sp.gated(module.out_proj.weight.T, gate).T)
    torch.testing.assert_close(module(x)[0], wanted)
    lanes = sp.gated(torch.ones(2, 6, 3), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))  # (seed, inner, d_model)
    assert lanes[..., 0].tolist() == [[1.0, 1, 1, 0, 0, 0], [0.0, 0, 0, 1, 1, 1]]


def test_gates():
    assert sp.drop_gates(3, 1).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert sp.drop_gates(3, 0).tolist() == [[1, 1, 1]]
    pairs = sp.drop_gates(8, 2)
    assert (
        pairs.shape == (28, 8) and (pairs.sum(-1) == 6).all() and len(set(map(tuple, pairs.tolist()))) == 28
    )
    drawn = sp.drop_gates(64, 16, 11, torch.Generator().manual_seed(0))
    assert drawn.shape == (11, 64) and (drawn.sum(-1) == 48).all()
    assert torch.equal(drawn, sp.drop_gates(64, 16, 11, torch.Generator().manual_seed(0)))


def additive(gate):
    """Two seeds, three relations: head 0 is worth .5 of relation 0, head 1 .25 of relation 2, head 2 nothing."""
    worth = torch.tensor([[0.5, 0.0, 0.0], [0.0, 0.0, 0.25], [0.0, 0.0, 0.0]])
    return 0.25 + gate @ worth * torch.tensor([[1.0], [0.5]])


def test_knockouts_by_hand():
    change = sp.knockout_matrix(additive, 3)
    assert change.shape == (2, 3, 3)  # (seed, head, relation)
    torch.testing.assert_close(change[0], torch.tensor([[-0.5, 0, 0], [0, 0, -0.25], [0, 0, 0]]))
    torch.testing.assert_close(change[1], change[0] / 2)
    both = sp.head_drop(additive, sp.drop_gates(3, 2))
    torch.testing.assert_close(both[0, 0], torch.tensor([-0.5, 0.0, -0.25]))


def test_carriers_by_hand():
    scores = additive(torch.ones(3))
    found = sp.carriers(sp.knockout_matrix(additive, 3), scores, chance=0.25)
    assert found[0].tolist() == [[True, False, False], [False, False, True], [False, False, False]]
    # relation 1 stands at chance: nothing was learned, so nobody carries it, not everybody
    assert not found[..., 1].any()
    # with a lower chance there is more to lose, and the same loss is no longer half of it
    assert not sp.carriers(sp.knockout_matrix(additive, 3), scores, chance=0.0, share=0.6)[0, 1, 2]


def test_heads_that_cover_for_one_another_carry_nothing():
    change = sp.knockout_matrix(lambda gate: gate.amax().expand(1), 2)
    assert change.abs().max() == 0
    assert not sp.carriers(change, torch.ones(1), 0.0).any()


def test_the_gate_of_a_module_is_a_score():
    module = MultiHeadAttention(11, 3, d_k=2, bias=False)
    x = torch.randn(2, 7, 11)

    def score(gate):
        module.gate = gate
        return module(x)[0].mean((0, 1))  # linear in the gate

    change = sp.knockout_matrix(score, 3)
    torch.testing.assert_close(-change.sum(0), score(torch.ones(3)), atol=1e-6, rtol=1e-5)


def test_gates_of_trained_lanes_are_those_of_one_model_at_a_time():
    task = FixedOffsets(offsets=(-1, 2), values=5, length=7)
    run = sweep(task, [{"num_heads": 1}, {"num_heads": 4}], seeds=[3, 5], steps=11, jobs=1, progress=False)
    score = gate_score(run, 1, count=13)
    change = sp.knockout_matrix(score, 4)
    assert change.shape == (2, 4, 2)
    b = next(task.batches([3, 5], 1, 13, split="test"))
    for seed in range(2):
        for head in range(4):
            config, weights = run.model(1, seed)
            cut = weights["0.o"].clone()
            cut[:, 16 * head : 16 * (head + 1)] = 0
            one = (b.items[seed : seed + 1], b.queries[seed : seed + 1], True)
            right = [
                forward(w, config, *one)[0].unflatten(-1, (2, 5)).argmax(-1) == b.targets[seed : seed + 1]
                for w in (weights, weights | {"0.o": cut})
            ]
            open_, closed = (r.float().mean((0, 1, 2)) for r in right)
            torch.testing.assert_close(change[seed, head], closed - open_)
    own = score(torch.tensor([[0.0, 1, 1, 1], [1.0, 1, 1, 0]]))  # a gate for each seed
    torch.testing.assert_close(own - score(torch.ones(64)), torch.stack([change[0, 0], change[1, 3]]))


def test_specialised_by_hand():
    one_each = torch.eye(3, dtype=torch.bool)
    lazy = torch.cat(
        [one_each, torch.zeros(1, 3, dtype=torch.bool)]
    )  # a head that carries nothing may stand by
    assert sp.specialised(torch.stack([one_each, one_each.flip(0)])).tolist() == [True, True]
    assert sp.specialised(lazy)
    two = torch.tensor([[True, True, False], [False, False, True], [False, False, False]])
    nobody = torch.tensor([[True, False, False], [False, True, False], [False, False, False]])
    both = torch.tensor(
        [[True, False, False], [False, True, False], [False, True, False], [False, False, True]]
    )
    assert not any(sp.specialised(x) for x in (two, nobody, both))


def test_overlap_of_subspaces():
    e = torch.eye(5).double()
    w = torch.cat([e[:, [0, 1]], 3 * e[:, [1, 2]], e[:, [3, 4]] @ torch.randn(2, 2).double()], -1)
    expected = torch.tensor([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]).double()
    torch.testing.assert_close(sp.subspace_overlap(w, 3), expected)
    off = ~torch.eye(2, dtype=torch.bool)
    chance = sp.subspace_overlap(torch.randn(500, 11, 6).double(), 2)[:, off].mean()
    assert chance == pytest.approx(3 / 11, rel=0.05)
    with pytest.raises(ValueError, match=r"7 wide and num_heads = 3.*d_model = 5"):
        sp.subspace_overlap(torch.ones(5, 7), 3)
    with pytest.raises(ValueError, match=r"12 wide and num_heads = 2.*d_model = 5"):
        sp.subspace_overlap(torch.ones(5, 12), 2)
