"""A plain page: everything escaped, no script, no link to anywhere, readable without its few colours."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top }
td, th { border-bottom: 1px solid #ddd } td.number, th.number { text-align: right; white-space: nowrap }
section { border-top: 2px solid #ddd; margin-top: 1.5rem } .passed { color: #1b6e3c } .failed, .error, .timeout { color: #9a2222 }
.note { background: #f4f0e4; padding: .25rem .75rem } .warning { background: #fbe3e3; padding: .5rem .75rem }
.bar { display: inline-block; height: .7rem; background: #47708f } code { background: #f3f3f3 }
"""
_HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style></head>\n<body>\n'
)


def text(value: object) -> str:
    """Any text, made safe: escaped, and without control characters that turn or hide what is read."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "�" for c in str(value))
    return escape(shown)


def tag(name: str, inner: str, kind: str = "") -> str:
    """An element; ``inner`` is HTML already."""
    attribute = f' class="{escape(kind)}"' if kind else ""
    return f"<{name}{attribute}>{inner}</{name}>"


def table(head: Iterable[str], rows: Iterable[Iterable[str]], numbers: Iterable[int] = ()) -> str:
    """A table with a row of headings; cells are HTML already. ``numbers`` are the columns set to the right."""
    right = set(numbers)

    def line(cells: Iterable[str], name: str) -> str:
        return (
            "<tr>"
            + "".join(tag(name, c, "number" if i in right else "") for i, c in enumerate(cells))
            + "</tr>"
        )

    return f"<table>\n{line(head, 'th')}\n" + "\n".join(line(row, "td") for row in rows) + "\n</table>"


def write(path: Path, title: str, parts: Iterable[str]) -> None:
    """Write the page with its title as heading."""
    head = _HEAD.format(title=text(title), style=_STYLE)
    body = "\n".join([tag("h1", text(title)), *parts])
    path.write_text(f"{head}{body}\n</body></html>\n", encoding="utf-8")
