"""A plain page: everything escaped, no script, no link to anywhere, readable without its few colours."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #222; --line: #ddd; --good: #1b6e3c; --bad: #9a2222; --note: #f4f0e4;
--alarm: #fbe3e3; --link: #1a4f8a; --on: #fff; --right: #1b6e3c; --wrong: #a35200; --error: #9a2222; --late: #6b3fa0;
--none: #6b6b6b; --count: #3f6685 }
@media (prefers-color-scheme: dark) { :root { --page: #1b1d20; --text: #e6e6e6; --line: #454a50; --good: #7fcf9b; --bad: #f5a3a3;
--note: #3a3524; --alarm: #4a2525; --link: #9cc4f0; --on: #111; --right: #7fcf9b; --wrong: #f0b060; --error: #f09a9a; --late: #c9a7f0;
--none: #a8a8a8; --count: #8db9dc } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: var(--text);
background: var(--page); overflow-wrap: anywhere } a { color: var(--link) } h1, h2 { line-height: 1.25 }
.table { overflow-x: auto; overflow-wrap: normal } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top; border-bottom: 1px solid var(--line) }
td { min-width: 4.5rem } td:first-child { min-width: 9rem } td.number, th.number { text-align: right; white-space: nowrap; min-width: 0 }
section { border-top: 2px solid var(--line); margin-top: 1.5rem } .passed { color: var(--good) }
.failed, .error, .timeout { color: var(--bad) } .note { background: var(--note); padding: .25rem .75rem }
.warning { background: var(--alarm); padding: .5rem .75rem }
"""
_HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style></head>\n<body><main>\n'
)


def text(value: object) -> str:
    """Any text, made safe: escaped, and without control characters that turn or hide what is read."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "�" for c in str(value))
    return escape(shown)


def tag(name: str, inner: str, kind: str = "") -> str:
    """An element; ``inner`` is HTML already."""
    attribute = f' class="{escape(kind)}"' if kind else ""
    return f"<{name}{attribute}>{inner}</{name}>"


def table(
    head: Iterable[str], rows: Iterable[Iterable[str]], numbers: Iterable[int] = (), name: str = "Table"
) -> str:
    """A table with a row of headings; cells are HTML already. ``numbers`` are the columns set to the right.

    What is too wide for the window is moved sideways, also by the keyboard; ``name`` is what a screen reader calls it.
    """
    right = set(numbers)

    def line(cells: Iterable[str], name: str) -> str:
        found = (tag(name, c, "number" if i in right else "") for i, c in enumerate(cells))
        return f"<tr>{''.join(found)}</tr>"

    whole = f"<table>\n{line(head, 'th')}\n" + "\n".join(line(row, "td") for row in rows) + "\n</table>"
    return f'<div class="table" role="region" tabindex="0" aria-label="{escape(name)}">{whole}</div>'


def write(path: Path, title: str, parts: Iterable[str], style: str = "") -> None:
    """Write the page with its title as heading; ``style`` is added to that of all pages."""
    head = _HEAD.format(title=text(title), style=_STYLE + style)
    body = "\n".join([tag("h1", text(title)), *parts])
    path.write_text(f"{head}{body}\n</main></body></html>\n", encoding="utf-8")
