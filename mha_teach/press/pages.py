"""Last touches on the pages that Jupyter Book wrote: lighter, and right about where the repository is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path

from mha_teach.press.address import Address

ICON_SCRIPT = re.compile(r'\s*<script src="[^"]*fontawesome[^"]*"></script>')
COLAB_DOOR = re.compile(r"<!--colab-->(.*?)<!--/colab-->", re.DOTALL)


def polish(html: Path, address: Address) -> None:
    """Edit every page of a built site in place, and drop files that no page asks for."""

    def touch(text: str) -> str:
        # The theme draws its icons twice, by style sheet and by a script of 1.5 MB; the style sheet is enough.
        text = ICON_SCRIPT.sub("", text)
        return COLAB_DOOR.sub(lambda found: colab_door(address) or found[1], text)

    rewrite(html, touch)
    for useless in [*html.glob("_static/vendor/fontawesome/*/js"), html / "_static" / "locales"]:
        shutil.rmtree(useless, ignore_errors=True)
    for map_file in html.rglob("*.map"):
        map_file.unlink()
    (html / ".nojekyll").touch()  # else GitHub Pages hides the folders that begin with an underscore


def rewrite(html: Path, edit: Callable[[str], str]) -> None:
    """Apply ``edit`` to the text of every page."""
    for page in html.rglob("*.html"):
        before = page.read_text(encoding="utf-8")
        after = edit(before)
        if after != before:
            page.write_text(after, encoding="utf-8")


def colab_door(address: Address) -> str:
    """What the landing page says about Colab once the repository is public; empty while it isn't."""
    link = address.colab("00_attention")
    if not link:
        return ""
    return (
        "<p>Every chapter is a notebook that opens in Colab with one click. "
        "Its first cell installs the package.</p>\n"
        f'<p class="mha-go"><a href="{escape(link)}">Open chapter 00 in Colab</a></p>'
    )
