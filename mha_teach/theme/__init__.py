"""One palette for matplotlib, CSS and JavaScript: query, key, value and output keep their hue everywhere.

``palette.json`` is the only place where a colour is written down.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def palette() -> dict:
    """The palette as written in ``palette.json``."""
    return json.loads(resources.files(__name__).joinpath("palette.json").read_text(encoding="utf-8"))


def role(name: str) -> str:
    """The hue of ``"query"``, ``"key"``, ``"value"`` or ``"output"`` on white paper."""
    return palette()["roles"][name]["light"]


def series(index: int) -> str:
    """A hue for the index-th line of a plot; six differ, then they repeat."""
    hues = palette()["series"]
    return hues[index % len(hues)]


def css_variables() -> str:
    """Custom properties ``--mha-query`` and so on, for the light and the dark theme of the site."""
    named = {
        **palette()["roles"],
        **{n: palette()[n] for n in ("ink", "muted", "paper", "accent", "good", "bad")},
    }
    ramps = "".join(
        f"--mha-{ramp}-{i}:{hue};" for ramp in ("weights", "scores") for i, hue in enumerate(palette()[ramp])
    )

    def block(selector: str, shade: str) -> str:
        return selector + "{" + "".join(f"--mha-{n}:{c[shade]};" for n, c in named.items()) + "}"

    return f":root{{{ramps}}}" + block(":root", "light") + block('html[data-theme="dark"]', "dark")
