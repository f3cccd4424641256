"""Prose as three readers can show it: the site, JupyterLab and Colab."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Callable
from pathlib import Path

from mha_teach.press.project import SLUG

FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)(?P<rest>[^)]*)\)")
NOTE = re.compile(
    r"^:::\{(?P<kind>note|tip|warning)\}[ \t]*(?P<title>[^\n]*)\n(?P<body>.*?)^:::[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
MATH = re.compile(r"\$\$.*?\$\$|(?<![\\$])\$(?!\s)[^$]*?(?<!\s)\$(?!\d)", re.DOTALL)
CODE_SPAN = re.compile(r"(`+)(?:(?!\1).)+\1", re.DOTALL)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to the stretches of ``text`` that stand in neither a fence nor a code span."""
    out, prose, fence = [], [], ""

    def flush() -> None:
        out.append(_outside_spans("".join(prose), change))
        prose.clear()

    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if fence:
            out.append(line)
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            flush()
            fence = mark[1]
            out.append(line)
        else:
            prose.append(line)
    flush()
    return "".join(out)


def _outside_spans(text: str, change: Callable[[str], str]) -> str:
    out, at = [], 0
    for span in CODE_SPAN.finditer(text):
        out += [change(text[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*out, change(text[at:])])


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def without_fences(text: str) -> str:
    """``text`` with code blocks turned to spaces: same lines, same columns."""
    return FENCED.sub(_blank, text)


def without_code(text: str) -> str:
    """The same without code spans."""
    return CODE_SPAN.sub(_blank, without_fences(text))


def blanked(text: str) -> str:
    """The same without code and math: prose only."""
    return MATH.sub(_blank, without_code(text))


def for_notebook(text: str, root: Path) -> str:
    """Rewrite links, pictures and notes of a chapter so that they hold inside ``notebooks/``."""
    return outside_code(_notes(text), lambda prose: LINK.sub(lambda link: _relink(link, root), prose))


def _notes(text: str) -> str:
    """JupyterLab and Colab show ``:::{note}`` as raw text: give them a quote that the site styles as a note."""

    def quote(note: re.Match[str]) -> str:
        kind, body = note["kind"], note["body"].strip("\n")
        title = note["title"].strip() or kind.capitalize()
        head = f'<p class="admonition-title"><strong>{title}</strong></p>'
        return f'<blockquote class="admonition {kind}">\n{head}\n\n{body}\n\n</blockquote>'

    return NOTE.sub(quote, text)


def _relink(link: re.Match[str], root: Path) -> str:
    target = link["target"]
    if link["image"]:
        new = _embedded(target, root)
    else:
        new = rewritten(target)
    return f"{link['image']}[{link['text']}]({new}{link['rest']})"


def rewritten(target: str) -> str:
    """``01_collapse.md#by-hand`` → ``01_collapse.ipynb#by-hand``; other pages stay in ``book/``."""
    path, mark, anchor = target.partition("#")
    if "://" in target or not path.endswith(".md"):
        return target
    stem = Path(path).stem
    moved = f"{stem}.ipynb" if SLUG.fullmatch(stem) and "/" not in path else f"../book/{path}"
    return moved + mark + anchor


def _embedded(target: str, root: Path) -> str:
    """Colab loads no relative picture, so the picture travels inside the text."""
    path = root / "book" / target
    if "://" in target or target.startswith("data:") or not path.is_file():
        return target
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
