"""How the browser tests show a widget: on a strict model without a page, or alone on a page of its own."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from mha_teach.widgets import static, static_bundle

PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>A widget</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>html[data-theme="dark"] body {{ background: #14181e; color: #e6e6e6; }}</style></head>
<body><main><h1>A chapter</h1><h2>See it</h2>{block}</main><script>{script}</script></body></html>"""
# Tells the page how to mount a view on a strict model, and keeps what the view did to it.
STRICT = """async ([module, state]) => {
  const { default: view, compute } = await import(module);
  const listeners = {}, log = [];
  const known = (name) => { if (!(name in state)) throw new Error(`unknown trait ${name}`); };
  const emit = (name) => (listeners[`change:${name}`] || []).slice().forEach((act) => act());
  const model = {
    get: (name) => { known(name); return structuredClone(state[name]); },
    set: (name, value) => { known(name); log.push([name, value]); state[name] = value; emit(name); },
    save_changes: () => { state.result = compute(state, state.words); emit("result"); },
    on: (event, act) => { known(event.replace("change:", "")); (listeners[event] ||= []).push(act); },
    off: (event, act) => { listeners[event] = listeners[event].filter((other) => other !== act); },
  };
  state.result = compute(state, state.words);
  const box = document.createElement("div");
  document.querySelector("main").replaceChildren(box);
  const leave = view.render({ model, el: box });
  window.probe = {
    log, model, leave, text: () => box.innerText, empty: () => box.childElementCount === 0,
    listening: () => Object.values(listeners).reduce((sum, acts) => sum + acts.length, 0),
    say: (message) => { state.message = message; emit("message"); },
  };
}"""


class Watched:
    """A page of its own context, with everything that went wrong on it."""

    def __init__(self, page: object) -> None:
        self.page, self.errors, self.foreign = page, [], []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        page.on("request", lambda r: self._ours(r.url) or self.foreign.append(r.url))

    @staticmethod
    def _ours(url: str) -> bool:
        return url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:"))


def write_page(file: Path, block: str, theme: str = "light") -> str:
    """A page that holds one widget's block and the script; returns its address."""
    file.write_text(PAGE.format(theme=theme, block=block, script=static_bundle()), encoding="utf-8")
    return file.as_uri()


def mounted(watched: Watched, tmp_path: Path, widget: object, theme: str = "light") -> object:
    """A page with the widget alone, alive."""
    watched.page.goto(write_page(tmp_path / "page.html", widget.html(), theme))
    watched.page.wait_for_selector("[data-alive]")
    return watched.page


def open_tables(page: object) -> list:
    """Open every table of numbers; returns their buttons, which have another name from then on."""
    shut = page.locator("button[aria-expanded=false]").filter(has_text="Show the numbers")
    buttons = [button for button in shut.element_handles() if button.is_visible()]
    for button in buttons:
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
    return buttons


def on_strict_model(page: object, kind: type, script: str = STRICT, **changes: object) -> object:
    """The view of ``kind`` in the page's ``main``, on a model that throws on an unknown trait."""
    state = {**kind.CHOICES, "words": static.words(kind.NAME), "limits": kind.STATIC}
    state |= {"message": {}, "devices": [], "device": "", "result": {}, **changes}
    page.add_style_tag(content=static.styles())
    module = "data:text/javascript;charset=utf-8," + quote(static.esm(kind.NAME))
    page.evaluate(script, [module, json.loads(json.dumps(state))])
    return page


def drawn_before_it_is_shown(page: object, kind: type) -> None:
    """The view is rendered into a box that joins the page later; its canvas must end with more than ten colours."""
    late = STRICT.replace("replaceChildren(box)", "replaceChildren()")
    late = late.replace("window.probe", "window.box = box; window.probe")
    on_strict_model(page, kind, late)
    page.evaluate("document.querySelector('main').append(box)")
    page.wait_for_function("""() => {
      const canvas = document.querySelector("main canvas"), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 4).join())).size > 10;
    }""")


def bare(watched: Watched) -> object:
    """A page without any script."""
    watched.page.goto("about:blank")
    watched.page.set_content(PAGE.format(theme="light", block="", script=""))
    return watched.page


def told(page: object) -> str:
    """What the widget says in words."""
    return page.locator(".mha-tell").inner_text()
