"""Chapter 06's tables hold the numbers that they are given, and fit the page; its drawings show them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
import torch

from mha_teach.data import measured
from mha_teach.figures import specialisation as draw
from mha_teach.figures import tables


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_mean_and_spread():
    assert tables.pm([1.0, 2.0, 3.0], 1) == "2.0 ± 1.0"
    assert tables.pm(torch.tensor([-0.001, 0.001])).startswith("0.00")


def test_tables_of_the_records_fit_the_page():
    heads = measured("heads")["rows"]
    runs = measured("specialisation")["rows"].items()
    runs = {name.replace(", 8 heads", ""): row for name, row in runs if "8 heads" in name}
    shown = [tables.roles(heads["roles"]), tables.grammar(heads["dependencies"]), tables.closings(runs)]
    assert [len(text.splitlines()) for text in shown] == [8, 11, 4]
    record = measured("specialisation")["rows"]
    shown += [tables.overlaps(record["real subspaces"]), tables.source(measured("heads"))]
    shown += [tables.copying(measured("induction")["rows"]["SmolLM2-135M"])]
    assert max(len(line) for text in shown for line in text.splitlines()) <= tables.WIDTH
    best = heads["roles"]["next token"]
    assert f"{best['mean']:.2f} ± {best['sd over sentences']:.2f}" in shown[0].splitlines()[2]


def test_closings_count_the_seeds_that_lose_a_relation():
    row = {"two heads dropped": [-0.1, -0.1], "sixteen units dropped": [-0.3, -0.3]}
    row |= {"lazy heads, sum of single changes": [-0.02, -0.0], "lazy heads, all at once": [-0.3, -0.1]}
    line = tables.closings({"few": row}).splitlines()[1]
    assert line.split()[-8:] == ["-0.01", "→", "-0.20", "±", "0.14", "1", "of", "2"]


def test_overlaps_stand_beside_random_weights():
    row = {"q": {"on inputs": 0.34, "random weights on inputs": [0.25, 0.27]}}
    assert tables.overlaps(row) == "overlap on the inputs: W_q 0.34, random W 0.26 ± 0.01"


def test_scores_by_head_and_losses_by_saying():
    scores = torch.tensor([[0.1, 0.25], [0.5, 1.0]])
    assert tables.by_head({"role": scores}).split() == (
        ["role", "(0,", "0)", "0.10", "(0,", "1)", "0.25", "(1,", "0)", "0.50", "(1,", "1)", "1.00"]
    )
    line = tables.sayings({"open": torch.tensor([4.0, 5.0, 90.0, 1.0, 2.0])}, 3)
    assert line.split() == ["open", "first", "saying", "4.5,", "later", "1.5", "nats"]


def test_copying_by_hand():
    row = {
        "layers, heads": [3, 5],
        "best heads": [[1, 2, 0.9, 0.1]] * 3,
        "text": "t",
        "model": "m",
        "loss": [2.0, 9.0],
    }
    row |= {"without the best": {"4": [7.0, 9.1]}, "without others": {"4": [[2.0, 9.0], [4.0, 9.0]]}}
    row |= {"which others": {"1": [[[2, 4]], [[0, 3]], [[2, 4]]]}}
    row |= {
        "previous": [[0.1, 0.7]],
        "without the best previous-token head": {"head": [0, 1], "loss": [8.0, 9.2]},
    }
    lines = tables.copying(row).splitlines()
    assert lines[2] == "best of 15 for induction: (1, 2) 0.90, (1, 2) 0.90, (1, 2) 0.90"
    assert lines[3] == "best for the previous token: (0, 1) 0.70"
    assert [line.split() for line in lines[5:]] == [
        ["none", "2.0", "9.0"],
        ["previous-token", "8.0", "9.2"],
        ["best", "4", "7.0", "9.1", "3.0", "±", "1.4", "4.0"],
        ["single", "others:", "3", "draws,", "2", "heads,", "drawn", "twice:", "(2,", "4)"],
    ]


def test_grammar_says_what_is_found_where_the_distance_misses():
    row = {"head": [2, 0], "held out": 0.9, "offset": -2, "offset held out": 0.65, "gain": 0.25}
    row |= {"gain interval": [-0.17, 0.32], "where the offset misses": [70, 0.8429]}
    row |= {"halves swapped": {"held out": 0.83, "gain": 0.22}}
    line = tables.grammar({"object, dependent → governor": row}).splitlines()[1]
    assert line.split()[:5] == ["object", "dep→gov", "(2,", "0)", ".90"]
    assert line.split()[5:] == ["-2:", ".65", "+.25", "[-.17,", ".32]", ".83", "+.22", "59/70"]


def test_drifts_of_the_record_and_where_it_comes_from():
    record = measured("specialisation")
    row = record["rows"]["real encoder"]
    even = [[0.7] * 12, [0.1] * 12, *[[0.0] * 12] * 4]
    lines = tables.drifts(row, even).splitlines()
    median = torch.tensor(row["single"]).median()
    below = sum(one < median for one in row["single"][0])
    assert lines[2] == "  " + f"heads with over .6 on [CLS]: 12, of them below the median {below}"
    assert lines[-1] == "parameters in heads 15.7%, in a fifth of them 3.0%"
    assert max(map(len, lines)) <= tables.WIDTH
    assert tables.source(record).splitlines()[-1].endswith(", benchmarks/measure_specialisation.py")


def test_a_matrix_as_text():
    text = tables.matrix(torch.tensor([[-0.504, -0.001], [0.0, -1.0]]), ["near", "far"], "seed 3")
    assert [line.split() for line in text.splitlines()] == [
        ["seed", "3", "near", "far"],
        ["head", "0", "-0.50", "0.00"],
        ["head", "1", "0.00", "-1.00"],
    ]


def test_matrices_print_what_is_worth_it():
    change = torch.tensor([[[-0.9, -0.04], [0.0, -0.5]], [[0.0, -0.9], [-0.8, 0.0]]])
    panels = draw.matrices(change, ["a", "b"], ["one", "two"])
    assert [sorted(t.get_text() for t in panel.texts) for panel in panels] == [
        ["−.50", "−.90"],
        ["−.80", "−.90"],
    ]


def test_the_lottery_counts_winners():
    ax = draw.lottery({"few": torch.tensor([0.8, 0.995, 1.0]), "none": torch.tensor([0.9, 0.98, 0.99])})
    assert [t.get_text() for t in ax.texts] == ["2 of 3 done", "0 of 3 done"]


def test_the_grid_names_the_strongest_head():
    scores = torch.zeros(3, 5)
    scores[1, 4] = 0.7
    panels = draw.role_grid({"trained": {"previous": scores}, "control": {"previous": scores * 0}})
    assert panels[0].get_title() == "previous" and "(1, 4): 0.70" in panels[0].get_xlabel()


def test_looks_stand_beside_uses():
    maps = {"head": torch.eye(3)}
    panels = draw.looked_and_used(maps, ["a", "b", "c"], {"head": 0.2, "median of 72": 0.1}, "drift")
    assert [round(bar.get_width(), 3) for bar in panels[1].patches] == [0.2, 0.1]


def test_the_other_drawings_take_what_the_chapter_gives():
    left, right = draw.induction(
        torch.eye(6), torch.eye(6).bool(), {"open": torch.arange(5.0), "closed": torch.ones(5)}, 3, "head"
    )
    assert len(left.collections[0].get_offsets()) == 6 and len(right.lines) == 2
    panels = draw.recap({"one": -torch.eye(4), "two": -torch.eye(8)[:, :4]}, ["x", "y"])
    assert [len(panel.get_yticks()) for panel in panels] == [4, 8]
