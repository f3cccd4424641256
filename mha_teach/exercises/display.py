"""A verdict as plain text and as HTML that needs no script, no kernel and no style sheet to be read."""

from __future__ import annotations

import re
from html import escape

from mha_teach.exercises.verdict import PointResult, Verdict
from mha_teach.exercises.wording import say

_MARK = {"passed": "✓", "failed": "✗", "error": "✗", "timeout": "✗", "not run": "·"}


_SIGNS = {
    "cdot": "·",
    "times": "×",
    "sum": "Σ",
    "partial": "∂",
    "delta": "δ",
    "rho": "ρ",
    "sigma": "σ",
    "sqrt": "√",
    "infty": "∞",
    "ne": "≠",
    "le": "≤",
    "ge": "≥",
    "to": "→",
    "ln": "ln ",
    "log": "log ",
}


def plain(markdown: str) -> str:
    """Markdown of a hint with its TeX in ordinary signs: a verdict is read where nothing sets mathematics."""

    def tex(match: re.Match) -> str:
        found = re.sub(r"\\(?:text|mathrm|mathbf)\{([^{}]*)\}", r"\1", match[1])
        found = re.sub(r"\\frac\s*(\d)\s*(\d)", r"\1/\2", found)
        found = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)", found)
        found = re.sub(r"\\[,;:! ]", " ", found)
        found = re.sub(r"\\([a-z]+)", lambda command: _SIGNS.get(command[1], command[1]), found)
        found = re.sub(r"√\{(\w+)\}", r"√\1", found).replace("√{", "√(")
        found = re.sub(r"([_^])\{(\w+)\}", r"\1\2", found).replace("{", "(").replace("}", ")")
        found = re.sub(r"(∂) |(ln|log) (?=\()", lambda m: m[1] or m[2], found)
        return found.replace("^2", "²").replace("^3", "³").replace("^4", "⁴")

    return re.sub(r"\$([^$`]+)\$", tex, markdown)


def coded(escaped: str) -> str:
    """Escaped HTML with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)


def headline(verdict: Verdict) -> str:
    """The first sentence: what the status means, and how many points passed."""
    passed = sum(point.status == "passed" for point in verdict.points)
    count = f" ({passed}/{len(verdict.points)})" if verdict.points else ""
    return say(verdict.status, seconds=verdict.seconds) + count


def text(verdict: Verdict) -> str:
    """Plain text, a line for each thing there is to say."""
    lines = [f"{verdict.exercise}: {headline(verdict)}"]
    if verdict.status != "not attempted":
        lines += [
            f"  {_MARK[point.status]} {point.name}" + (f" ({point.message})" if point.waits else "")
            for point in verdict.points
        ]
    if point := first_failed(verdict):
        lines += [f"  {part}" for part in _explained(point)]
    if verdict.diagnosis:
        lines.append("  " + say("diagnosis", name=verdict.diagnosis, words=verdict.words).rstrip())
    lines += [f"  {note}" for note in verdict.notes]
    if verdict.hint:
        lines.append("  " + say("hint", hint=plain(verdict.hint)))
    if verdict.progress:
        lines.append("  " + verdict.progress)
    return "\n".join(lines)


def html(verdict: Verdict) -> str:
    """The same as HTML: no ids, no scripts, everything escaped; the site's style sheet colours it by class."""
    state = verdict.status.replace(" ", "-")
    parts = [
        f'<p class="mha-headline"><strong>{escape(verdict.exercise)}</strong>: {escape(headline(verdict))}</p>'
    ]
    if verdict.points and verdict.status != "not attempted":
        items = "".join(
            f'<li class="mha-point mha-{point.status.replace(" ", "-")}">'
            f'<span aria-hidden="true">{_MARK[point.status]}</span> {escape(point.name)} '
            f'<span class="mha-state">({escape(_state(point))})</span></li>'
            for point in verdict.points
        )
        parts.append(f'<ul class="mha-points">{items}</ul>')
    if point := first_failed(verdict):
        sentence, *rest = _explained(point)
        parts.append(f'<p class="mha-message">{escape(sentence)}</p>')
        parts += [f'<pre class="mha-detail">{escape(line)}</pre>' for line in rest]
    if verdict.diagnosis:
        words = say("diagnosis", name=verdict.diagnosis, words=verdict.words).rstrip()
        parts.append(f'<p class="mha-diagnosis">{escape(words)}</p>')
    parts += [f'<p class="mha-note">{escape(note)}</p>' for note in verdict.notes]
    if verdict.hint:
        parts.append(f'<p class="mha-hint">{coded(escape(plain(say("hint", hint=verdict.hint))))}</p>')
    if verdict.progress:
        parts.append(f'<p class="mha-note">{escape(verdict.progress)}</p>')
    return f'<div class="mha-verdict mha-{state}">{"".join(parts)}</div>'


def _state(point: PointResult) -> str:
    if point.waits:
        return point.message
    return say(point.status if point.status in ("passed", "not run") else "failed")


def first_failed(verdict: Verdict) -> PointResult | None:
    """The first point that an answer does not pass."""
    failing = (point for point in verdict.points if point.status in ("failed", "error", "timeout"))
    return None if verdict.status == "not attempted" else next(failing, None)


def _explained(point: PointResult) -> list[str]:
    lines = [f"{point.name}: {point.message}"]
    if point.difference:
        lines.append(point.difference)
    pairs = ((say("expected"), point.expected), (say("got"), point.got))
    if numbers := "   ".join(f"{name}: {value}" for name, value in pairs if value):
        lines.append(numbers)
    if point.inputs:
        lines.append(f"{say('inputs')}: {point.inputs}")
    if point.line:
        lines.append(point.line)
    return lines
