"""Drawings of chapter 04: what they show."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_hex

from mha_teach import masking, theme
from mha_teach.figures import masking as draw


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def hatched(ax):
    return [patch for patch in ax.patches if patch.get_hatch()]


def test_masks_hatch_what_may_not_be_seen_whatever_the_shape():
    panels = draw.masks({"causal": masking.causal(5), "cache": masking.causal(2, 7, align="end")})
    assert [len(hatched(ax)) for ax in panels] == [10, 1]
    assert [ax.get_title() for ax in panels] == ["causal", "cache"]
    assert panels[1].images[0].get_array().shape == (2, 7)


def test_orders_show_row_sums_and_redden_the_wrong_ones():
    mask = masking.causal(2)
    before, after = torch.tensor([[1.0, 0.0], [0.3, 0.7]]), torch.tensor([[0.4, 0.0], [0.3, 0.7]])
    left, right = draw.orders({"before": before, "after": after}, mask, ["the", "cat"])
    bad = theme.palette()["bad"]["light"].lower()
    assert texts(left)[-3:] == ["1.00", "1.00", "sum"] and texts(right)[-3:] == ["0.40", "1.00", "sum"]
    red = [text.get_text() for ax in (left, right) for text in ax.texts if to_hex(text.get_color()) == bad]
    assert red == ["0.40"]


def test_noise_draws_every_seed_and_says_nan():
    losses = torch.rand(3, 5, 7)
    losses[2] = torch.nan
    shown, alone = torch.rand(3, 5), torch.rand(3, 5)
    shown[2] = alone[2] = torch.nan
    left, right = draw.noise(["a", "b", "c"], list(range(7)), losses, shown, alone, chance=1 / 8)
    assert len(left.lines) == 2 * 6 + 1  # five seeds and a mean, twice, and the line of chance
    assert left.lines[-1].get_ydata()[0] == pytest.approx(2.079, abs=1e-3)
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["a", "b"]
    assert "NaN" in texts(right) and right.yaxis_inverted()
    assert right.collections[0].get_offsets()[:, 0].tolist() == pytest.approx(shown[0].tolist())


def test_kept_writes_every_share():
    shares = torch.tensor([[0.25, 1.0, 0.5], [0.0, 0.75, 0.1]])
    ax = draw.kept(shares)
    assert texts(ax) == ["0.25", "1.00", "0.50", "0.00", "0.75", "0.10"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["head 0", "head 1"]


def test_detection_colours_what_was_found_and_leaves_silence_empty():
    ax = draw.detection(
        {"right": ["–", "same"], "after": ["leak", "differs"]}, ["causal_leak", "against attend"]
    )
    assert texts(ax) == ["–", "same", "leak", "differs"]
    colours = [to_hex(patch.get_facecolor(), keep_alpha=True)[:7] for patch in ax.patches]
    good, bad = (theme.palette()[name]["light"].lower() for name in ("good", "bad"))
    assert colours[1] == good and colours[2] == colours[3] == bad
    assert ax.patches[0].get_facecolor()[3] == 0
