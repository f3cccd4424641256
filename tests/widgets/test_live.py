"""Python's side: choices, refusals, results, and what a notebook stores."""

from __future__ import annotations

import json
import math

import pytest
import torch

from mha_teach import attention, scaling
from mha_teach.widgets import HeadSplitter, Saturation, head_splitter, saturation
from mha_teach.widgets.draws import normals

BOTH = (HeadSplitter, Saturation)
BAD = [
    (HeadSplitter, "num_heads", 3, "1, 2, 4, 8, 16, 32, 64"),
    (HeadSplitter, "num_heads", 10**9, "from 1 to 64"),
    (HeadSplitter, "num_heads", math.nan, "from 1 to 64"),
    (HeadSplitter, "num_heads", "four", "from 1 to 64"),
    (HeadSplitter, "num_heads", [2], "from 1 to 64"),
    (HeadSplitter, "num_heads", True, "from 1 to 64"),
    (HeadSplitter, "d_k", 1025, "from 1 to 1024"),
    (HeadSplitter, "tied", "yes", "True, False"),
    (HeadSplitter, "sentence", 3, "from -1 to 2"),
    (HeadSplitter, "seed", -1, "from 0 to 9999"),
    (HeadSplitter, "device", "abacus", "cpu"),
    (Saturation, "d_k", 0, "from 1 to 1024"),
    (Saturation, "d_k", 1.5, "whole number"),
    (Saturation, "scale", "sqrt", "sqrt_d_model"),
    (Saturation, "scale", None, "sqrt_d_model"),
    (Saturation, "correlation", math.inf, "from 0 to 1"),
    (Saturation, "n", 257, "from 2 to 256"),
]


def array(widget: object, name: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(widget.result[name]), dtype=torch.float32)


@pytest.mark.parametrize(("kind", "name", "value", "allowed"), BAD)
def test_bad_input_is_refused_in_words_and_the_last_good_picture_stays(
    kind: type, name: str, value: object, allowed: str
) -> None:
    widget = kind()
    before, picture = getattr(widget, name), widget.result
    setattr(widget, name, value)
    assert getattr(widget, name) == before
    assert widget.result is picture
    assert widget.message["field"] == name
    assert allowed in widget.message["text"]
    widget.seed = 5
    assert widget.message == {}
    assert kind(**{name: value}).choices() == kind().choices()  # also when the widget is made with it
    json.dumps(widget.message, allow_nan=False)


def test_two_traits_that_are_right_only_together_are_taken_together() -> None:
    widget = HeadSplitter()
    widget.set_state({"num_heads": 3, "tied": False, "d_k": 7})
    assert (widget.result["h"], widget.result["d_k"], widget.message) == (3, 7, {})
    widget.tied = True  # 3 does not divide 64
    assert widget.tied is False
    assert "1, 2, 4" in widget.message["text"]


@pytest.mark.parametrize("kind", BOTH)
def test_one_message_with_several_traits_is_computed_once(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget, calls, compute = kind(), [], kind.compute
    monkeypatch.setattr(kind, "compute", staticmethod(lambda *given: calls.append(1) or compute(*given)))
    widget.set_state({"seed": 3, "query": 2, "d_k": 5})
    assert len(calls) == 1
    widget.seed = 3
    assert len(calls) == 1  # nothing changed


@pytest.mark.parametrize("kind", BOTH)
def test_a_device_that_fails_says_so_and_the_picture_stays(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> dict:
        raise torch.OutOfMemoryError("out of memory\nmany lines")

    widget, compute = kind(), kind.compute
    picture = widget.result
    monkeypatch.setattr(kind, "compute", staticmethod(fail))
    widget.seed = 2
    assert widget.result is picture
    assert widget.message["text"].startswith("cpu could not compute this: out of memory. Choose")
    monkeypatch.setattr(kind, "compute", staticmethod(compute))
    widget.seed = 3
    assert widget.message == {}
    assert widget.result is not picture


def test_the_maps_are_softmax_rows_of_the_heads() -> None:
    widget = HeadSplitter(num_heads=4, sentence=1, seed=7)
    n, maps = widget.result["n"], array(widget, "maps").view(4, 9, 9)
    torch.testing.assert_close(maps.sum(-1), torch.ones(4, n))
    _, targets = head_splitter.sentence_of(widget.choices())
    queries, keys = head_splitter.embed(targets, 7)
    q, k = queries[1, :, 16:], keys[1, :, 16:]  # head 4 holds the second half of question 2
    want = torch.softmax(q @ k.T / 4, -1)
    torch.testing.assert_close(maps[3].double(), want, atol=1e-6, rtol=0)


def test_an_odd_inner_width_is_cut_without_loss() -> None:
    x = torch.arange(2 * 1 * 32.0).view(2, 1, 32)
    inner = head_splitter.cut(x, 3, 5).flatten().tolist()
    assert inner == [*range(8), *range(32, 39)]
    wide = head_splitter.cut(x, 2, 37)[0, 0].tolist()
    assert wide == [*range(32), *range(5)]  # beyond 32 numbers they repeat


def test_heads_that_carry_a_question_share_its_answer() -> None:
    want = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], dtype=torch.float64)
    torch.testing.assert_close(head_splitter.served(3, 5), want)
    assert head_splitter.served(1, 1).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("kind", ("none", "sqrt_d_k", "d_k", "sqrt_d_model"))
def test_saturation_shows_what_the_chapter_computes(kind: str) -> None:
    choices = Saturation.CHOICES | {"d_k": 37, "scale": kind, "correlation": 0.3, "n": 11}
    found = Saturation.compute(choices, dtype=torch.float64)
    q, k = saturation.draw(11, 37, 0.3, 0)
    scale = scaling.score_scale(kind, 37, 1024)
    rows = scaling.saturation(q, k, scale)
    _, weights = attention.attend(q, k, k, scale=scale)
    torch.testing.assert_close(found["weights"], weights)
    for name in ("max_weight", "entropy", "to_scores", "to_query"):
        assert found["now"][name] == pytest.approx(float(getattr(rows, name).mean()), rel=1e-9)


def test_the_largest_sizes_work() -> None:
    widget = HeadSplitter(num_heads=64, sentence=-1, text="word " * 256)
    assert widget.result["coarse"]
    assert len(widget.result["maps"]) == 64 * 256 * 256
    assert HeadSplitter(num_heads=64, tied=False, d_k=1024).result["d_k"] == 1024
    assert Saturation(n=256, d_k=1024).result["now"]["dead"] > 100


def test_draws_are_normal_independent_and_do_not_depend_on_their_number() -> None:
    x = normals(1, 4, 40009)
    assert abs(float(x.mean())) < 0.02
    assert abs(float(x.var()) - 1) < 0.03
    assert abs(float((x**4).mean()) - 3) < 0.2
    for shift in (1, 2, 17):
        assert abs(float((x[shift:] * x[:-shift]).mean())) < 0.02
    for other in (normals(1, 5, 40009), normals(2, 4, 40009)):
        assert abs(float((x * other).mean())) < 0.02
    assert torch.equal(normals(1, 4, 31, start=8), x[8:39])


@pytest.mark.parametrize("kind", BOTH)
def test_the_mime_bundle_serves_live_and_static_hosts_and_is_the_same_every_time(kind: type) -> None:
    data, _ = kind()._repr_mimebundle_()
    again, _ = kind()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"] == again["text/html"]
    assert data["text/plain"] == again["text/plain"]
    assert kind()._view_module == "anywidget"
    assert repr(kind()).startswith(f"{kind.__name__}(")
    assert " at 0x" not in repr(kind())
    assert kind().model_id not in data["text/html"]


@pytest.mark.parametrize("kind", BOTH)
def test_all_that_the_view_asks_for_is_synced(kind: type) -> None:
    synced = set(kind().traits(sync=True))
    assert {*kind.CHOICES, "words", "limits", "devices", "device", "message", "result"} <= synced
    assert kind().device in kind().devices


def test_a_state_that_the_page_cannot_show_is_replaced_by_the_default() -> None:
    assert '"d_k":64' in HeadSplitter(tied=False, d_k=1024).html()
    assert '"n":32' in Saturation(n=256).html()
    assert '"n":8' in Saturation(n=8).html()
