"""The mask composer in Chromium: on a model that knows its traits and no others, and mounted on a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from mounting import Watched, bare, drawn_before_it_is_shown, on_strict_model, open_tables, told, write_page
from mounting import mounted as on_page

from mha_teach.widgets import MaskComposer


def mounted(watched: Watched, tmp_path: Path, theme: str = "light", **wish: object) -> object:
    return on_page(watched, tmp_path, MaskComposer(**wish), theme)


def strict(watched: Watched, **changes: object) -> object:
    return on_strict_model(bare(watched), MaskComposer, **changes)


def cell_said(page: object) -> str:
    return page.locator(".mha-panel [role=status]").inner_text()


def place(page: object, i: int, j: int, n: int = 6) -> tuple[float, float]:
    box = page.locator(".mha-draw").bounding_box()
    return box["x"] + (j + 0.5) * box["width"] / n, box["y"] + (i + 0.5) * box["height"] / n


def test_the_view_asks_only_for_traits_that_exist_and_cleans_up(watched: Watched) -> None:
    page = strict(watched)
    for slider in page.locator("main input[type=range]:enabled").all():
        slider.press("ArrowRight")
        slider.press("Home")
    for name in ("side", "sentinel", "float_type", "placement", "library"):
        field = page.locator(f"select[name={name}]")
        for at in range(field.locator("option").count()):
            field.select_option(index=at)
    page.locator("input[name=causal]").uncheck()
    page.locator(".mha-draw").press("Space")
    open_tables(page)
    assert page.locator("main .mha-table table").count() == 2
    assert {name for name, _ in page.evaluate("probe.log")} == {*MaskComposer.CHOICES}
    assert page.evaluate("probe.listening()") == 3
    page.evaluate("probe.leave()")
    assert page.evaluate("[probe.listening(), probe.empty()]") == [0, True]


@pytest.mark.parametrize(
    ("field", "typed", "allowed"),
    [
        ("n", "13", "whole number from 2 to 12"),
        ("n", "", "whole number from 2 to 12"),
        ("n", "1e9", "from 2 to 12"),
        ("padding", "NaN", "from 0 to 12"),
        ("window", "2.5", "whole number"),
        ("seed", "abc", "from 0 to 9999"),
    ],
)
def test_bad_input_is_answered_and_the_picture_stays(
    watched: Watched, field: str, typed: str, allowed: str
) -> None:
    page = strict(watched)
    before, box, alert = told(page), page.locator(f"input[name={field}]"), page.get_by_role("alert")
    box.fill(typed)
    box.press("Enter")
    assert allowed in alert.inner_text()
    assert box.get_attribute("aria-invalid") == "true"
    assert box.get_attribute("aria-describedby") == alert.get_attribute("id")
    assert page.evaluate("probe.log") == []
    assert told(page) == before
    box.fill("3")
    box.press("Enter")
    assert alert.inner_text() == ""
    assert box.get_attribute("aria-invalid") == "false"


def test_the_live_view_names_device_and_time_and_draws_64_positions(watched: Watched) -> None:
    page = strict(watched, devices=["cpu"], device="cpu", n=64, limits=MaskComposer.LIVE, placement="added")
    page.evaluate("""() => {
      const { model } = probe, result = model.get("result"), bytes = (list) => new DataView(Float32Array.from(list).buffer);
      for (const [name, list] of Object.entries(result)) if (ArrayBuffer.isView(list)) result[name] = bytes(list);
      model.set("result", { ...result, device: "cpu", ms: 1.234 });
    }""")
    assert page.locator(".mha-timed").inner_text() == "torch computed this on cpu in 1.23 ms"
    assert "2080 of 4096 cells may look" in told(page)
    page.locator(".mha-draw").press("End")
    page.keyboard.press("Space")
    assert page.evaluate("probe.log.at(-1)") == ["drawn", [[0, 63, 1]]]
    assert not page.locator(".mha-beside").first.is_visible()  # 64 sums have no room, the table has them
    page.evaluate("probe.say({field: 'drawn', text: 'no such cell'})")  # Python may refuse, too
    assert page.get_by_role("alert").inner_text().endswith("no such cell")


def test_a_view_drawn_before_it_is_on_the_page_gets_its_colours_later(watched: Watched) -> None:
    drawn_before_it_is_shown(bare(watched), MaskComposer)


def test_cells_are_drawn_by_click_and_drag(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path)
    assert "every row sums to 1" in told(page)
    square = page.locator(".mha-draw")
    square.scroll_into_view_if_needed()
    before = square.screenshot()
    page.mouse.click(*place(page, 0, 5))
    assert "22 of 36 cells may look, 1 of them ahead" in told(page)
    assert cell_said(page) == "Query 1 “the”, key 6 “mat”: may look (drawn by hand)."
    page.mouse.move(*place(page, 5, 0))
    page.mouse.down()
    page.mouse.move(*place(page, 5, 5))  # one jump of a quick hand: every cell on the way is drawn
    page.mouse.up()
    page.mouse.move(*place(page, 4, 0))  # no button held: nothing is drawn
    assert "16 of 36" in told(page) and "1 of 6 rows are NaN" in told(page)
    assert page.locator(".mha-beside").first.inner_text().split()[-1] == "NaN"
    assert page.locator(".mha-nan text").text_content() == "NaN"
    assert "NaN: query 6." in page.locator("main").inner_text()
    assert square.screenshot(path=tmp_path / "drawn.png") != before
    page.mouse.move(*place(page, 2, 2))
    page.mouse.down()
    page.mouse.move(-50, -50, steps=4)  # beyond the edge the outermost cells are meant
    page.mouse.up()
    assert cell_said(page).startswith("Query 1 “the”, key 1 “the”: blocked")
    page.get_by_role("button", name="Take back what is drawn").click()
    assert "21 of 36 cells may look. Masked before" in told(page)
    page.mouse.click(*place(page, 0, 0), button="right")
    assert "21 of 36" in told(page)


def test_the_square_holds_still_while_the_words_change(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path, placement="after")
    page.set_viewport_size({"width": 320, "height": 900})
    square = page.locator(".mha-draw")
    square.scroll_into_view_if_needed()
    before = square.bounding_box(), page.evaluate("scrollY")
    for j in range(1, 6):
        page.mouse.click(*place(page, 0, j))
        assert (square.bounding_box(), page.evaluate("scrollY")) == before
    assert "26 of 36" in told(page)


def test_the_keyboard_alone_draws_and_moves_every_control(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path)
    page.evaluate("window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key))")
    square = page.locator(".mha-draw")
    square.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    scrolled = page.evaluate("scrollY")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "Space"):
        page.keyboard.press(key)
    assert cell_said(page) == "Query 1 “the”, key 3 “sat”: may look (drawn by hand)."
    for key in ("Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert "24 of 36 cells may look, 3 of them ahead" in told(page)
    page.keyboard.press("Enter")
    assert cell_said(page) == "Query 2 “cat”, key 4 “on”: blocked (causal)."
    for key in ("Home", "ArrowLeft", "ArrowUp", "ArrowUp"):  # the edge holds
        page.keyboard.press(key)
    assert cell_said(page).startswith("Query 1 “the”, key 1 “the”")
    assert page.evaluate("scrollY") == scrolled
    page.keyboard.press("Control+ArrowRight")
    page.keyboard.press("x")
    assert cell_said(page).startswith("Query 1 “the”, key 1 “the”")
    assert page.evaluate("heard") == []  # JupyterLab would act on them

    widget = page.locator("[data-widget=mask_composer]")
    stops = widget.locator("input:enabled, select:enabled, button, [tabindex='0']:visible")
    widget.locator("input[name=n]").focus()
    for _ in range(stops.count()):
        assert page.evaluate("Boolean(document.activeElement.closest('[data-widget=mask_composer]'))")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Tab")
    assert not page.evaluate("Boolean(document.activeElement.closest('[data-widget=mask_composer]'))")
    unnamed = page.evaluate("""[...document.querySelectorAll('main input, main select, main button, main [tabindex]')].filter(
        (c) => !c.getAttribute('aria-label') && !c.labels?.length && !c.textContent.trim() && !c.hidden).length""")
    assert unnamed == 0


def test_every_placement_and_type_shows_what_it_does(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path)
    place_of, kind, low = (
        page.locator(f"select[name={name}]") for name in ("placement", "float_type", "sentinel")
    )
    sums = page.locator(".mha-beside").first
    place_of.select_option("after")
    assert low.is_disabled()
    assert float(sums.inner_text().split()[0]) < 0.5
    assert "how far they fall tells what was hidden" in told(page)
    leak = page.locator(".mha-ledger tr", has_text="leak through the sum, worst row").inner_text()
    assert float(leak.split()[-2]) > 0.1
    place_of.select_option("added")
    assert "masks nothing" in told(page)
    assert (
        page.locator(".mha-thin").get_attribute("d").count("M") == 15
    )  # each blocked cell has weight, and a frame
    place_of.select_option("renormalised")
    assert "divided by the row sums" in told(page)
    place_of.select_option("before")
    page.locator("select[name=side]").select_option("left")
    page.locator("input[name=padding]").fill("2")
    page.locator("input[name=padding]").press("Enter")
    assert "2 of 6 rows are NaN" in told(page)
    low.select_option("1e9")
    assert "and yet their rows sum to 1" in told(page)
    kind.select_option("float16")
    assert "does not fit into float16" in told(page)
    assert "gets −∞ added, in float16" in page.locator("main").inner_text()
    library = page.locator("select[name=library]")
    library.select_option("mha.attn_mask.bool")
    assert page.locator(".mha-code").inner_text().startswith("attn_mask = [[ True,  True,")
    assert "True means: may not look." in page.locator("main").inner_text()
    library.select_option("transformers.attention_mask")
    assert "one entry per key" in page.locator("main").inner_text()


@pytest.mark.parametrize("width", (320, 640, 1280))  # 640 is 1280 at a zoom of 200 %
def test_nothing_is_cut_off_and_rows_meet_their_sums(watched: Watched, tmp_path: Path, width: int) -> None:
    page = mounted(watched, tmp_path, n=12, padding=3, side="left", placement="added")
    page.set_viewport_size({"width": width, "height": 700})
    open_tables(page)
    wide = page.evaluate("""[...document.querySelectorAll('.mha-view *:not(.mha-table *):not(.mha-code *)')].filter(
        (e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))""")
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    square = page.locator(".mha-edged canvas").bounding_box()
    middles = page.evaluate("""[...document.querySelectorAll('.mha-beside')].map((side) => [...side.children].map((span) => {
        const box = span.getBoundingClientRect(); return (box.top + box.bottom) / 2; }))""")
    for column in middles:
        for i, middle in enumerate(column):
            assert middle == pytest.approx(square["y"] + (i + 0.5) * square["height"] / 12, abs=1.5)
    assert square["width"] == pytest.approx(square["height"], abs=1)


@pytest.mark.parametrize("theme", ("light", "dark"))
def test_axe_finds_nothing_serious(watched: Watched, tmp_path: Path, theme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = mounted(watched, tmp_path, theme, n=9, padding=2, side="left")
    page.locator("input[name=n]").fill("99")
    page.keyboard.press("Enter")
    open_tables(page)
    found = Axe().run(page).response["violations"]
    assert [
        (v["id"], v["nodes"][0]["html"][:120]) for v in found if v["impact"] in ("serious", "critical")
    ] == []
    back = page.evaluate("getComputedStyle(document.querySelector('.mha-view')).backgroundColor")
    assert (sum(int(x) for x in back.strip("rgb()").split(",")) < 150) is (theme == "dark")


def test_nothing_moves_but_what_the_reader_moves(chromium: object, tmp_path: Path) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    page = mounted(Watched(context.new_page()), tmp_path)
    page.locator(".mha-draw").press("Space")
    assert page.evaluate("document.getAnimations().length") == 0
    context.close()


def test_without_javascript_the_picture_and_its_caption_stand_there(chromium: object, tmp_path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(write_page(tmp_path / "page.html", MaskComposer().html()))
    image = page.locator(".mha-widget img")
    assert image.bounding_box()["width"] > 300
    assert "15 of 36 cells are hatched" in image.get_attribute("alt")
    assert "the smallest row sum is 1.00" in page.locator("figcaption").inner_text()
    context.close()
