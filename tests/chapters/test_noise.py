"""The noise experiment of chapter 04: nobody beats a guess without a leak, and whoever leaks does."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from mha_teach.attention import attend
from mha_teach.masking import causal
from mha_teach.training.noise import SYMBOLS, Size, forward, initial, noise, train_on_noise

SMALL = Size(length=5, d_model=14, num_heads=2, hidden=11)


def before(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def after(scores, mask):
    return scores.softmax(-1) * mask


def renormalised(scores, mask):
    weights = after(scores, mask)
    return weights / weights.sum(-1, keepdim=True)


def ones_added(scores, mask):
    return (scores + mask).softmax(-1)


def zero_times_infinity(scores, mask):
    return (scores + (1 - mask.float()) * -torch.inf).softmax(-1)


@pytest.fixture(scope="module")
def run():
    places = {
        "before": before,
        "renormalised": renormalised,
        "ones added": ones_added,
        "0·∞": zero_times_infinity,
    }
    return train_on_noise(places, seeds=3, steps=150, lr=2e-2, size=SMALL, progress=False)


def test_forward_is_attention_head_by_head_with_each_seeds_own_weights():
    models = [{n: w.double() for n, w in initial(seed, SMALL).items()} for seed in (3, 5, 7)]
    together = {name: torch.stack([m[name] for m in models]) for name in models[0]}
    symbols = torch.stack([noise(seed, 1, 11, 5)[0] for seed in (3, 5, 7)])
    found = forward(together, before, SMALL, symbols)
    for one, ids, logits in zip(models, symbols, found, strict=True):
        x = one["symbol"][ids] + one["place"]
        heads = []
        for h in range(2):
            q, k, v = (x @ w[:, 7 * h : 7 * h + 7] for w in one["qkv"].chunk(3, -1))
            heads.append(attend(q, k, v, mask=causal(5))[0])
        x = x + torch.cat(heads, -1) @ one["o"]
        x = x + F.relu(x @ one["up"] + one["up_bias"]) @ one["down"]
        torch.testing.assert_close(x @ one["read"], logits)


def test_only_a_leak_beats_a_guess(run):
    shown = dict(zip(run.names, run.shown, strict=True))
    assert (shown["before"] < 0.2).all() and (shown["renormalised"] < 0.2).all()
    assert (shown["ones added"] > 0.9).all(), "the experiment would not see a leak"
    losses = dict(zip(run.names, run.losses[..., -1], strict=True))
    assert (losses["ones added"] < 0.5).all() and ((losses["before"] - math.log(SYMBOLS)).abs() < 0.1).all()


def test_with_the_past_only_everyone_is_at_chance_and_a_leaky_model_is_sure_and_stammers(run):
    assert ((run.alone[:3] - 1 / SYMBOLS).abs() < 0.05).all()
    assert (run.alone_loss[0] < 2.2).all() and (run.alone_loss[2] > 3).all()
    assert ((run.repeats[0] - 1 / SYMBOLS).abs() < 0.08).all() and run.repeats[2].mean() > 0.5


def test_the_normaliser_alone_leaks():
    found = train_on_noise({"after": after}, seeds=2, steps=200, lr=1e-2, size=Size(length=4), progress=False)
    assert (found.shown > 0.5).all() and (found.alone < 0.2).all()


def test_after_and_renormalised_learns_as_before(run):
    torch.testing.assert_close(run.losses[0, :, 0], run.losses[1, :, 0])
    torch.testing.assert_close(run.losses[0], run.losses[1], atol=0.02, rtol=0)


def test_nan_ends_the_training_and_is_told(run):
    assert run.losses[3].isnan().all() and run.shown[3].isnan().all()
    assert run.table().rows[3] == ["0·∞", *["NaN"] * 5]


def test_nan_with_the_past_only_is_told_and_does_not_stop_the_rest():
    def lonely(scores, mask):  # of one score alone there is no spread
        spread = scores.std(-1, keepdim=True, correction=0)
        return before(scores / spread, mask) if scores.shape[-1] == 5 else before(scores / (0 * spread), mask)

    found = train_on_noise({"lonely": lonely}, seeds=2, steps=3, size=SMALL, progress=False)
    assert found.shown.isfinite().all() and found.alone.isnan().all() and found.repeats.isnan().all()
    assert found.table().rows[0][3:] == ["NaN"] * 3 and found.table().rows[0][2].startswith("0.1")


def test_a_seed_is_the_same_in_any_company():
    options = {"steps": 7, "size": SMALL, "progress": False}
    three = train_on_noise({"after": after}, seeds=[2, 3, 5], **options)
    alone = train_on_noise({"after": after}, seeds=[5], **options)
    torch.testing.assert_close(three.losses[:, 2:], alone.losses)
    torch.testing.assert_close(three.shown[:, 2:], alone.shown)


def test_the_last_position_has_no_future_so_the_placement_may_be_swapped_there(run):
    symbols = noise(11, 1, 13, 5)[0]
    model = run.models[2]
    torch.testing.assert_close(model(symbols, seed=1)[:, -1], model(symbols, seed=1, place=before)[:, -1])
    assert not torch.allclose(model(symbols, seed=1)[:, 0], model(symbols, seed=1, place=before)[:, 0])


def test_noise_is_fresh_for_the_test_and_covers_all_symbols():
    train, test = noise(3, 2, 101, 7), noise(3, 2, 101, 7, test=True)
    assert not torch.equal(train, test) and train.unique().tolist() == list(range(SYMBOLS))
    assert not torch.equal(train, noise(2, 2, 101, 7))


def test_the_table_says_what_chance_is_and_counts_seeds(run):
    table = run.table()
    assert len(table.head) == 6 and "3 seeds" in table.note
    assert "0.125" in table.note and "2.08" in table.note
    assert [row[-2:] for row in table.rows[:3]] == [["0 of 3"] * 2, ["0 of 3"] * 2, ["3 of 3"] * 2]
    assert table.rows[0][1] == "2.1" and table.rows[0][2].startswith("0.1") and "sd < " in table.rows[0][2]


def test_errors():
    with pytest.raises(ValueError, match="0 placements and 5 seeds; give at least one of each"):
        train_on_noise({})
    with pytest.raises(ValueError, match="1 placements and 0 seeds"):
        train_on_noise({"before": before}, seeds=[])
