"""Training from given weights, one lane each."""

from __future__ import annotations

import pytest
import torch

from mha_teach.tasks import KeyedLookups
from mha_teach.training.model import Config, stacked
from mha_teach.training.starts import train_starts

TASK, CONFIG = KeyedLookups(roles=2), Config(num_heads=2)


def test_lanes_share_nothing_and_the_start_stays():
    start = stacked(CONFIG, TASK, [3, 5])
    kept = {name: w.clone() for name, w in start.items()}
    _, losses, scores = train_starts(start, TASK, CONFIG, [3, 5], 7)
    assert all(torch.equal(start[name], kept[name]) for name in kept)
    assert losses.shape == (2, 7) and scores.shape == (2,)
    alone = train_starts({name: w[1:] for name, w in start.items()}, TASK, CONFIG, [5], 7)
    torch.testing.assert_close(losses[1:], alone[1], atol=1e-4, rtol=0)


def test_copies_of_a_head_stay_copies():
    start, half = stacked(CONFIG, TASK, [3]), CONFIG.width
    for name in ("0.q", "0.k", "0.v"):
        start[name][..., half:] = start[name][..., :half]
    start["0.o"].zero_()
    trained, *_ = train_starts(start, TASK, CONFIG, [3], 7)
    assert trained["0.o"].any()
    torch.testing.assert_close(trained["0.q"][..., half:], trained["0.q"][..., :half], atol=1e-6, rtol=0)


def test_lanes_and_weights_must_agree():
    with pytest.raises(ValueError, match="weights for 2 lanes and 3 seeds"):
        train_starts(stacked(CONFIG, TASK, [0, 1]), TASK, CONFIG, [0, 1, 2], 1)
