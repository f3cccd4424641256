"""Hand-worked numbers, float64 oracles and the laws that chapter 01 states about its tools."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_teach import collapse, data
from mha_teach.figures import base
from mha_teach.figures import collapse as draw_figure


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- heads ---------------------------------------------------------------------------------------------------


def test_heads_equal_a_loop_over_heads_with_torch_attention() -> None:
    x, memory = draw(2, 5, 7), draw(2, 11, 7, seed=1)
    w_q, w_k, w_v = draw(3, 7, 13, seed=2), draw(3, 7, 13, seed=3), draw(3, 7, 17, seed=4)
    out, weights = collapse.heads(x, memory, w_q, w_k, w_v)
    assert out.shape == (2, 3, 5, 17) and weights.shape == (2, 3, 5, 11)
    for h in range(3):
        oracle = torch.nn.functional.scaled_dot_product_attention(
            x @ w_q[h], memory @ w_k[h], memory @ w_v[h]
        )
        torch.testing.assert_close(out[:, h], oracle, rtol=0, atol=1e-12)


def test_every_head_reads_every_input_dimension() -> None:
    x = draw(5, 7).requires_grad_()
    out, _ = collapse.heads(x, x, draw(3, 7, 2, seed=2), draw(3, 7, 2, seed=3), draw(3, 7, 2, seed=4))
    for h in range(3):
        (grad,) = torch.autograd.grad(out[h].sum(), x, retain_graph=True)
        assert (grad.abs().sum(0) > 0).all()


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((3, 7, 2), (2, 7, 2), (3, 7, 2)), r"w_k has shape \(2, 7, 2\).*head=3.*own"),
        (((3, 7, 2), (3, 7, 2), (3, 5, 2)), r"w_v has shape \(3, 5, 2\).*d_model=7"),
        (((7, 2), (3, 7, 2), (3, 7, 2)), r"w_q has shape \(7, 2\)"),
    ],
)
def test_heads_names_the_matrix_that_does_not_fit(shapes: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        collapse.heads(draw(5, 7), draw(11, 7), *(draw(*s) for s in shapes))


# --- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 11, 66])
def test_parameters_do_not_depend_on_the_number_of_heads(num_heads: int) -> None:
    layer = torch.nn.MultiheadAttention(66, num_heads, bias=False)
    assert collapse.parameters(66, num_heads) == sum(p.numel() for p in layer.parameters()) == 4 * 66 * 66


def test_parameters_with_a_free_width_and_with_one_that_does_not_fit() -> None:
    assert collapse.parameters(7, 3, d_k=5) == 3 * (3 * 7 * 5) + 3 * 5 * 7
    with pytest.raises(ValueError, match=r"d_model=7.*num_heads=3.*pass d_k"):
        collapse.parameters(7, 3)


# --- role_confusion ------------------------------------------------------------------------------------------


def test_role_confusion_by_hand() -> None:
    # head 0 looks at key 0 with .6 and key 2 with .2; head 1 at key 0 with .1 and key 2 with .5
    weights = torch.tensor([[[0.6, 0.2, 0.2]], [[0.1, 0.4, 0.5]]], dtype=torch.float64)
    targets = torch.tensor([[0, 2]])
    # role 0: head 0, share .6/.8; role 1: head 1, share .5/.6
    expected = 1 - (0.6 / 0.8 + 0.5 / 0.6) / 2
    assert collapse.role_confusion(weights, targets).item() == pytest.approx(expected, abs=1e-15)
    assert collapse.role_confusion(weights[:1], targets).item() == pytest.approx(0.5, abs=1e-15)


def test_role_confusion_of_shared_targets_perfect_heads_and_blind_rows() -> None:
    perfect = torch.eye(5, dtype=torch.float64)[[1, 4]].unsqueeze(-2)  # two heads, one query
    assert collapse.role_confusion(perfect, torch.tensor([[1, 4]])).item() == 0
    assert collapse.role_confusion(perfect[:1], torch.tensor([[1, 1]])).item() == 0
    assert collapse.role_confusion(perfect, torch.tensor([[0, 3]])).item() == 1  # nobody is served


@settings(max_examples=60, deadline=None)
@given(
    num_heads=st.integers(1, 5), roles=st.integers(1, 5), seed=st.integers(0, 10**6), sharp=st.floats(0, 30)
)
def test_role_confusion_obeys_its_bound(num_heads: int, roles: int, seed: int, sharp: float) -> None:
    weights = (sharp * draw(2, num_heads, 3, 7, seed=seed)).softmax(-1)
    order = draw(2, 3, 7, seed=seed + 1).argsort(-1)[..., :roles]  # different targets for every role
    confusion = collapse.role_confusion(weights, order)
    assert confusion.shape == (2, 3)
    floor = 1 - min(num_heads, roles) / roles
    assert (confusion >= floor - 1e-12).all() and (confusion <= 1 + 1e-12).all()
    if num_heads == 1:
        torch.testing.assert_close(confusion, torch.full_like(confusion, floor), rtol=0, atol=1e-12)
    swapped = collapse.role_confusion(weights.flip(1), order.flip(-1))  # neither order matters
    torch.testing.assert_close(swapped, confusion, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "targets", "words"),
    [
        ((3, 5, 7), (4, 2), r"\(3, 5, 7\).*\(4, 2\).*one key per role"),
        ((5, 7), (5, 2), r"\(\*batch, head, query, key\)"),
        ((2, 3, 5, 7), (5, 2), "same batch and query sizes"),
    ],
)
def test_role_confusion_states_both_shapes(weights: tuple, targets: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        collapse.role_confusion(draw(*weights).softmax(-1), torch.zeros(targets, dtype=torch.long))


def test_role_confusion_counts_keys_from_zero() -> None:
    with pytest.raises(ValueError, match=r"reach from 1 to 7.*7 keys"):
        collapse.role_confusion(draw(3, 5, 7).softmax(-1), torch.tensor([[1, 7]] * 5))


# --- rank collapse -------------------------------------------------------------------------------------------


def test_rank_one_distance_by_hand() -> None:
    x = torch.tensor([[3.0, 0.0], [1.0, 0.0]], dtype=torch.float64)  # mean row (2, 0), residual ±1
    assert collapse.rank_one_distance(x).item() == pytest.approx(math.sqrt(2 / 10), abs=1e-15)
    assert collapse.rank_one_distance(torch.zeros(3, 5)).item() == 0
    assert collapse.rank_one_distance(torch.tensor([[1.0, 2.0], [-1.0, -2.0]])).item() == 1
    with pytest.raises(ValueError, match=r"\(5,\).*\(token, d\)"):
        collapse.rank_one_distance(torch.ones(5))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3))
def test_no_other_row_comes_closer_than_the_mean(seed: int, scale: float) -> None:
    x, nudge = scale * draw(7, 5, seed=seed), draw(5, seed=seed + 1)
    distance = collapse.rank_one_distance(x)
    torch.testing.assert_close(collapse.rank_one_distance(-3 * x), distance)  # size and sign don't matter
    for step in (1e-3, 1.0):
        other = (x - (x.mean(0) + step * scale * nudge)).norm() / x.norm()
        assert other > distance


def test_pure_attention_collapses_with_depth_and_residuals_slow_it() -> None:
    for num_heads in (1, 8):
        x = draw(5, 13, 32, seed=num_heads)
        runs = [
            collapse.distance_by_depth(x, 7, num_heads, residual, torch.Generator().manual_seed(3))
            for residual in (False, True)
        ]
        assert runs[0].shape == (5, 8)
        assert (runs[0][:, -1] < 1e-3).all() and (runs[1][:, -1] > 0.2).all()
        torch.testing.assert_close(runs[0][:, 0], collapse.rank_one_distance(x))
    with pytest.raises(ValueError, match=r"d_model=32.*num_heads=5.*divisor"):
        collapse.distance_by_depth(x, 1, 5)


def test_depth_zero_is_the_input_and_draws_are_repeatable() -> None:
    x = draw(2, 5, 6)
    torch.testing.assert_close(collapse.distance_by_depth(x, 0)[:, 0], collapse.rank_one_distance(x))
    first, second = (
        collapse.distance_by_depth(x, 3, 2, True, torch.Generator().manual_seed(5)) for _ in range(2)
    )
    assert torch.equal(first, second)


# --- the record and the drawings --------------------------------------------------------------------------------


def test_the_record_names_its_machine_and_holds_five_seeds_a_row() -> None:
    record = data.measured("collapse")
    assert record["hardware"] and record["versions"]["torch"] and record["date"]
    for row in record["rows"].values():
        assert len(row["scores"]) == len(row["configs"]) and all(len(seeds) == 5 for seeds in row["scores"])
    with pytest.raises(KeyError, match="no record 'colapse'; there are .*collapse"):
        data.measured("colapse")


def test_drawings_show_what_they_are_given() -> None:
    tried, runs = [1, 2, 8], torch.tensor([[0.5, 0.6], [0.9, 1.0], [0.2, 0.4]])
    ax = draw_figure.by_heads(base.axes(), tried, runs, "two roles", {"bag": 0.53})
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0.55, 0.95, 0.3])
    assert ax.lines[1].get_ydata() == [0.53, 0.53] and [t.get_text() for t in ax.get_xticklabels()] == list(
        "128"
    )
    left, right = draw_figure.served(
        torch.tensor([[0.9, 0.0], [0.1, 0.8]]), torch.tensor([[0.7, 0.0], [0.0, 0.9]])
    )
    assert [t.get_text() for t in left.texts] == ["0.90", "0.00", "0.10", "0.80"]
    assert [t.get_text() for t in right.texts] == ["-0.70", "+0.00", "+0.00", "-0.90"]
    panels = draw_figure.rows([torch.eye(3)[:1], torch.eye(3)[:2]], list("abc"), ["one", "two"])
    assert [len(p.texts) for p in panels] == [3, 6]
    assert draw_figure.depth(base.axes(), {"pure": torch.ones(2, 4)}).get_yscale() == "log"
    none_good = draw_figure.recap(base.axes(), tried, 0 * runs, roles=2, bag=0.53)
    assert none_good.get_xlim()[0] < 1 and none_good.get_xlim()[1] > 8
