"""The lane tracer in Chromium: on a model that knows its traits and no others, and mounted on a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mounting import Watched, bare, on_strict_model, open_tables, told, write_page
from mounting import mounted as on_page

from mha_teach.widgets import LaneTracer

# Where the followed number is marked: the bounds of its frame within the sheet of each step, in letters and lines.
MARKED = """() => [...document.querySelectorAll(".mha-cells")].map((lane) => {
  const found = lane.querySelector(".mha-here").getAttribute("d").match(/^M([\\d.-]+) ([\\d.-]+)/);
  return found && [Math.ceil(Number(found[1])), Math.floor(Number(found[2]))];
})"""


def mounted(watched: Watched, tmp_path: Path, theme: str = "light", **wish: object) -> object:
    return on_page(watched, tmp_path, LaneTracer(**wish), theme)


def strict(watched: Watched, **changes: object) -> object:
    return on_strict_model(bare(watched), LaneTracer, **changes)


def trail(page: object) -> str:
    return page.locator(".mha-trail").inner_text()


def lane(page: object, step: int) -> object:
    """The drawing of step 1, 2, 3 or 5."""
    return page.locator(".mha-cells").nth(step - 1 if step < 4 else 3)


def place(page: object, step: int, column: int, line: int) -> tuple[float, float]:
    """A point of the screen on the letter at (column, line) of a drawing; cells are 5 letters wide and 2 lines high."""
    sheet = lane(page, step).locator(".mha-sheet")
    sheet.scroll_into_view_if_needed()
    box = sheet.bounding_box()
    _, _, wide, tall = map(float, sheet.locator("svg").get_attribute("viewBox").split())
    return box["x"] + (column + 0.5) * box["width"] / wide, box["y"] + (line + 0.5) * box["height"] / tall


def test_the_view_asks_only_for_traits_that_exist_and_cleans_up(watched: Watched) -> None:
    page = strict(watched)
    paths = page.locator("select[name=path]")
    for at in range(paths.locator("option").count()):
        paths.select_option(index=at)
        for button in open_tables(page):
            button.click()
    colours = page.locator("select[name=colour]")
    for at in range(colours.locator("option").count()):
        colours.select_option(index=at)
    for slider in page.locator("main input[type=range]:enabled").all():
        slider.press("Home")
        slider.press("ArrowRight")
    assert {name for name, _ in page.evaluate("probe.log")} == {*LaneTracer.CHOICES}
    assert page.evaluate("probe.listening()") == 3
    page.evaluate("probe.leave()")
    assert page.evaluate("[probe.listening(), probe.empty()]") == [0, True]


@pytest.mark.parametrize(
    ("field", "typed", "allowed"),
    [
        ("batch", "0", "B: type a whole number from 1 to 5"),
        ("positions", "", "whole number from 1 to 5"),
        ("num_heads", "abc", "whole number from 1 to 5"),
        ("d_k", "1e99", "from 1 to 5"),
        ("step", "2.5", "whole number from 1 to 5"),
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


def test_too_many_numbers_are_refused_and_the_slider_goes_back(watched: Watched) -> None:
    page = strict(watched, positions=5, num_heads=5, d_k=3)
    slider = page.locator("input[type=range]").nth(1)  # samples
    slider.press("End")
    assert "= 375 numbers, and the picture holds 150" in page.get_by_role("alert").inner_text()
    assert slider.input_value() == "1" and page.locator("input[name=batch]").input_value() == "2"
    page.locator("select[name=path]").select_option("split_interleaved")
    assert "3·B·T·h·d_k = 450" in page.get_by_role("alert").inner_text()
    assert page.locator("select[name=path]").input_value() == "right"


def test_the_live_view_draws_what_python_sends(watched: Watched) -> None:
    page = strict(watched, devices=["cuda", "cpu"], device="cpu")
    result = LaneTracer.compute(LaneTracer.CHOICES | {"path": "split_swapped", "batch": 3})
    page.evaluate(
        "(result) => probe.model.set('result', { ...result, device: 'cpu', ms: 1.234 })",
        json.loads(json.dumps(result)),
    )
    assert page.locator(".mha-timed").inner_text() == "torch computed this on cpu in 1.23 ms"
    assert "the batch probe (" in told(page)
    assert page.locator("input[name=batch]").input_value() == "3"
    page.evaluate("probe.say({field: 'device', text: 'cuda could not'})")
    assert page.locator("select[name=device]").get_attribute("aria-invalid") == "true"


def test_a_number_that_is_pointed_at_is_marked_in_every_step(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path, path="split_by_view")
    assert page.evaluate(MARKED) == [[5, 3], [5, 5], [5, 5], [5, 5]]  # t1 h0 c0, viewed as T = 2
    before = page.screenshot()
    page.mouse.move(*place(page, 1, 17, 6))  # position 2, column 2: head 1, dim 0
    assert trail(page).startswith("Sample 0, position 2, head 1, dim 0. In memory it is number 10.")
    assert "Merged: [0, 2, 2]." in trail(page)
    assert page.evaluate(MARKED) == [[15, 5], [16, 5], [16, 5], [15, 5]]
    assert page.screenshot(path=tmp_path / "pointed.png") != before
    page.mouse.move(*place(page, 1, 1, 6))  # beside the cells nothing changes
    assert "position 2, head 1" in trail(page)
    page.mouse.click(*place(page, 5, 6, 8))  # sample 1, output row 0, column 0
    assert trail(page).startswith("Sample 1, position 0, head 0, dim 0.")
    assert "B=1, which read the number" in page.locator(".mha-panel", has_text="4 · who").inner_text()


def test_the_marked_cells_hold_one_label(watched: Watched, tmp_path: Path) -> None:
    """The letters under the frame say the same address in every step: the drawing and its frames agree."""
    page = mounted(watched, tmp_path, path="split_swapped")
    page.mouse.move(*place(page, 3, 7, 6))
    labels = page.evaluate("""() => [...document.querySelectorAll(".mha-cells")].map((lane) => {
      const [, x, y] = lane.querySelector(".mha-here").getAttribute("d").match(/^M([\\d.-]+) ([\\d.-]+)/).map(Number);
      const lines = lane.querySelector(".mha-texts").textContent.split("\\n");
      return [0, 1].map((k) => lines[Math.floor(y) + k].slice(Math.ceil(x), Math.ceil(x) + 4)).join("");
    })""")
    assert len(labels) == 4 and len({*labels}) == 1 and labels[0].startswith("b")


def test_letters_lie_in_their_frames(watched: Watched, tmp_path: Path) -> None:
    """One letter is as wide on the screen as one unit of the frames behind it."""
    page = mounted(watched, tmp_path)
    sizes = page.evaluate("""() => [...document.querySelectorAll(".mha-sheet")].filter((s) => s.offsetWidth).map((sheet) => {
      const [, , wide, tall] = sheet.querySelector("svg").getAttribute("viewBox").split(" ").map(Number), box = sheet.getBoundingClientRect();
      const node = sheet.querySelector(".mha-texts").firstChild, range = document.createRange(), line = node.data.split("\\n");
      const row = line.findIndex((text) => text.length === Math.max(...line.map((text) => text.length))), start = line.slice(0, row).join("\\n").length + (row ? 1 : 0);
      range.setStart(node, start);
      range.setEnd(node, start + line[row].length);
      return [range.getBoundingClientRect().width / line[row].length / (box.width / wide), line.length / tall];
    })""")
    assert len(sizes) == 6
    for wide, tall in sizes:
        assert wide == pytest.approx(1, abs=0.02)
        assert tall == 1


def test_the_stepper_reveals_step_by_step_and_the_verdict_last(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path, path="split_by_view", step=1)
    panels, probes = page.locator(".mha-steps > .mha-panel"), page.locator(".mha-probes")
    seen = []
    for step in range(1, 6):
        assert [panel.is_visible() for panel in panels.all()] == [k < step for k in range(5)]
        assert told(page).startswith(f"Step {step} of 5")
        assert ("Guess first" in probes.inner_text()) is (step < 5)
        seen.append(told(page))
        if step < 5:
            assert "Merged" not in trail(page)
            page.get_by_role("button", name="next").click()
    assert len({*seen}) == 5
    assert "2 of 3 pairs: 0←1, 1←2" in probes.inner_text()
    page.get_by_role("button", name="next").click(force=True)  # there is no sixth
    assert page.locator("input[name=step]").input_value() == "5"
    page.get_by_role("button", name="back").press("Enter")
    assert page.locator("input[name=step]").input_value() == "4"


def test_steps_reached_late_show_what_changed_before(watched: Watched, tmp_path: Path) -> None:
    """Only steps on show are drawn, so a change made early must be found in those that are reached after it."""
    changed = {"path": "split_interleaved", "batch": 1, "positions": 5, "num_heads": 3, "d_k": 2}
    drawings = """() => [...document.querySelectorAll(".mha-steps .mha-sheet")].filter((sheet) => !sheet.hidden)
        .map((sheet) => [sheet.innerText, [...sheet.querySelectorAll("path")].map((p) => [p.getAttribute("class"), p.getAttribute("d")]).filter(([, d]) => d).sort()])"""
    page = mounted(watched, tmp_path, step=5, **changed)
    lane(page, 1).focus()
    page.keyboard.press("End")
    at_once = page.evaluate(drawings)
    page = mounted(watched, tmp_path, step=5, path="right")
    slider = page.locator("main input[type=range]").first
    slider.press("Home")
    page.locator("select[name=path]").select_option(changed["path"])
    for name in ("batch", "positions", "num_heads", "d_k"):
        page.locator(f"input[name={name}]").fill(str(changed[name]))
        page.locator(f"input[name={name}]").press("Enter")
    lane(page, 1).focus()
    page.keyboard.press("End")
    slider.press("End")
    assert len(at_once) > 4
    assert page.evaluate(drawings) == at_once


def test_the_keyboard_alone_steps_and_follows_numbers(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path, path="split_swapped", step=4)
    page.evaluate("window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key))")
    page.locator("input[name=step]").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")  # back, then the slider
    page.keyboard.press("ArrowRight")
    assert told(page).startswith("Step 5 of 5: no error and the right shape")
    third = lane(page, 3)
    third.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Home")
    assert third.get_attribute("aria-valuetext") == "Sample 0, position 0, head 0, dim 0, at [0, 0, 0, 0]"
    page.keyboard.press("ArrowDown")
    assert third.get_attribute("aria-valuetext") == (
        "Sample 0, position 2, head 0, dim 0, at [0, 0, 1, 0], where another number belongs"
    )
    assert trail(page).startswith("Sample 0, position 2, head 0, dim 0.")
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")  # no further
    assert (third.get_attribute("aria-valuenow"), third.get_attribute("aria-valuemax")) == ("24", "24")
    page.keyboard.press("ArrowLeft")
    assert third.get_attribute("aria-valuenow") == "23"
    assert {lane(page, k).get_attribute("aria-valuetext").split(", at")[0] for k in (1, 2, 3, 5)} == {
        "Sample 1, position 2, head 1, dim 0"
    }
    assert page.evaluate("heard") == []
    stops = page.locator("input:visible, select:visible, button:visible, [tabindex='0']:visible").count()
    page.locator("input[name=step]").focus()
    for _ in range(stops):
        assert page.evaluate("Boolean(document.activeElement.closest('.mha-widget'))")
        page.keyboard.press("Tab")
    assert not page.evaluate("Boolean(document.activeElement.closest('.mha-widget'))")


def test_a_wide_drawing_scrolls_to_the_number_that_the_keyboard_reaches(
    watched: Watched, tmp_path: Path
) -> None:
    watched.page.set_viewport_size({"width": 320, "height": 700})
    page = mounted(watched, tmp_path, batch=1, num_heads=5, d_k=5)
    first = lane(page, 1)
    first.focus()
    page.keyboard.press("Home")
    assert first.evaluate("(e) => e.scrollLeft") < 5
    for _ in range(24):
        page.keyboard.press("ArrowRight")
    shown = first.evaluate("""(e) => {
      const frame = e.querySelector(".mha-here").getBoundingClientRect(), box = e.getBoundingClientRect();
      return [frame.left >= box.left - 1, frame.right <= box.right + 1, e.scrollLeft > 100];
    }""")
    assert shown == [True, True, True]


def test_a_lucky_size_is_told_and_dragging_leaves_it(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path, path="split_by_view", num_heads=1)
    assert "here split_by_view happens to be right, since with one head" in told(page)
    assert "yes" in page.locator(".mha-probes").inner_text()
    slider = page.locator("input[type=range]").nth(3)  # heads
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.65 * box["width"], y, steps=5)
    page.mouse.up()
    assert page.locator("input[name=num_heads]").input_value() == "3"
    assert "It is noticed by the causal probe" in told(page)
    page.locator("input[name=batch]").fill("1")
    page.keyboard.press("Enter")
    assert "With one sample the batch probe can't be asked." in told(page)
    page.locator("select[name=path]").select_option("split_swapped")
    assert "since with one sample" in told(page)


def test_tables_hold_every_number_and_every_reading(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path, path="split_by_view")
    open_tables(page)
    readings, numbers = page.locator(".mha-table table").all()
    assert readings.locator("tbody tr").count() == 2 * 2 * 3
    assert numbers.locator("tbody tr").count() == 24
    assert numbers.locator("tbody tr").nth(6).inner_text().split("\t") == [
        "b0t1h1c0", "6", "[0, 1, 0, 0]", "[0, 1, 0, 0]", "[0, 0, 2]", "no",
    ]  # fmt: skip
    page.locator("select[name=path]").select_option("split_interleaved")  # open tables follow
    assert numbers.locator("tbody tr").count() == 72


@pytest.mark.parametrize(
    ("width", "path"), [(320, "split_interleaved"), (640, "split_by_view"), (1280, "split_interleaved")]
)
def test_nothing_is_cut_off_at_any_width_with_tables_open(
    watched: Watched, tmp_path: Path, width: int, path: str
) -> None:
    watched.page.set_viewport_size({"width": width, "height": 700})
    page = mounted(watched, tmp_path, path=path)
    open_tables(page)
    wide = page.evaluate("""[...document.querySelectorAll('.mha-view *:not(.mha-table *):not(.mha-cells *)')].filter(
        (e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))""")
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=tmp_path / f"{path}-{width}.png", full_page=True)


def test_twice_as_large_letters_fit_too(watched: Watched, tmp_path: Path) -> None:
    page = mounted(watched, tmp_path, path="split_swapped")
    page.add_style_tag(content="html { font-size: 200%; }")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.mouse.move(*place(page, 1, 6, 8))
    assert trail(page).startswith("Sample 1, position 0")  # the frames grow with the letters


@pytest.mark.parametrize("theme", ("light", "dark"))
def test_axe_finds_nothing_serious(watched: Watched, tmp_path: Path, theme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched.page.set_viewport_size({"width": 640, "height": 900})
    page = mounted(watched, tmp_path, theme, path="split_interleaved")
    page.locator("input[name=d_k]").fill("0")
    page.keyboard.press("Enter")
    open_tables(page)
    found = Axe().run(page).response["violations"]
    assert [
        (v["id"], v["nodes"][0]["html"][:120]) for v in found if v["impact"] in ("serious", "critical")
    ] == []
    unnamed = page.evaluate("""[...document.querySelectorAll('main input, main select, main button, main [role=slider]')].filter(
        (c) => !c.getAttribute('aria-label') && !c.labels?.length && !c.textContent.trim()).length""")
    assert unnamed == 0


def test_nothing_moves_by_itself(chromium: object, tmp_path: Path) -> None:
    context = chromium.new_context(reduced_motion="no-preference")
    made = Watched(context.new_page())
    page = mounted(made, tmp_path)
    page.locator("input[type=range]").first.press("ArrowLeft")
    assert page.evaluate("document.getAnimations().length") == 0
    context.close()


def test_without_javascript_the_picture_and_its_caption_stand_there(chromium: object, tmp_path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(write_page(tmp_path / "page.html", LaneTracer().html()))
    assert page.locator(".mha-widget img").bounding_box()["width"] > 200
    assert "24 of 24 numbers come home" in page.locator("figcaption").inner_text()
    context.close()
