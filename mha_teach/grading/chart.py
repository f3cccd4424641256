"""Bars as inline SVG that needs no script: it keeps its letters' size at any width, and follows a dark page.

Widths are shares of the page, so a phone gets shorter bars and not smaller letters. Everything that a bar shows stands
in a table as well, and its count beside it; so colour alone tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mha_teach.grading.page import tag, text

_ROW, _BAR, _LONGEST = 44, 18, 44
STYLE = """
svg.chart { display: block; width: 100%; margin: .5rem 0 } svg.chart text { font: 14px system-ui, sans-serif; fill: var(--text) }
svg.chart .in { fill: var(--on); font-size: 12px; text-anchor: middle } svg.chart rect { stroke: var(--page); stroke-width: 2px }
ul.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0 }
ul.legend svg { width: .9rem; height: .9rem; vertical-align: -.1rem; margin-right: .35rem }
.k-right { fill: var(--right) } .k-wrong { fill: var(--wrong) } .k-error { fill: var(--error) } .k-timeout { fill: var(--late) }
.k-none { fill: var(--none) } .k-count { fill: var(--count) }
.s-right { color: var(--right) } .s-wrong { color: var(--wrong) } .s-error { color: var(--error) }
.s-timeout { color: var(--late) } .s-none { color: var(--none) }
"""


@dataclass(frozen=True)
class Bar:
    """A row of a chart: what it is about, and how many of each kind (a key of the style, ``right`` or ``count``)."""

    label: str
    parts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """How many in all."""
        return sum(number for _, number in self.parts)


def chart(id: str, title: str, told: str, bars: list[Bar]) -> str:
    """Bars one below another, each under its label. ``id`` is a word that is used once a page; ``told`` says what is seen."""
    most = max((bar.total for bar in bars), default=0)
    if not most:
        return ""
    rows = [_row(bar, place * _ROW, most) for place, bar in enumerate(bars)]
    head = f'<title id="{id}-title">{text(title)}</title><desc id="{id}-desc">{text(told)}</desc>'
    return (
        f'<svg class="chart" role="img" aria-labelledby="{id}-title {id}-desc" height="{len(bars) * _ROW}">'
        f"{head}{''.join(rows)}</svg>"
    )


def legend(names: Iterable[tuple[str, str]]) -> str:
    """What each kind is called."""
    square = '<svg aria-hidden="true"><rect class="k-{}" width="100%" height="100%"/></svg>'
    return tag("ul", "".join(tag("li", square.format(kind) + text(name)) for kind, name in names), "legend")


def _row(bar: Bar, top: int, most: int) -> str:
    label = bar.label if len(bar.label) <= _LONGEST else f"{bar.label[: _LONGEST - 1]}…"
    parts, left = [f'<text x="0" y="{top + 14}">{text(label)}</text>'], 0.0
    for kind, number in bar.parts:
        if not number:
            continue
        width, low = 90 * number / most, top + 20
        parts.append(
            f'<rect class="k-{kind}" x="{left:.2f}%" y="{low}" width="{width:.2f}%" height="{_BAR}"/>'
        )
        if width > 6 and len(bar.parts) > 1:
            parts.append(f'<text class="in" x="{left + width / 2:.2f}%" y="{low + 13}">{number}</text>')
        left += width
    if len(bar.parts) == 1:
        parts.append(f'<text x="{left + 1:.2f}%" y="{top + 34}">{bar.total}</text>')
    return "".join(parts)
