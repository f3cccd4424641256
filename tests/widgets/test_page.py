"""The views in Chromium: against a model that knows its traits and no others, and mounted on a page, by mouse and keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from mounting import Watched, drawn_before_it_is_shown, on_strict_model

from mha_teach.widgets import HeadSplitter, Saturation

BOTH = {"head_splitter": HeadSplitter, "saturation": Saturation}


def strict(watched: Watched, address: str, name: str, **changes: object) -> object:
    """The view of ``name`` on the strict model, on a page without any script."""
    watched.page.goto(address + "broken.html")
    return on_strict_model(watched.page, BOTH[name], **changes)


@pytest.mark.parametrize("name", BOTH)
def test_a_view_asks_only_for_traits_that_exist_and_cleans_up(
    watched: Watched, address: str, name: str
) -> None:
    page = strict(watched, address, name)
    for slider in page.locator("main input[type=range]:enabled").all():
        slider.press("ArrowRight")
        slider.press("Home")
    for button in page.get_by_role("button").all():
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
    assert page.locator("main .mha-table table").count() >= 2
    assert page.evaluate("probe.listening()") == 3
    page.evaluate("probe.leave()")
    assert page.evaluate("[probe.listening(), probe.empty()]") == [0, True]


def test_the_strict_model_can_fail(watched: Watched, address: str) -> None:
    strict(watched, address, "saturation")
    with pytest.raises(Exception, match="unknown trait nonsense"):
        watched.page.evaluate("probe.model.get('nonsense')")
    with pytest.raises(Exception, match="unknown trait"):
        watched.page.evaluate("probe.model.on('change:nonsense', () => 0)")


@pytest.mark.parametrize(
    ("name", "field", "typed", "allowed"),
    [
        ("head_splitter", "num_heads", "3", "1, 2, 4, 8, 16, 32, 64"),
        ("head_splitter", "num_heads", "", "whole number from 1 to 64"),
        ("head_splitter", "num_heads", "abc", "whole number from 1 to 64"),
        ("head_splitter", "seed", "1e99", "from 0 to 9999"),
        ("head_splitter", "head", "2", "from 1 to 1"),
        ("saturation", "d_k", "NaN", "from 1 to 1024"),
        ("saturation", "d_k", "2.5", "whole number"),
        ("saturation", "correlation", "1.5", "from 0 to 1"),
        ("saturation", "n", "1000000", "from 2 to 32"),
    ],
)
def test_bad_input_is_answered_and_the_picture_stays(
    watched: Watched, address: str, name: str, field: str, typed: str, allowed: str
) -> None:
    page = strict(watched, address, name)
    before = page.locator(".mha-tell").inner_text()
    box = page.locator(f"input[name={field}]")
    box.fill(typed)
    box.press("Enter")
    alert = page.get_by_role("alert")
    assert allowed in alert.inner_text()
    assert box.get_attribute("aria-invalid") == "true"
    assert box.get_attribute("aria-describedby") == alert.get_attribute("id")
    assert page.evaluate("probe.log") == []
    assert page.locator(".mha-tell").inner_text() == before
    box.fill("1" if field == "head" else "0.5" if field == "correlation" else "4")
    box.press("Enter")
    assert alert.inner_text() == ""
    assert box.get_attribute("aria-invalid") == "false"


def test_what_python_refuses_is_shown_at_its_control(watched: Watched, address: str) -> None:
    page = strict(watched, address, "head_splitter", devices=["cuda", "cpu"], device="cpu")
    page.evaluate("probe.say({field: 'device', text: 'cuda could not'})")
    assert page.get_by_role("alert").inner_text().endswith("cuda could not")
    assert page.locator("select[name=device]").get_attribute("aria-invalid") == "true"
    page.locator("select[name=device]").select_option("cuda")
    assert ["device", "cuda"] in page.evaluate("probe.log")


def test_the_live_view_names_device_and_time(watched: Watched, address: str) -> None:
    page = strict(watched, address, "saturation", devices=["cpu"], device="cpu")
    page.evaluate("""() => {
      const { model } = probe, result = model.get("result");
      model.set("result", { ...result, device: "cpu", ms: 1.234 });
    }""")
    assert page.locator(".mha-timed").inner_text() == "torch computed this on cpu in 1.23 ms"


def test_keys_do_not_leave_the_widget(watched: Watched, address: str) -> None:
    page = strict(watched, address, "saturation")
    page.evaluate("window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key))")
    page.locator("input[type=range]").first.press("ArrowRight")
    page.locator("select").first.press("ArrowDown")
    assert page.evaluate("heard") == []
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("x")
    assert page.evaluate("heard") == ["x"]


def test_a_view_drawn_before_it_is_on_the_page_gets_its_colours_later(watched: Watched, address: str) -> None:
    watched.page.goto(address + "page.html")
    drawn_before_it_is_shown(watched.page, HeadSplitter)


def test_names_of_controls(watched: Watched, address: str) -> None:
    for name in BOTH:
        page = strict(watched, address, name)
        unnamed = page.evaluate("""[...document.querySelectorAll('main input, main select, main button')].filter(
            (c) => !c.getAttribute('aria-label') && !c.labels?.length && !c.textContent.trim()).length""")
        assert unnamed == 0


@pytest.mark.parametrize("way", ("http", "file"))
def test_the_bundle_mounts_every_block_and_leaves_the_unreadable_ones(
    watched: Watched, address: str, folder: Path, way: str
) -> None:
    page = watched.page
    page.goto(address + "broken.html" if way == "http" else (folder / "broken.html").as_uri())
    page.wait_for_selector("[data-alive]")
    assert page.locator("[data-alive]").count() == 2
    for broken in ("cut", "unknown", "empty", "nan"):
        assert page.locator(f"#{broken}").inner_text() == "a picture"
    assert page.locator("#cut script").count() == 1


def test_without_javascript_the_picture_and_its_caption_stand_there(chromium: object, address: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address + "page.html")
    for image in page.locator(".mha-widget img").all():
        assert image.bounding_box()["width"] > 200
        assert len(image.get_attribute("alt")) > 60
    assert page.locator(".mha-widget figcaption").count() == 2
    context.close()


def test_dragging_the_slider_moves_everything(watched: Watched, address: str, tmp_path: Path) -> None:
    page = watched.page
    page.goto(address + "page.html")
    widget = page.locator("[data-widget=head_splitter]")
    slider = widget.locator("input[type=range]").first
    assert "One head" in widget.locator(".mha-tell").inner_text()
    before = page.screenshot()
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, y, steps=7)
    page.mouse.up()
    assert widget.locator("input[name=num_heads]").input_value() == "8"
    assert "8 heads of width 8" in widget.locator(".mha-tell").inner_text()
    assert "16,384 (×1)" in widget.inner_text()
    assert "2,592 (×8)" in widget.inner_text()
    assert page.screenshot(path=tmp_path / "dragged.png") != before
    square = widget.locator(".mha-square").first.bounding_box()
    page.mouse.click(square["x"] + square["width"] * 0.5, square["y"] + square["height"] * 0.5)
    assert widget.locator("input[name=head]").input_value() == "5"  # eight heads stand in rows of three


def test_the_keyboard_alone_reaches_and_moves_every_control(watched: Watched, address: str) -> None:
    page = watched.page
    page.goto(address + "page.html")
    widget = page.locator("[data-widget=saturation]")
    widget.locator("input[name=d_k]").focus()
    page.keyboard.press("Tab")
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert widget.locator("input[name=d_k]").input_value() == "1024"
    assert "Saturated" in widget.locator(".mha-tell").inner_text()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Tab")
    page.keyboard.press("1")  # type-ahead in a select: the first entry that begins with 1 after this one
    assert widget.locator("select[name=scale]").input_value() == "sqrt_d_k"
    assert "Alive" in widget.locator(".mha-tell").inner_text()
    stops = widget.locator("input:enabled, select:enabled, button").count()
    seen = set()
    widget.locator("input[name=d_k]").focus()
    for _ in range(stops):
        seen.add(
            page.evaluate(
                "document.activeElement.outerHTML.slice(0, 120) + document.activeElement.textContent"
            )
        )
        assert page.evaluate("Boolean(document.activeElement.closest('[data-widget=saturation]'))")
        page.keyboard.press("Tab")
    assert len(seen) >= stops - 2  # buttons with one text


@pytest.mark.parametrize("width", (320, 640, 1280))
def test_nothing_is_cut_off_at_any_width_with_tables_open(watched: Watched, address: str, width: int) -> None:
    page = watched.page
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(address + "page.html")
    for button in page.get_by_role("button").all():
        button.click()
    wide = page.evaluate("""[...document.querySelectorAll('.mha-view *:not(.mha-table *)')].filter(
        (e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))""")
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("theme", ("light", "dark"))
def test_axe_finds_nothing_serious(watched: Watched, address: str, theme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = watched.page
    page.goto(address + "page.html")
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
    page.locator("input[name=num_heads]").fill("3")
    page.keyboard.press("Enter")
    for button in page.get_by_role("button").all():
        button.click()
    found = Axe().run(page).response["violations"]
    assert [
        (v["id"], v["nodes"][0]["html"][:120]) for v in found if v["impact"] in ("serious", "critical")
    ] == []


def test_axe_can_find_something(watched: Watched, address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched.page.goto(address + "page.html")
    watched.page.evaluate("document.querySelector('input[type=range]').removeAttribute('aria-label')")
    assert any(v["id"] == "label" for v in Axe().run(watched.page).response["violations"])


@pytest.mark.parametrize("wish", ("reduce", "no-preference"))
def test_nothing_moves_but_what_the_reader_moves(chromium: object, address: str, wish: str) -> None:
    context = chromium.new_context(reduced_motion=wish)
    page = context.new_page()
    page.goto(address + "page.html")
    page.locator("[data-widget=head_splitter] input[type=range]").first.press("ArrowRight")
    assert page.locator(".mha-bar").count() > 10
    assert page.evaluate("document.getAnimations().length") == 0
    page.add_style_tag(content=".mha-bar { transition: clip-path 9s; }")  # what this test would find
    page.locator("[data-widget=head_splitter] input[type=range]").first.press("ArrowRight")
    assert page.evaluate("document.getAnimations().length") > 0
    context.close()
