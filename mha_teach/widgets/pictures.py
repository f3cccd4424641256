"""The pictures that readers without JavaScript see: small SVG, drawn from the same tensors."""

from __future__ import annotations

import math

from mha_teach import theme
from mha_teach.shapes import Bool, Float, Int, Tensor

_FONT = 'font-family="system-ui,sans-serif" font-size="12"'


def _svg(width: int, height: int, body: list[str]) -> str:
    ink, paper = theme.palette()["ink"]["light"], theme.palette()["paper"]["light"]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" {_FONT} '
        f'fill="{ink}"><rect width="{width}" height="{height}" fill="{paper}"/>{"".join(body)}</svg>'
    )


def shade(weight: float) -> str:
    """The colour of a weight between 0 and 1 on the palette's ramp."""
    ramp = [[int(hue[i : i + 2], 16) for i in (1, 3, 5)] for hue in theme.palette()["weights"]]
    place = min(max(weight, 0.0), 1.0) * (len(ramp) - 1)
    low = min(int(place), len(ramp) - 2)
    mixed = (round(a + (place - low) * (b - a)) for a, b in zip(ramp[low], ramp[low + 1], strict=True))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def attention_map(
    weights: Float[Tensor, "query key"], tokens: list[str], targets: Int[Tensor, "role query"]
) -> str:
    """Rows ask, columns answer; ▲ and ● mark the right answers to the two questions."""
    cell, left, top = 30, 84, 84
    body = []
    for i, row in enumerate(weights.tolist()):
        y = top + i * cell
        body.append(f'<text x="{left - 6}" y="{y + 19}" text-anchor="end">{_safe(tokens[i])}</text>')
        for j, weight in enumerate(row):
            x = left + j * cell
            body.append(
                f'<rect x="{x}" y="{y}" width="{cell - 1}" height="{cell - 1}" fill="{shade(weight)}"/>'
            )
    for j, token in enumerate(tokens):
        x = left + j * cell + 19
        body.append(f'<text transform="translate({x} {top - 6}) rotate(-90)">{_safe(token)}</text>')
    style = 'stroke="#fff" stroke-width="1.2"'
    for hue, mark, role in (
        ("value", "M{x} {a}l6 11h-12z", 0),
        ("output", "M{x} {b}m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", 1),
    ):
        for i, j in enumerate(targets[role].tolist()):
            x, y = left + j * cell + 14.5, top + i * cell + 14.5
            path = mark.format(x=x, a=y - 6, b=y)
            body.append(f'<path d="{path}" fill="{theme.role(hue)}" {style}/>')
    size = left + len(tokens) * cell + 8
    return _svg(size, top + len(tokens) * cell + 8, body)


def two_maps(maps: list[Float[Tensor, "query key"]], tokens: list[str], titles: list[str]) -> str:
    """Two maps of one sentence side by side under their titles; rows ask, columns answer."""
    n, cell, left, top = len(tokens), 18, 76, 100
    body = []
    for which, (weights, title) in enumerate(zip(maps, titles, strict=True)):
        x0 = left + which * (n * cell + 24)
        body.append(f'<text x="{x0}" y="16" font-weight="bold">{_safe(title)}</text>')
        for i, row in enumerate(weights.tolist()):
            y = top + i * cell
            if which == 0:
                body.append(f'<text x="{x0 - 6}" y="{y + 13}" text-anchor="end">{_safe(tokens[i])}</text>')
            for j, weight in enumerate(row):
                body.append(
                    f'<rect x="{x0 + j * cell}" y="{y}" width="17" height="17" fill="{shade(weight)}"/>'
                )
        for j, token in enumerate(tokens):
            body.append(
                f'<text transform="translate({x0 + j * cell + 13} {top - 6}) rotate(-90)">{_safe(token)}</text>'
            )
    return _svg(left + 2 * n * cell + 32, top + n * cell + 8, body)


def scores_and_row(scores: Float[Tensor, "query key"], row: Float[Tensor, "*key"]) -> str:
    """Histogram of scores from -6 to 6 against N(0, 1), and one softmax row."""
    edge, bins, height, wide = 6, 48, 150, 300
    bin_width = 2 * edge / bins
    where = ((scores.flatten() + edge) / bin_width).floor().clamp(0, bins - 1).long()
    density = where.bincount(minlength=bins).double() / scores.numel() / bin_width
    hue, ink = theme.role("query"), theme.palette()["ink"]["light"]

    def bar(x: float, width: float, share: float) -> str:
        tall = height * min(share, 1.0)
        return f'<rect x="{x:.1f}" y="{height + 10 - tall:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="{hue}"/>'

    step = wide / bins
    body = [bar(10 + i * step, step - 1, share / 0.45) for i, share in enumerate(density.tolist())]
    curve = []
    for i in range(61):
        x = i / 60 * 2 * edge - edge
        tall = math.exp(-x * x / 2) / math.sqrt(2 * math.pi) / 0.45
        curve.append(f"{10 + i * wide / 60:.1f},{height + 10 - height * tall:.1f}")
    body.append(f'<polyline points="{" ".join(curve)}" fill="none" stroke="{ink}" stroke-width="2"/>')
    for value in (-6, 0, 6):
        x = 10 + (value + edge) / (2 * edge) * wide
        anchor = {-6: "start", 0: "middle", 6: "end"}[value]
        body.append(f'<text x="{x}" y="{height + 26}" text-anchor="{anchor}">{value}</text>')
    step = wide / len(row)
    body += [bar(340 + j * step, step - 1, weight) for j, weight in enumerate(row.tolist())]
    body.append(f'<text x="160" y="{height + 42}" text-anchor="middle">score</text>')
    body.append(f'<text x="490" y="{height + 42}" text-anchor="middle">weight on each key, 0 to 1</text>')
    return _svg(650, height + 52, body)


def plane_and_bars(
    query: Float[Tensor, " 2"], keys: Float[Tensor, "key 2"], weights: Float[Tensor, " key"], words: list[str]
) -> str:
    """The query and the keys as arrows from one point, and a bar for the weight of each key."""
    unit, x0, y0 = 60, 70, 160
    body = []

    def arrow(tip: list[float], name: str, hue: str, stroke: float, below: int) -> None:
        x, y = x0 + unit * tip[0], y0 - unit * tip[1]
        body.append(f'<path d="M{x0} {y0}L{x:.1f} {y:.1f}" stroke="{hue}" stroke-width="{stroke}"/>')
        body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{hue}"/>')
        body.append(f'<text x="{x + 8:.1f}" y="{y + below:.1f}" fill="{hue}">{_safe(name)}</text>')

    arrow(query.tolist(), "query", theme.role("query"), 5, 18)
    for word, key in zip(words, keys.tolist(), strict=True):
        arrow(key, word, theme.role("key"), 2, -6)
    for i, (word, weight) in enumerate(zip(words, weights.tolist(), strict=True)):
        y = 40 + 44 * i
        body.append(f'<text x="330" y="{y + 18}" text-anchor="end">{_safe(word)}</text>')
        body.append(
            f'<rect x="340" y="{y}" width="{200 * weight:.1f}" height="26" fill="{theme.role("value")}"/>'
        )
        body.append(f'<text x="{350 + 200 * weight:.1f}" y="{y + 18}">{weight:.2f}</text>')
    return _svg(600, 200, body)


def mask_and_weights(
    mask: Bool[Tensor, "query key"], weights: Float[Tensor, "query key"], tokens: list[str]
) -> str:
    """The mask and the weights side by side, blocked cells hatched, and beside each row its sum; a row of NaN says so."""
    n, left, top = len(mask), 66, 66
    cell = max(6, min(34, 216 // n))
    side, second = n * cell, left + n * cell + 24
    hue, ink = theme.palette()["weights"], theme.palette()["muted"]["light"]
    body = []
    for i, row in enumerate(mask.tolist()):
        y, total = top + i * cell, float(weights[i].sum())
        middle = y + cell / 2 + 4
        body.append(f'<text x="{left - 6}" y="{middle}" text-anchor="end">{_safe(tokens[i])}</text>')
        for j, look in enumerate(row):
            weight = float(weights[i, j])
            for x, fill in (
                (left, hue[1] if look else hue[0]),
                (second, shade(0.0 if math.isnan(weight) else weight)),
            ):
                x += j * cell
                body.append(
                    f'<rect x="{x}" y="{y}" width="{cell - 1}" height="{cell - 1}" fill="{fill}" stroke="{hue[2]}" stroke-width=".5"/>'
                )
                if not look:
                    a, b, c = cell / 3, 2 * cell / 3, cell - 1
                    lines = f"M{x} {y + a:.1f}L{x + a:.1f} {y}M{x} {y + b:.1f}L{x + b:.1f} {y}M{x} {y + c}L{x + c} {y}M{x + a:.1f} {y + c}L{x + c} {y + a:.1f}"
                    body.append(f'<path d="{lines}" stroke="{ink}" fill="none"/>')
        if math.isnan(total):
            body.append(
                f'<rect x="{second}" y="{y}" width="{side - 1}" height="{cell - 1}" fill="{hue[0]}" stroke="{ink}"/>'
                f'<text x="{second + side / 2}" y="{middle}" text-anchor="middle">NaN</text>'
            )
        said = "NaN" if math.isnan(total) else f"{total:.2f}"
        body.append(f'<text x="{second + side + 8}" y="{middle}">{said}</text>')
    for x, j in ((x, j) for x in (left, second) for j in range(n)):
        at = x + j * cell + cell / 2 + 4
        body.append(f'<text transform="translate({at} {top - 6}) rotate(-90)">{_safe(tokens[j])}</text>')
    body.append(f'<text x="{left}" y="{top + side + 18}">mask, hatched = blocked</text>')
    body.append(f'<text x="{second}" y="{top + side + 18}">weights, and the sum of each row</text>')
    return _svg(second + side + 52, top + side + 28, body)


def lanes(states: list[dict], sizes: tuple[int, int, int, int], titles: list[str]) -> str:
    """Grids of numbered cells beside each other, each cell labelled with its address and coloured by its position.

    ``states``: dicts with ``shape`` and ``ids``, as `lane_tracer.told` makes them; ``sizes``: B, T, h, d_k.
    """
    cell, left, tall, body = 34, 12, 0, []
    _, t, h, d = sizes
    for state, title in zip(states, titles, strict=True):
        *_, rows, columns = state["shape"]
        roles = len(state["ids"]) // math.prod(state["shape"]) if len(state["shape"]) > 3 else 1
        blocks = state["shape"][1] if len(state["shape"]) > 3 else 1
        fused = state["shape"][-1] > h * d or roles > 1
        body.append(f'<text x="{left}" y="16">{_safe(title)}</text>')
        for at, number in enumerate(state["ids"]):
            block, inside = divmod(at, rows * columns)
            band, block = divmod(block, blocks)
            x = left + (block * columns + inside % columns) * cell + 8 * block
            y = 26 + (band * rows + inside // columns) * cell + 8 * band
            rest, head, dim = number // (h * d), number // d % h, number % d
            rest, role = divmod(rest, 3) if fused else (rest, 0)
            hue = theme.series(rest % t)
            body.append(
                f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}" fill="{hue}" fill-opacity=".2" stroke="{hue}"/>'
            )
            sign = f"b{rest // t}t{rest % t}", f"{'QKV'[role] if fused else ''}h{head}c{dim}"
            for line, text in enumerate(sign):
                body.append(f'<text x="{x + 2}" y="{y + 14 + 13 * line}" font-size="11">{text}</text>')
            tall = max(tall, y + cell)
        left += blocks * (columns * cell + 8) + 28
    return _svg(left, tall + 8, body)


def _safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
