"""The drawings of chapter 05 show what they are given."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.patches import Rectangle

from mha_teach import theme
from mha_teach.figures import multihead as draw


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def sizes(ax):
    return [(p.get_width(), p.get_height()) for p in ax.patches if isinstance(p, Rectangle)]


def test_each_head_has_its_map():
    panels = draw.two_maps(torch.rand(2, 3, 3), ["a", "b", "c"])
    assert [ax.get_title() for ax in panels] == ["head 0", "head 1"]
    assert len(panels[0].texts) == 9


def test_blocks_have_the_sizes_of_the_matrices():
    left, right = draw.blocks(d_model=11, num_heads=2, d_k=3, d_v=5)
    assert sizes(left) == [(11, 3)] * 4 + [(11, 5)] * 2
    assert sizes(right) == [(5, 11)] * 2
    assert left.get_title() == "in_proj_weight (22, 11)" and right.get_title() == "out_proj.weight (11, 10)"
    assert left.get_ylim() == (22, 0) and right.get_xlim() == (0, 10)


def test_what_heads_write_is_on_one_scale():
    before, after = torch.zeros(3, 7), torch.zeros(3, 7)
    after[1, 2] = -4.0
    for ax, parts in zip(draw.written(before, after), (before, after), strict=True):
        assert ax.images[0].get_clim() == (-4.0, 4.0)
        assert torch.equal(torch.as_tensor(ax.images[0].get_array().data), parts)


def test_every_seed_of_every_start_is_a_line():
    losses = torch.rand(2, 5, 3)
    ax = draw.starts(range(3), losses, ["one", "two"])
    assert len(ax.lines) == 12 and [t.get_text() for t in ax.get_legend().get_texts()] == ["one", "two"]
    torch.testing.assert_close(torch.tensor(ax.lines[5].get_ydata()), losses[0].mean(0))


def row(ratio, **options):
    return {
        "size": "4x128",
        "heads": 1,
        "weights": False,
        "masked": False,
        "backward": False,
        "ratio": ratio,
        "interval": [ratio - 0.125, ratio + 0.25],
    } | options


def test_the_race_puts_each_ratio_in_its_panel():
    rows = [row(0.5), row(2.0, weights=True), row(0.75, masked=True, heads=8), row(1.25, backward=True)]
    without, with_weights = draw.race(rows)
    dots, lines = (
        [[each for each in ax.collections if type(each) is kind] for ax in (without, with_weights)]
        for kind in (PathCollection, LineCollection)
    )
    shown = [sorted(x for each in group for x, _ in each.get_offsets().tolist()) for group in dots]
    assert shown == [[0.5, 0.75, 1.25], [2.0]]
    ends = [sorted(line[:, 0].tolist() for each in group for line in each.get_segments()) for group in lines]
    assert ends == [[[0.375, 0.75], [0.625, 1.0], [1.125, 1.5]], [[1.875, 2.25]]]
    assert [t.get_text() for t in without.get_yticklabels()] == ["4 × 128, h = 1", "4 × 128, h = 8"]
    hollow = [each for each in dots[0] if len(each.get_offsets()) and not len(each.get_facecolor())]
    assert [each.get_offsets()[0, 0] for each in hollow] == [0.75]


def test_the_recap_names_every_step():
    ax = draw.recap([("X", "B, n", ""), ("W", "B, d", "query")])
    assert {"X", "B, n", "W", "B, d"} <= {t.get_text() for t in ax.texts}
    assert matplotlib.colors.same_color(ax.patches[1].get_edgecolor(), theme.role("query"))
