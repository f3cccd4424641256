"""Widgets without a kernel: the text of the views, one script for every page, and the block that it brings to life."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from importlib import resources

from mha_teach import theme

NAMES = ("look_up", "head_splitter", "saturation", "lane_tracer", "mask_composer", "head_gallery")
# Where each host says that the reader has chosen a dark theme: the site, JupyterLab, Colab.
_DARK = 'html[data-theme="dark"]'
_ALSO_DARK = ('body[data-jp-theme-light="false"]', 'html[theme="dark"]')


def _read(file: str) -> str:
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")


@cache
def words(name: str) -> dict:
    """Every sentence that a widget says, with those common to all: the one place to translate."""
    table = json.loads(_read("words.json"))
    return {**table["common"], **table[name]}


@cache
def core() -> str:
    """The module text that stands in front of every view."""
    return _read("core.mjs") + _read("desk.mjs")


@cache
def view(name: str) -> str:
    """A view with its arithmetic, without ``core``."""
    return _read(f"{name}_math.mjs") + _read(f"{name}.mjs")


@cache
def esm(name: str) -> str:
    """The whole ES module of a widget: a blob URL can't import, so it carries all it needs."""
    return core() + view(name)


@cache
def styles() -> str:
    """The style sheet, with the palette for the light and the dark theme of every host."""
    dark = ",".join((_DARK, *_ALSO_DARK))
    # A heat map stays light in the dark theme, and so do the marks on it.
    light = {name: hue["light"] for name, hue in theme.palette()["roles"].items()}
    light["bad"] = theme.palette()["bad"]["light"]
    marks = "".join(f"--mha-{name}:{hue};" for name, hue in light.items())
    return f"{theme.css_variables().replace(_DARK, dark)}.mha-square{{{marks}}}\n{_read('style.css')}"


def static_bundle() -> str:
    """One classic script that mounts every ``div.mha-widget[data-widget]`` of the page that loads it.

    It works over http and from disk, asks for no other file, and leaves the picture in place where something fails.
    """
    modules = "\n".join(
        f"views.{name} = (() => {{\n{_classic(view(name))}\nreturn {{ ...main, compute }};\n}})();"
        for name in NAMES
    )
    table = json.dumps(json.loads(_read("words.json")), ensure_ascii=False, separators=(",", ":"))
    return "\n".join(
        [
            '(() => {\n"use strict";\nconst views = {};',
            f"const sayings = {table};",
            f"const sheet = {json.dumps(styles())};",
            _classic(core()),
            modules,
            _classic(_read("host.mjs")),
            """const start = () => {
  document.head.append(make("style", { id: "mha-widget-style" }, sheet));
  for (const block of document.querySelectorAll("div.mha-widget[data-widget]")) mount(block, views, sayings);
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
})();
""",
        ]
    )


def _classic(text: str) -> str:
    text = re.sub(r"^export default ", "const main = ", text, flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def block(name: str, state: dict, svg: str, alt: str, caption: str) -> str:
    """The HTML of one widget: its state as JSON, and for readers without JavaScript a picture with its caption."""
    data = json.dumps(state, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c")  # else a sentence could close the script
    picture = base64.b64encode(svg.encode()).decode()
    return (
        f'<div class="mha-widget" data-widget="{name}">'
        f'<script type="application/json">{data}</script>'
        f'<figure><img alt="{_quoted(alt)}" src="data:image/svg+xml;base64,{picture}" style="max-width:100%">'
        f"<figcaption>{_quoted(caption)} {_quoted(words(name)['fallback'])}</figcaption></figure></div>"
    )


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
