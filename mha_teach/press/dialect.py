"""The small markdown that the site, JupyterLab and Colab all show, and links that lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mha_teach.press import markdown
from mha_teach.press.notebook import MARKER
from mha_teach.press.problems import Finding
from mha_teach.press.source import Cell, Chapter

RULES = [  # (pattern in prose without code and math, what is wrong, what to do)
    (
        re.compile(r"^:::+ *\{(?!(?:note|tip|warning)\})[^}]*\}", re.MULTILINE),
        "a directive",
        "only note, tip and warning",
    ),
    (re.compile(r"^\([\w-]+\)=", re.MULTILINE), "a MyST label", "link to the heading's anchor"),
    (re.compile(r"^% ", re.MULTILINE), "a MyST comment", "JupyterLab shows it: take it out"),
    (re.compile(r"\[\^[\w-]+\]"), "a footnote", "say it in the text"),
    (
        re.compile(r"^ {0,3}\[[^\]^]+\]: ", re.MULTILINE),
        "a link definition",
        "write the link in its place: [text](target)",
    ),
    (
        re.compile(r"\[[^\]]+\]\[[^\]]*\]"),
        "a link by reference",
        "write the link in its place: [text](target)",
    ),
    (re.compile(r"\\[(\[]"), "math in \\( or \\[", "write $ or $$"),
    (re.compile(r"<(?:https?|mailto):[^>]+>"), "a bare address", "write [text](address)"),
]
DIRECTIVE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})\{(?!code-cell\})[^}\n]*\}", re.MULTILINE)
ROLE = re.compile(r"\{[\w:-]+\}`[^`\n]+`")
TAG = re.compile(r"</?(?P<name>[A-Za-z][\w-]*)(?P<rest>[^<>]*)>")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SUMMARY_MATH = re.compile(r"<summary>[^<]*\$[^<]*</summary>")


def dialect(chapter: Chapter) -> Iterator[Finding]:
    """Whatever in the prose one of the three readers would show as raw text."""
    for cell in chapter.cells:
        if cell.kind == "markdown":
            plain = markdown.blanked(cell.text)
            for at, wrong, cure in [
                *_forms(cell.text, plain),
                *_notes(plain),
                *_html(cell.text, plain),
                *_displays(cell.text),
            ]:
                yield Finding(chapter.name, cell.line + cell.text[:at].count("\n"), wrong, cure)


def _forms(text: str, plain: str) -> Iterator[tuple[int, str, str]]:
    for pattern, wrong, cure in RULES:
        for found in pattern.finditer(plain):
            yield found.start(), f"{wrong}: {text[found.start() : found.end()].strip()}", cure
    for found in DIRECTIVE.finditer(text):
        yield (
            found.start(),
            f"a directive: {found[0].strip()}",
            "JupyterLab and Colab show it raw: use plain markdown",
        )
    for found in ROLE.finditer(text):
        if not plain[found.start()].isspace():
            yield found.start(), f"a role: {found[0]}", "JupyterLab and Colab show it raw: use plain markdown"


def _notes(plain: str) -> Iterator[tuple[int, str, str]]:
    for found in markdown.NOTE.finditer(plain):
        if re.match(r":\w+:", found["body"]):
            yield (
                found.start(),
                "a note with options",
                "JupyterLab and Colab know none: take the :option: line out",
            )
    left = markdown.NOTE.sub(lambda note: re.sub(r"[^\n]", " ", note[0]), plain)
    for found in re.finditer(r"^[ \t]*:::+[ \t]*(\{(?:note|tip|warning)\}.*)?$", left, re.MULTILINE):
        yield (
            found.start(),
            "a note without its other half",
            "open with :::{note}, close with :::, unindented",
        )


def _html(text: str, plain: str) -> Iterator[tuple[int, str, str]]:
    for found in COMMENT.finditer(plain):
        alone = MARKER.search(text, found.start())
        if (
            not alone
            or alone.start() != found.start()
            or text[: found.start()].rstrip(" \t")[-1:] not in ("", "\n")
        ):
            cure = "the only one allowed is <!-- exercise: ID --> alone on its line"
            yield found.start(), "an HTML comment", cure
    for found in TAG.finditer(COMMENT.sub(lambda c: re.sub(r"[^\n]", " ", c[0]), plain)):
        if found["name"] not in ("details", "summary") or found["rest"].strip() not in ("", "open"):
            yield found.start(), f"raw HTML: {found[0]}", "only <details> and <summary>, without attributes"
    for found in SUMMARY_MATH.finditer(text):
        yield found.start(), "math in a <summary>", "the site shows it raw: say it in words"


def _displays(text: str) -> Iterator[tuple[int, str, str]]:
    for found in re.finditer(r"\$\$.*?\$\$", markdown.without_code(text), re.DOTALL):
        before, after = text[: found.start()], text[found.end() :]
        alone = re.search(r"(^|\n[ \t]*\n)[ \t]*$", before) and re.match(r"[ \t]*(\n[ \t]*(\n|$)|$)", after)
        if not alone:
            yield found.start(), "a $$ display inside a paragraph", "leave a blank line before and after it"


Anchors = Callable[[str], set[str] | None]


def links(name: str, cells: list[Cell], root: Path, anchors: Anchors) -> Iterator[Finding]:
    """Links and pictures that lead nowhere. ``anchors`` maps a file of ``book/`` to its anchors, None if missing."""
    for cell in cells:
        plain = markdown.blanked(cell.text) if cell.kind == "markdown" else ""
        for found in markdown.LINK.finditer(plain):
            line = cell.line + plain[: found.start()].count("\n")
            text = cell.text[found.start("text") : found.end("text")].strip()
            target = found["target"]
            if found["image"]:
                yield from _picture(name, line, text, target, root)
            elif not text:
                yield Finding(name, line, f"a link without text: {target}", "say where it leads")
            elif not re.match(r"https?://|mailto:", target):
                yield from _inner(name, line, target, anchors)


def _picture(name: str, line: int, alt: str, target: str, root: Path) -> Iterator[Finding]:
    if not alt:
        yield Finding(name, line, f"a picture without alt text: {target[:40]}", "say in words what it shows")
    if re.match(r"https?://", target):
        yield Finding(
            name, line, f"a picture from elsewhere: {target}", "no request may leave the site: draw it"
        )
    elif not target.startswith("data:") and not (root / "book" / target).is_file():
        yield Finding(name, line, f"no picture book/{target}", "add the file or draw it in a cell")


def _inner(name: str, line: int, target: str, anchors: Anchors) -> Iterator[Finding]:
    path, _, anchor = target.partition("#")
    if path and not path.endswith(".md"):
        cure = "link to a page of the book, or to a full address"
        yield Finding(name, line, f"Colab and the site can't open {target}", cure)
        return
    known = anchors(path or Path(name).name)
    if known is None:
        yield Finding(name, line, f"dead link: no book/{path}", "correct it")
    elif anchor and anchor not in known:
        yield Finding(name, line, f"dead link: no heading #{anchor} in {path or 'this page'}", "correct it")


def slug(title: str) -> str:
    """The anchor that MyST gives a heading (GitHub's rule): its words, without math and marks."""
    shown = re.sub(r"[*`]|\]\([^)]*\)|\[", "", markdown.MATH.sub("", title))
    return re.sub(r"[^\w\- ]", "", shown.lower().replace(" ", "-"))


def anchors_of(texts: list[str]) -> set[str]:
    """Anchors of the headings, down to ###, in the markdown of one page; a repeated title is numbered as MyST does."""
    found: set[str] = set()
    for text in texts:
        for title in re.findall(r"^#{1,3} +(.+?) *#*$", markdown.without_fences(text), re.MULTILINE):
            anchor, count = slug(title), 1
            while anchor in found:
                anchor, count = f"{anchor}-{count}", count + 1
            found.add(anchor)
    return found
