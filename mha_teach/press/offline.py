"""Pack the site into a zip that works from disk: unpack, double-click ``index.html``, no network and no server."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from mha_teach.press.site import ensure_site

NAME = "mha_teach-offline"
DATE = (2025, 1, 1, 0, 0, 0)  # one date for all, so that the same site gives the same bytes
# A page opened from disk may not preload fonts across origins, nor fetch its neighbours to quote them in results.
FONT_PRELOAD = re.compile(r'\s*<link rel="preload" as="font"[^>]*>')
QUOTES = re.compile(r"SHOW_SEARCH_SUMMARY: *true")


def make_offline(root: Path) -> Path:
    """Write ``_build/mha_teach-offline.zip``, building the site first if it is not fresh; returns its path."""
    html = ensure_site(root)
    target = html.parent / f"{NAME}.zip"
    unfinished = target.with_suffix(".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in html.rglob("*") if p.is_file()):
            name = path.relative_to(html).as_posix()
            entry = zipfile.ZipInfo(f"{NAME}/{name}", DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, for_disk(name, path.read_bytes()))
    unfinished.replace(target)
    size = target.stat().st_size / 1e6
    print(f"offline: {target} ({size:.1f} MB). Unpack it and open {NAME}/index.html", flush=True)
    return target


def for_disk(name: str, data: bytes) -> bytes:
    """The bytes of a site's file as a page under ``file://`` can use it."""
    if name.endswith(".html"):
        return FONT_PRELOAD.sub("", data.decode()).encode()
    if name == "_static/documentation_options.js":
        return QUOTES.sub("SHOW_SEARCH_SUMMARY: false", data.decode()).encode()
    return data
