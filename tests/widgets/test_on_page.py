"""The widgets on the pages of the built book: alive, moved by mouse and keyboard, and without a foreign request."""

from __future__ import annotations

from pathlib import Path

import pytest

PLACES = (
    ("look_up", "00_attention", "angle"),
    ("head_splitter", "01_collapse", "num_heads"),
    ("saturation", "02_scaling", "d_k"),
    ("lane_tracer", "03_reshaping", "step"),
    ("mask_composer", "04_masking", "n"),
    ("head_gallery", "06_specialisation", "layer"),
)
FOCUS = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  return [at.tagName, at.name || at.getAttribute("aria-label") || at.textContent, style.outlineStyle, parseFloat(style.outlineWidth)];
}"""


@pytest.mark.parametrize(("name", "slug", "field"), PLACES)
def test_a_reader_moves_the_widget_of_the_chapter(
    site: object, chromium: object, tmp_path: Path, name: str, slug: str, field: str
) -> None:
    found = sorted(site.html.rglob(f"*{slug}.html"))
    assert found, f"the built site has no page of {slug}"
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(15_000)
    page = context.new_page()
    errors: list[str] = []
    foreign: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: m.type == "error" and errors.append(m.text))
    page.on("request", lambda r: r.url.startswith((site.url, "data:", "blob:")) or foreign.append(r.url))
    page.goto(site.url + found[0].relative_to(site.html).as_posix())
    widget = page.locator(f"div.mha-widget[data-widget={name}][data-alive]").first
    slider, box = widget.locator("input[type=range]").first, widget.locator(f"input[name={field}]")
    told, start = widget.locator(".mha-tell"), box.input_value()
    before = told.inner_text()

    slider.scroll_into_view_if_needed()
    still = widget.screenshot()
    where = slider.bounding_box()
    y = where["y"] + where["height"] / 2
    page.mouse.move(where["x"] + 8, y)
    page.mouse.down()
    page.mouse.move(where["x"] + 0.7 * where["width"], y, steps=5)
    page.mouse.up()
    dragged = box.input_value()
    assert widget.screenshot(path=tmp_path / f"{name}.png") != still
    assert dragged != start
    assert told.inner_text() != before
    slider.press("ArrowRight")
    assert box.input_value() != dragged
    assert page.locator("script[src*='mha-widgets']").count() >= 1
    assert widget.evaluate("(e) => e.scrollWidth <= e.clientWidth + 1")

    stops = widget.locator(
        "input:enabled:visible, select:enabled:visible, button:visible, [tabindex='0']:visible"
    )
    stops.first.focus()
    for at in range(stops.count()):
        tag, control, outline, width = page.evaluate(FOCUS)
        assert page.evaluate("Boolean(document.activeElement.closest('.mha-widget'))"), (at, tag, control)
        assert (outline, width >= 2) == ("solid", True), f"no visible focus on {tag} {control}"
        page.keyboard.press("Tab")
    assert not page.evaluate("Boolean(document.activeElement.closest('.mha-widget'))")  # and no trap
    assert errors == []
    assert foreign == []
    context.close()
