"""Every page, in the light and in the dark, wide and narrow: quiet, self-contained, accessible, within the window."""

from __future__ import annotations

import gzip
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [c["file"] for part in TOC["parts"] for c in part["chapters"]]
PAGES = [f"{name}.html" for name in (TOC["root"], *CHAPTERS)] + ["search.html", "genindex.html"]
NOTEBOOKS = [name for name in CHAPTERS if name.startswith("notebooks/")]
WEIGHT_LIMIT = 300_000  # bytes, gzip: what we wrote and what a page carries, without MathJax and the theme


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 320)], ids=["light-1280", "dark-320"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_quiet_self_contained_accessible_and_fits(visit, path, dark, width):
    seen = visit(path, dark=dark, width=width)
    seen.open_details()
    assert seen.page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert seen.overflow() <= 0
    assert seen.axe() == []
    assert seen.foreign == []
    assert seen.complaints == []


@pytest.mark.parametrize(
    ("fault", "noticed_by"),
    [
        ('<img src="https://example.org/x.png" alt="x">', lambda seen: seen.foreign),
        ('<img src="no-such-picture.png" alt="x">', lambda seen: seen.complaints),
        ('<script>throw new Error("planted")</script>', lambda seen: seen.complaints),
        ('<p><button></button></p><img src="../_static/favicon.svg">', lambda seen: seen.axe()),
        ('<p style="color:#bbb;background:#fff">pale words</p>', lambda seen: seen.axe()),
        ('<div style="width:500px;height:9px">wide</div>', lambda seen: seen.overflow() > 0),
    ],
    ids=["foreign", "missing", "script", "axe-name", "axe-contrast", "overflow"],
)
def test_each_guard_can_fail(visit, site, fault, noticed_by):
    page = site.html / "book" / "planted.html"
    page.write_text(
        (site.html / "book" / "notation.html").read_text("utf-8").replace("</article>", fault + "</article>")
    )
    try:
        assert noticed_by(visit("book/planted.html", width=320))
    finally:
        page.unlink()


class _Links(HTMLParser):
    """Collects what a page refers to, and the anchors that it offers."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note href, src and id."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.add(value)


def dead_links(html: Path, pages: list[str]) -> list[str]:
    """Links between files of the site whose file or anchor is missing."""
    parsed: dict[Path, _Links] = {}

    def read(path: Path) -> _Links:
        if path not in parsed:
            parsed[path] = _Links()
            parsed[path].feed(path.read_text("utf-8"))
        return parsed[path]

    dead = []
    for page in pages:
        for link in read(html / page).links:
            target, anchor = urldefrag(urljoin(f"https://site.invalid/{page}", link))
            if urlsplit(target).netloc != "site.invalid" or link.startswith(("data:", "mailto:")):
                continue
            file = html / unquote(urlsplit(target).path).lstrip("/")
            if not file.is_file():
                dead.append(f"{page}: {link}")
            elif anchor and file.suffix == ".html" and anchor not in read(file).ids and anchor != "":
                dead.append(f"{page}: {link} (no such anchor)")
    return dead


def test_links_between_pages_are_alive(site):
    assert dead_links(site.html, PAGES) == []


def test_a_dead_link_is_noticed(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="#here">h</a><p id="there"></p>')
    assert dead_links(tmp_path, ["a.html"]) == ["a.html: b.html", "a.html: #here (no such anchor)"]


def weigh(html: Path, path: str) -> dict[str, int]:
    """Bytes after gzip of a page, and of every script and style sheet of ours that it loads."""
    text = (html / path).read_text("utf-8")
    own = [html / "_static" / name for name in set(re.findall(r"_static/(mha-[\w.-]+)", text))]
    return {file.name: len(gzip.compress(file.read_bytes())) for file in own} | {
        "page": len(gzip.compress(text.encode()))
    }


@pytest.mark.parametrize("path", PAGES)
def test_page_weight(site, path, capsys):
    parts = weigh(site.html, path)
    with capsys.disabled():
        detail = ", ".join(f"{name} {size / 1e3:.1f}" for name, size in sorted(parts.items()))
        print(f"\n  {path}: {sum(parts.values()) / 1e3:.0f} kB gzip ({detail})", end="")
    assert sum(parts.values()) <= WEIGHT_LIMIT


def test_a_heavy_page_is_noticed(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "mha-heavy.js").write_bytes(random.Random(0).randbytes(200_000))
    (tmp_path / "a.html").write_text(
        f'<script src="_static/mha-heavy.js"></script>{random.Random(1).randbytes(100_000).hex()}'
    )
    assert sum(weigh(tmp_path, "a.html").values()) > WEIGHT_LIMIT


def test_nothing_points_to_a_made_up_address(site):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    if config["repository"]["url"]:
        pytest.skip("the repository has an address")
    for path in PAGES:
        text = (site.html / path).read_text("utf-8")
        assert "executablebooks" not in text
        assert "colab.research.google.com/github" not in text
