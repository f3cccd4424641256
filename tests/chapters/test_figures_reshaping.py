"""The drawings of chapter 03: every number says in words where it came from, and a fault is seen without colour."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_rgba

from mha_teach import reshaping, theme
from mha_teach.figures import reshaping as draw
from mha_teach.probes import causal_leak
from mha_teach.reshaping import trace_origin


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def frames(ax):
    bad = to_rgba(theme.palette()["bad"]["light"])
    return [patch for patch in ax.patches if patch.get_edgecolor() == bad and patch.get_linewidth() == 2.0]


def test_the_right_split_frames_nothing_and_the_view_frames_what_is_elsewhere():
    paths = {
        name: trace_origin(lambda x, f=f: f(x, 2), 1, 3, 2, 2)
        for name, f in {"right": reshaping.split_heads, "view": reshaping.split_by_view}.items()
    }
    right = draw.origins({"right": paths["right"]})
    assert not frames(right) and "right:\n0 of 12 misplaced" in texts(right)
    both = draw.origins(paths)
    assert len(frames(both)) == 8 and "view:\n8 of 12 misplaced" in texts(both)
    # Head 1 of the view begins with position 1: by hand, address 6 of rows that are 4 wide.
    said = texts(both)
    start = said.index("head 1", said.index("view:\n8 of 12 misplaced") - 20)
    assert said[start - 1] == "p1\nh1·0"


def test_colour_follows_the_label_that_was_asked_for():
    path = {"swapped": trace_origin(lambda x: reshaping.split_swapped(x, 1), 2, 3, 1, 1)}
    by_sample, by_position = (draw.origins(path, hue=hue) for hue in ("batch", "position"))
    hues = [
        [patch.get_facecolor()[:3] for patch in ax.patches if patch.get_linewidth() == 0]
        for ax in (by_sample, by_position)
    ]
    sample = [to_rgba(theme.series(i))[:3] for i in range(3)]
    assert hues[0] == [sample[i] for i in (0, 0, 1, 0, 1, 1)]  # a0 a2 b1, a1 b0 b2
    assert hues[1] == [sample[i] for i in (0, 2, 1, 1, 0, 2)]
    assert "a2\nh0·0" in texts(by_sample) and "b head 0" in texts(by_sample)


def test_roles_have_their_own_hues_and_letters():
    path = trace_origin(lambda x: torch.cat(reshaping.split_interleaved(x, 2), -1), 1, 3, 2, 1, roles=3)
    ax = draw.origins({"interleaved": path}, "batch head position role", "role")
    assert "interleaved:\n12 of 18 misplaced" in texts(ax) and "k p0\nh0·0" in texts(ax)
    fills = {patch.get_facecolor()[:3] for patch in ax.patches if patch.get_linewidth() == 0}
    assert fills == {to_rgba(theme.role(role))[:3] for role in ("query", "key", "value")}


def test_a_merge_stands_in_rows_with_its_heads_side_by_side():
    flat = trace_origin(
        lambda o: reshaping.merge_untransposed(o).unflatten(-1, (2, 2)), 1, 3, 2, 2, split=True
    )
    ax = draw.origins({"flat": flat}, "batch position head dim", "position")
    assert {"row 0", "row 1", "row 2"} <= set(texts(ax)) and len(frames(ax)) == 8


def test_reading_order_tells_addresses_heads_jumps_and_strides():
    x = torch.arange(12).view(1, 3, 4)
    split = reshaping.split_heads(x, 2)
    ax = draw.reading_order({"x": x, "split": split}, torch.arange(12) // 2 % 2)
    said = texts(ax)
    assert said[:2] == ["0\nh0", "1\nh0"] and said[12] == "x, strides (12, 4, 1)"
    assert [text.split("\n")[0] for text in said[13:25]] == [
        "0",
        "1",
        "4",
        "5",
        "8",
        "9",
        "2",
        "3",
        "6",
        "7",
        "10",
        "11",
    ]
    assert len(ax.lines) == 5 and said[25] == "split, strides (12, 2, 4, 1)"


def test_what_is_not_read_is_hatched_and_has_no_number():
    table = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    left, right = draw.reads({"a": table, "b": table})
    assert texts(left) == ["0.5", "0.2", "1.0"] and texts(right) == texts(left)
    assert len([patch for patch in left.patches if patch.get_hatch()]) == 3


def test_the_floor_and_every_seed_are_drawn():
    ax = draw.losses({"a": torch.rand(5, 11), "b": torch.rand(5, 11)}, floor=0.9)
    assert len(ax.lines) == 1 + 2 * (5 + 1) and ax.lines[0].get_ydata()[0] == 0.9
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    thick = [line.get_linestyle() for line in ax.lines if line.get_linewidth() == 2]
    assert len(set(thick)) == 2  # lines differ without colour, too


def test_leaks_count_what_is_forbidden():
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    found = {
        "none": causal_leak(lambda t: t.cumsum(1), x),
        "all": causal_leak(lambda t: t + t.sum(1, True), x),
    }
    none, full = draw.leaks(found)
    assert none.get_title() == "none\n0 of 10 forbidden" and full.get_title() == "all\n10 of 10 forbidden"


def test_a_lamp_has_a_word():
    ax = draw.lamps(
        ["view", "swap"], ["p", "q", "r"], torch.tensor([[True, False, True], [False, False, True]])
    )
    assert texts(ax) == ["finds it", "no", "finds it", "no", "no", "finds it"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["view", "swap"]
