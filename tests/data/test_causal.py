"""The small causal model: no look ahead, text that repeats as said, and what the shipped weights do."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from mha_teach.data import CausalModel, induction_model, measured, repeated, without_heads
from mha_teach.data.records import FOLDER
from mha_teach.specialisation import role_score, role_targets


@pytest.fixture(scope="module")
def model():
    return induction_model()


@pytest.fixture(scope="module")
def text():
    return repeated(100, seed=31)


def loss(model, ids, periods):
    """Nats per token, on tokens that a copy could tell: from the second token of the second piece on."""
    each = F.cross_entropy(model(ids[:, :-1])[0].transpose(1, 2), ids[:, 1:], reduction="none")
    return each[torch.arange(1, ids.shape[1]) > periods[:, None]].mean().item()


def test_repeats_by_hand():
    ids, periods = repeated(7, seed=2, symbols=11, length=13, period=(3, 5))
    assert ids.shape == (7, 13)
    for row, period in zip(ids.tolist(), periods.tolist(), strict=True):
        assert 3 <= period <= 5
        assert len(set(row[:period])) == period, "a piece's tokens differ"
        assert row == (row[:period] * 5)[:13]
    assert len(set(periods.tolist())) > 1


def test_repeats_go_by_their_seed():
    assert torch.equal(repeated(5, 3)[0], repeated(5, 3)[0])
    assert not torch.equal(repeated(5, 3)[0], repeated(5, 4)[0])
    assert (repeated(5, 3, period=17)[1] == 17).all()


@pytest.mark.parametrize("period", [0, 65, (9, 8), (0, 3), (60, 65)])
def test_a_period_that_cannot_be_is_an_error(period):
    with pytest.raises(ValueError, match="symbols is 64; a period lies between"):
        repeated(2, period=period)


def test_shapes_and_too_many_positions():
    logits, attention = CausalModel(symbols=13, places=11, d_model=6, num_heads=3, layers=2)(
        torch.zeros(5, 7).long()
    )
    assert logits.shape == (5, 7, 13)
    assert attention.shape == (5, 2, 3, 7, 7)
    with pytest.raises(ValueError, match="49 positions and 48 places"):
        CausalModel()(torch.zeros(1, 49).long())


def test_nothing_is_read_from_ahead(model):
    ids, _ = repeated(3, seed=5)
    other = ids.clone()
    other[:, 20:] = (other[:, 20:] + 1) % 64
    torch.testing.assert_close(model(ids)[0][:, :20], model(other)[0][:, :20])


def test_the_recorded_model_repeats_what_it_has_read(model, text):
    assert loss(model, *text) < 0.05, "guessing costs log 64 = 4.16"
    assert not model.training
    assert not any(p.requires_grad for p in model.parameters())


def test_its_file_is_small_and_its_loading_draws_nothing():
    assert FOLDER.parent.joinpath("induction.npz").stat().st_size <= 150_000
    torch.manual_seed(5)
    before = torch.get_rng_state()
    induction_model()
    assert torch.equal(before, torch.get_rng_state())


def test_its_scores_and_losses_are_the_recorded_ones(model, text):
    """The shipped half-precision weights are seed 0 of the record, which other text finds again."""
    record = measured("induction")["rows"]["small model"]["trained"][0]
    ids, periods = text
    _, attention = model(ids)
    for role in ("previous", "induction"):
        score = role_score(attention.flatten(1, 2), role_targets(ids)[role]).nanmean(0).view(2, 2)
        torch.testing.assert_close(score, torch.tensor(record[role]), atol=0.03, rtol=0.0)
    assert loss(model, ids, periods) == pytest.approx(record["loss"], abs=0.02)
    for layer in range(2):
        with without_heads(model, [(layer, 0), (layer, 1)]):
            assert loss(model, ids, periods) == pytest.approx(record["loss without a layer"][layer], abs=0.3)
