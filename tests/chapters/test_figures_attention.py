"""The shared drawings and those of chapter 00: what they show, and that they leave matplotlib as it was."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.patches import Rectangle

from mha_teach import theme
from mha_teach.figures import attention as draw
from mha_teach.figures import base


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_heatmap_has_queries_down_keys_across_and_hatches_what_is_masked():
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0]])
    mask = torch.tensor([[True, False, False], [True, True, False]])
    ax = base.heatmap(base.axes(3, 2), weights, ["a", "b"], ["x", "y", "z"], mask=mask, numbers=True)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y", "z"]
    assert ax.yaxis_inverted() and ax.get_xlabel() == "key" and ax.get_ylabel() == "query"
    hatched = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    assert len(hatched) == 3 and texts(ax) == ["1.00", "0.25", "0.75"]
    assert ax.images[0].get_clim() == (0.0, 1.0)


def test_scores_diverge_around_zero_and_survive_minus_infinity():
    ax = base.heatmap(base.axes(3, 2), torch.tensor([[-3.0, -torch.inf, 1.0]]), kind="scores")
    assert ax.images[0].get_clim() == (-3.0, 3.0)


def test_spread_shows_every_seed():
    ax = base.spread(base.axes(), [1, 2, 3], torch.arange(15.0).view(5, 3), label="five")
    assert len(ax.collections) == 5 and ax.lines[0].get_ydata().tolist() == [6.0, 7.0, 8.0]


def test_the_style_does_not_hide_settings_that_come_with_the_first_figure(monkeypatch):
    # In a notebook the first plt.figure() switches the backend on, which sets rcParams that must last.
    made = plt.figure
    monkeypatch.setattr(
        plt, "figure", lambda **options: plt.rcParams.update({"axes.labelpad": 7.0}) or made(**options)
    )
    before = plt.rcParams["axes.labelpad"]
    try:
        ax = base.axes()
        assert plt.rcParams["axes.labelpad"] == 7.0, "the setting went with the style"
        assert not ax.spines["top"].get_visible() and plt.rcParams["axes.spines.top"]
    finally:
        plt.rcParams["axes.labelpad"] = before


def test_one_query_writes_each_weight_beside_its_bar():
    keys = torch.tensor([[2.0, 1.0], [0.0, 2.0]])
    left, right = draw.one_query(
        torch.tensor([2.0, 0.0]), keys, torch.tensor([0.7, 0.3]), ["cat", "mat"], "it"
    )
    assert texts(right) == ["0.70", "0.30"]
    assert {"cat", "mat", "what “it” asks"} <= set(texts(left))


def test_sums_of_one_stand_out():
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    ax = draw.with_sums({"rows": weights, "twice": weights})[0]
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == ["1.00", "1.00"] and {"0.70", "0.60"} <= set(texts(ax))


def test_what_is_used_keeps_its_own_numbers():
    weights, used = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.0, 5.0]])
    left, right = draw.looked_and_used(weights.expand(2, 2), used.expand(2, 2), ["a", "b"])
    assert texts(left) == ["0.90", "0.10"] * 2 and texts(right) == ["0.00", "5.00"] * 2


def test_everything_names_each_part_with_its_shape():
    q, k, v = torch.randn(4, 3), torch.randn(5, 3), torch.randn(5, 2)
    weights = (q @ k.T).softmax(-1)
    parts = draw.everything(q, k, q @ k.T, weights, v, weights @ v)
    said = [texts(ax)[0] for ax in parts]
    assert said == [
        "q\n(4, 3)",
        "kᵀ\n(3, 5)",
        "scores\n(4, 5)",
        "weights\n(4, 5)",
        "v\n(5, 2)",
        "output\n(4, 2)",
    ]
    assert parts[0].patches[-1].get_edgecolor() == matplotlib.colors.to_rgba(theme.role("query"))
