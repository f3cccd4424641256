"""Last touches on the pages that Jupyter Book wrote: lighter, and right about where the repository is."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path

import yaml

from mha_teach.press.address import Address
from mha_teach.press.classroom_figures import classroom_figures
from mha_teach.press.teaching import exercise_list

ICON_SCRIPT = re.compile(r'\s*<script src="[^"]*fontawesome[^"]*"></script>')
COLAB_DOOR = re.compile(r"<!--colab-->(.*?)<!--/colab-->", re.DOTALL)
# A paragraph that is emphasis from end to end: below a cell it is a caption. A style sheet can't see the text around an element.
CAPTION = re.compile(r"<p>(<em>(?:(?!</?em>|</p>).)*</em></p>)", re.DOTALL)
LISTED = re.compile(
    r"<!--(chapters|exercises|classroom)-->.*?<!--/\1-->", re.DOTALL
)  # what the press fills in
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
PROMISE = re.compile(r"^\*([^*].*?)\*(?: ·|$)", re.MULTILINE)  # the byline's first words


def polish(html: Path, address: Address, root: Path) -> None:
    """Edit every page of a built site in place, and drop files that no page asks for."""
    listed = {
        "chapters": chapter_list(root),
        "exercises": exercise_list(root),
        "classroom": classroom_figures(root),
    }

    def touch(text: str) -> str:
        # The theme draws its icons twice, by style sheet and by a script of 1.5 MB; the style sheet is enough.
        text = ICON_SCRIPT.sub("", text)
        text = LISTED.sub(lambda found: listed[found[1]] or found[0], text)
        text = CAPTION.sub(r'<p class="mha-caption">\1', text)
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


def chapter_list(root: Path) -> str:
    """Title and promise of every chapter as list items, in the words of the notebooks themselves."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    names = [c["file"] for part in toc.get("parts", []) for c in part["chapters"]]
    items = []
    for name in names:
        if not name.startswith("notebooks/"):
            continue
        cells = json.loads((root / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        text = "".join(cells[0]["source"])
        title, promise = TITLE.search(text), PROMISE.search(text)
        words = escape(promise[1], quote=False) if promise else ""
        items.append(
            f'<li><a href="../{name}.html">{escape(title[1] if title else name, quote=False)}</a>'
            f"<span>{words}</span></li>"
        )
    return "\n".join(items)


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
