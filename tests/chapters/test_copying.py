"""The half-dice text: its floor, honest models above it, a leak below, and the same numbers each time."""

from __future__ import annotations

import math

import pytest
import torch

from mha_teach.probes import causal_leak
from mha_teach.reshaping import merge_heads, merge_untransposed, split_by_view, split_heads
from mha_teach.training import copying


def each(split):
    return lambda qkv: [split(part, copying.HEADS) for part in qkv.chunk(3, -1)]


def merged(out, n):
    return merge_heads(out)


@pytest.fixture(scope="module")
def honest():
    return copying.train(each(split_heads), merged, seeds=2)


def test_the_floor_by_hand():
    assert copying.floor() == pytest.approx(5 / 11 * math.log(8))
    assert copying.floor(torch.tensor([1.0, 1, 0, 0, 0, 0, 0, 0])) == pytest.approx(5 / 11 * math.log(2))
    assert copying.floor(torch.tensor([3.0, 0, 0, 0, 0, 0, 0, 0])) == 0


def test_an_honest_model_copies_and_stays_above_the_floor(honest):
    assert honest.losses.shape == (2, 100) and honest.written.shape == (2, copying.TEST, copying.HALF)
    assert (honest.alone > 0.95).all() and (honest.given > 0.95).all()
    assert (honest.dice < 0.2).all() and (honest.last > copying.floor()).all()


def test_a_leak_falls_below_the_floor_and_fails_alone():
    run = copying.train(each(split_by_view), merged, seeds=2)
    assert (run.last < copying.floor() - 0.3).all() and (run.dice > 0.5).all()
    assert (run.given > 0.95).all() and (run.alone < 0.6).all()


def test_a_seed_gives_the_same_numbers_and_leaves_chance_alone(honest):
    torch.manual_seed(7)
    before = torch.rand(3)
    torch.manual_seed(7)
    again = copying.train(each(split_heads), merged, seeds=2, steps=3)
    assert torch.equal(torch.rand(3), before)
    torch.testing.assert_close(again.losses, honest.losses[:, :3], atol=1e-12, rtol=1e-12)


def test_the_model_by_itself_is_causal_and_takes_shorter_texts():
    torch.manual_seed(0)
    model = copying.Copier(each(split_heads), merged)
    ids = torch.randint(copying.SYMBOLS, (3, 7))
    assert model(ids).shape == (3, 7, copying.SYMBOLS)
    assert not causal_leak(model, ids)
    torch.testing.assert_close(model(ids)[:, :5], model(ids[:, :5]))
    assert causal_leak(copying.Copier(each(split_heads), merge_untransposed), ids)
