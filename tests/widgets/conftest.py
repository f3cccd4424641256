"""A page of its own for the widgets, so that their tests need no built book."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from mounting import Watched

from mha_teach.widgets import HeadSplitter, Saturation, static_bundle

PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Widgets</title><link rel="icon" href="data:,">
<style>html[data-theme="dark"] body {{ background: #14181e; color: #e6e6e6; }}</style></head>
<body><main><h1>A chapter</h1><h2>See it</h2>{blocks}</main><script defer src="mha-widgets.js"></script></body></html>"""
BROKEN = '<div class="mha-widget" data-widget="{name}" id="{id}"><script type="application/json">{data}</script><p>a picture</p></div>'


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """page.html with both widgets, broken.html with blocks that can't be read, and the script."""
    made = tmp_path_factory.mktemp("page")
    good = HeadSplitter().html() + Saturation().html()
    bad = [
        ("head_splitter", "cut", '{"num_heads": 1,'),
        ("unknown", "unknown", "{}"),
        ("saturation", "empty", "{}"),
        ("saturation", "nan", '{"d_k": NaN}'),
    ]
    broken = "".join(BROKEN.format(name=name, id=i, data=data) for name, i, data in bad)
    (made / "page.html").write_text(PAGE.format(blocks=good), encoding="utf-8")
    (made / "broken.html").write_text(PAGE.format(blocks=broken + good), encoding="utf-8")
    (made / "mha-widgets.js").write_text(static_bundle(), encoding="utf-8")
    return made


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    """Where the folder is served."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture
def watched(chromium: object) -> Iterator[Watched]:
    """A page whose errors and foreign requests fail the test."""
    context = chromium.new_context(viewport={"width": 900, "height": 1000})
    context.set_default_timeout(8000)
    made = Watched(context.new_page())
    yield made
    context.close()
    assert made.errors == []
    assert made.foreign == []
