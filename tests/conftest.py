"""What several rooms' tests need: the built site, served, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
os.environ.setdefault("OMP_NUM_THREADS", "1")


@dataclass(frozen=True)
class Site:
    """The built site: its address on this machine and the folder that is served there (a copy, free to spoil)."""

    url: str
    html: Path


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """``_build/html``, built if it isn't fresh (one process at a time), copied, and served on a free port."""
    from mha_teach.press.site import ensure_site, listen

    html = tmp_path_factory.mktemp("site") / "html"
    shutil.copytree(ensure_site(ROOT), html)
    with listen(html, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Site(f"http://127.0.0.1:{server.server_address[1]}/", html)
        server.shutdown()


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """A playwright Browser, the system's own Chromium; tests open contexts in it and close them."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("Chromium is missing: install it, on Debian with `sudo apt-get install chromium`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def pytest_terminal_summary(terminalreporter) -> None:
    """Print what a test recorded as its ``summary``: prints of tests that run in several processes are not seen."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "user_properties", ()):
                if name == "summary" and report.when == "call":
                    terminalreporter.write_line(text)
