"""The bundle, the block in the page and its picture, as text."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from base64 import b64decode
from html import unescape
from pathlib import Path

import pytest

from mha_teach import theme, widgets
from mha_teach.widgets import HeadSplitter, LaneTracer, Saturation, pictures, static, static_bundle

FOLDER = Path(widgets.__file__).parent
BOTH = (HeadSplitter, Saturation, LaneTracer)


def test_the_bundle_is_one_classic_script_that_asks_for_nothing() -> None:
    text = static_bundle()
    assert not re.search(r"^\s*(import|export)\b", text, re.MULTILINE)
    assert "import(" not in text
    assert {u for u in re.findall(r"https?://[^\s\"')]+", text)} == {"http://www.w3.org/2000/svg"}
    assert text == static_bundle()
    again = [sys.executable, "-c", "import mha_teach.widgets as w; print(w.static_bundle(), end='')"]
    assert subprocess.run(again, capture_output=True, text=True, check=True).stdout == text


def test_the_bundle_needs_no_jupyter() -> None:
    code = "import sys, mha_teach.widgets as w; w.static_bundle(); assert not {'ipywidgets', 'anywidget'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = widgets.Nothing


def test_scripts_and_data_of_a_page_stay_small() -> None:
    page = static_bundle() + HeadSplitter().html() + Saturation().html()
    assert len(gzip.compress(page.encode())) < 60_000  # the limit for all of a page's own scripts is 300 KB


@pytest.mark.parametrize("kind", BOTH)
def test_the_block_holds_its_state_and_a_picture_with_words(kind: type) -> None:
    html = kind().html()
    state = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL).group(1))
    assert state["limits"] == kind.STATIC
    assert {name: state[name] for name in kind.CHOICES} == kind.CHOICES
    svg = b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', html).group(1))
    assert ET.fromstring(svg).tag.endswith("svg")
    assert len(re.search(r'alt="([^"]+)"', html).group(1)) > 60
    assert "<figcaption>" in html
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}|[0-9a-f]{32}|0x[0-9a-f]{6}", html.split("base64,")[0])
    assert "{" not in re.search(r"<figcaption>(.*)</figcaption>", html).group(1)


def test_words_of_a_reader_cannot_break_out_of_the_block() -> None:
    nasty = '</script><b> "x" & <i>'
    html = HeadSplitter(sentence=-1, text=nasty).html()
    assert html.count("</script>") == 1
    assert "<b>" not in html
    alt = unescape(re.search(r'alt="([^"]*)"', html).group(1))
    assert '"x" & <i>' in alt
    svg = b64decode(re.search(r'base64,([^"]*)"', html).group(1))
    assert "</script><b>" in "".join(ET.fromstring(svg).itertext())


def test_the_ramp_of_the_picture_is_the_palettes() -> None:
    ramp = theme.palette()["weights"]
    assert [pictures.shade(i / 4) for i in range(5)] == [hue.lower() for hue in ramp]
    assert pictures.shade(2.0) == ramp[-1].lower()


def test_colours_stand_in_the_palette_alone() -> None:
    for file in [*FOLDER.glob("*.mjs"), *FOLDER.glob("*.css"), *FOLDER.glob("*.py")]:
        found = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", file.read_text(encoding="utf-8")))
        assert found <= {"#fff"}, file.name
    used = {v for f in FOLDER.glob("*.*") for v in re.findall(r"var\((--mha-[a-z]+)\)", f.read_text("utf-8"))}
    assert used
    assert all(f"{name}:" in static.styles() for name in used)


@pytest.mark.parametrize("name", static.NAMES)
def test_every_sentence_of_the_table_is_said_somewhere(name: str) -> None:
    code = "".join(f.read_text("utf-8") for f in FOLDER.glob("*.*") if f.suffix in (".py", ".mjs"))
    unsaid = [key for key in static.words(name) if not re.search(rf"""\.{key}\b|["'`]{key}["'`]""", code)]
    assert unsaid == []


def test_every_host_finds_its_dark_theme() -> None:
    css = static.styles()
    for host in ('html[data-theme="dark"]', 'body[data-jp-theme-light="false"]', 'html[theme="dark"]'):
        assert host in css
    assert theme.palette()["roles"]["query"]["dark"] in css


def test_views_are_short_and_say_their_words_from_the_table() -> None:
    for file in FOLDER.glob("*.mjs"):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= (200 if file.stem in static.NAMES else 250), file.name
    for name in static.NAMES:
        table = static.words(name)
        text = static.core() + static.view(name)
        asked = set(re.findall(r"\bwords\.(\w+)", text))
        known = asked & set(table)
        missing = (
            asked
            - known
            - {"join", "common"}
            - (set(static.words("saturation")) | set(static.words("head_splitter")))
        )
        assert not missing
