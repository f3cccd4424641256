"""The head gallery in Chromium: against a model that knows its traits and no others, and on a page, by mouse and keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mounting import Watched, on_strict_model, open_tables, told, write_page

from mha_teach.widgets import HeadGallery, head_gallery

CHOSEN = (
    "[...document.querySelectorAll('input[name=layer], input[name=head]')].map((field) => field.value).join()"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gallery") / "page.html"
    write_page(made, HeadGallery().html())
    return made


@pytest.fixture
def page(chromium: object, file: Path) -> Iterator[object]:
    context = chromium.new_context(viewport={"width": 1000, "height": 1000})
    context.set_default_timeout(8000)
    watched = Watched(context.new_page())
    watched.page.goto(file.as_uri())
    watched.page.wait_for_selector("[data-alive]")
    yield watched.page
    context.close()
    assert watched.errors == []
    assert watched.foreign == []


def strict(page: object, **changes: object) -> object:
    limits = {**HeadGallery.LIVE, "models": head_gallery.exhibits.on_show()}
    return on_strict_model(page, HeadGallery, **{"limits": limits, "baked": head_gallery.baked(), **changes})


def test_the_view_asks_only_for_traits_that_exist_and_cleans_up(page: object) -> None:
    strict(page)
    for slider in page.locator("main input[type=range]").all():
        slider.press("ArrowRight")
        slider.press("Home")
    for name in ("random", "toy", "toy_random", "minilm"):
        page.locator("select[name=model]").select_option(name)
        for button in page.get_by_role("button").all():
            button.click()
        for kind in ("0", "5", "-1", "maps"):
            page.locator(".mha-panel select").select_option(kind)
        assert "NaN" not in page.evaluate("probe.text()")
        assert "undefined" not in page.evaluate("probe.text()")
    assert page.evaluate("probe.listening()") == 6
    known = {name for name, _ in page.evaluate("probe.log")}
    assert known == {"model", "layer", "head", "sentence", "closed"}
    page.evaluate("probe.leave()")
    assert page.evaluate("[probe.listening(), probe.empty()]") == [0, True]


def test_the_strict_model_can_fail(page: object) -> None:
    strict(page)
    with pytest.raises(Exception, match="unknown trait query"):
        page.evaluate("probe.model.get('query')")


def test_own_words_are_offered_live_and_judged(page: object) -> None:
    strict(page)
    own = page.locator("input[name=text]")
    assert not own.is_visible()
    page.evaluate("probe.model.set('sentence', -1); probe.model.set('layer', 1)")
    assert own.is_visible()
    own.fill("word " * 25)
    own.press("Enter")
    assert "there are 25" in page.get_by_role("alert").inner_text()
    assert own.get_attribute("aria-invalid") == "true"


def test_a_machine_without_the_real_encoder_shows_the_toy_and_says_why(page: object) -> None:
    toys = [size for size in head_gallery.exhibits.on_show() if size[0] in head_gallery.exhibits.TOYS]
    baked = [{name: scenes[name] for name in head_gallery.exhibits.TOYS} for scenes in head_gallery.baked()]
    strict(page, model="toy", head=0, baked=baked, limits={**HeadGallery.LIVE, "models": toys})
    assert page.locator("select[name=model] option").count() == 2
    page.evaluate("probe.say({field: 'model', text: probe.model.get('words').missing})")
    assert "pip install" in page.get_by_role("alert").inner_text()
    assert page.locator("select[name=model]").get_attribute("aria-invalid") == "true"


def test_the_knock_out_is_a_toggle_and_the_answer_waits_for_it(page: object) -> None:
    button = page.get_by_role("button", name="Close this head")
    assert "came with training. Is the head needed? Close it." in told(page)
    assert not page.locator(".mha-strip").is_visible()
    assert page.locator(".mha-ledger").inner_text().count("?") == 8
    button.focus()
    page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    assert "nothing here shows that the pattern is used" in told(page)
    assert page.locator(".mha-strip").is_visible()
    assert "0.0012" in page.locator(".mha-ledger").inner_text()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert page.evaluate("document.activeElement.name") == "closed"
    assert "Close it." in told(page)


def test_a_click_on_a_small_map_chooses_its_head(page: object) -> None:
    box = page.locator(".mha-choose").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 5.5 / 12, box["y"] + box["height"] * 4.5 / 6)
    assert page.evaluate(CHOSEN) == "4,5"
    assert told(page).startswith("L4H5 gives 90 % of its weight to “first token”")
    assert "Map of L4H5" in page.locator("main").inner_text()


def test_the_map_is_painted_from_the_weights(page: object) -> None:
    dark = """(canvas) => { const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const out = []; for (let i = 0; i < data.length; i += 4) if (data[i] < 60) out.push(i / 4); return [canvas.width, out]; }"""
    width, cells = page.locator(".mha-map canvas").nth(1).evaluate(dark)
    assert width == 14
    assert cells == [0, *(i * 14 + i - 1 for i in range(1, 14))]  # L0H2 looks at the previous token


def test_the_keyboard_alone_reaches_and_moves_every_control(page: object) -> None:
    page.locator("select[name=model]").focus()
    page.keyboard.press("ArrowDown")
    assert "Nobody trained these weights" in told(page)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert "dog" in page.locator(".mha-map").nth(1).inner_text()
    page.locator("input[name=layer]").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(CHOSEN) == "1,2"
    stops = page.locator("main :is(input, select, button):visible:enabled").count()
    page.locator("select[name=model]").focus()
    for _ in range(stops):
        at = page.evaluate("""() => { const at = document.activeElement, style = getComputedStyle(at);
          return [Boolean(at.closest('.mha-widget')), style.outlineStyle, parseFloat(style.outlineWidth) >= 2]; }""")
        assert at == [True, "solid", True]
        page.keyboard.press("Tab")
    assert not page.evaluate("Boolean(document.activeElement.closest('.mha-widget'))")


def test_fewer_heads_of_another_model_draw_the_choice_in(page: object) -> None:
    for name, value in (("layer", "5"), ("head", "11")):
        page.locator(f"input[name={name}]").fill(value)
        page.keyboard.press("Enter")
    page.locator("select[name=model]").select_option("toy")
    last = head_gallery.exhibits.toy("toy").layers[0].num_heads - 1
    assert page.evaluate(CHOSEN) == f"1,{last}"
    page.locator("input[name=head]").fill("11")
    page.keyboard.press("Enter")
    assert f"head: type a whole number from 0 to {last}" in page.get_by_role("alert").inner_text()
    assert page.evaluate("document.querySelector('select[name=sentence]').options.length") == 3


def test_every_map_has_its_numbers_behind_a_button(page: object) -> None:
    open_tables(page)
    tables = page.locator(".mha-table table").all()
    assert [table.locator("tbody tr").count() for table in tables] == [72, 14, 0]
    page.get_by_role("button", name="Close this head").click()
    assert [table.locator("tbody tr").count() for table in page.locator(".mha-table table").all()] == [
        72,
        14,
        14,
    ]
    assert "L0H2" in tables[0].inner_text()


def test_the_squares_can_show_a_score_or_the_harm(page: object) -> None:
    kind, note = page.locator(".mha-panel select"), page.locator(".mha-panel .mha-note").first
    kind.select_option("0")
    assert "Highest: L0H2 1, " in note.inner_text()
    kind.select_option("-1")
    assert "Highest: L5H11 0.074" in note.inner_text()
    assert "L5H11" in page.locator(".mha-choose canvas").get_attribute("aria-label")


@pytest.mark.parametrize("width", (320, 500, 640, 1280))  # 640 is 1280 at a zoom of 200 %
def test_nothing_is_cut_off_at_any_width_with_tables_open(page: object, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    for button in page.get_by_role("button").all():
        button.click()
    wide = page.evaluate("""[...document.querySelectorAll('.mha-view *:not(.mha-table *)')].filter(
        (e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))""")
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    rows = page.evaluate("""() => { const at = (n) => n.getBoundingClientRect(), map = document.querySelectorAll(".mha-map")[1];
      const square = at(map.querySelector(".mha-square")), labels = [...map.querySelectorAll(".mha-down span")].map(at);
      return labels.map((l) => Math.floor((l.top + l.height / 2 - square.top) / square.height * labels.length)); }""")
    assert rows == list(range(14))  # every label stands at its row


@pytest.mark.parametrize("theme", ("light", "dark"))
def test_axe_finds_nothing_serious(page: object, theme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
    page.locator("input[name=head]").fill("99")
    page.keyboard.press("Enter")
    for button in page.get_by_role("button").all():
        button.click()
    found = Axe().run(page).response["violations"]
    assert [
        (v["id"], v["nodes"][0]["html"][:120]) for v in found if v["impact"] in ("serious", "critical")
    ] == []


def test_without_javascript_and_with_reduced_motion(chromium: object, file: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    still = context.new_page()
    still.goto(file.as_uri())
    assert still.locator(".mha-widget img").bounding_box()["width"] > 400
    assert "previous token: 1.00" in still.locator("figcaption").inner_text()
    context.close()
    context = chromium.new_context(reduced_motion="reduce")
    calm = context.new_page()
    calm.goto(file.as_uri())
    calm.get_by_role("button", name="Close this head").click()
    assert calm.evaluate("document.getAnimations().length") == 0
    context.close()


def test_keys_do_not_leave_the_widget(page: object) -> None:
    page.evaluate("window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key))")
    page.locator("input[type=range]").first.press("ArrowRight")
    page.get_by_role("button", name="Close this head").press("Enter")
    assert page.evaluate("heard") == []


def test_maps_stay_in_place_while_closed_heads_go_by(page: object) -> None:
    page.get_by_role("button", name="Close this head").click()
    head, tops = page.locator("main input[type=range]").nth(1), set()
    head.press("Home")
    for _ in range(12):
        page.wait_for_timeout(40)
        tops.add(page.evaluate("document.querySelector('canvas').getBoundingClientRect().top + scrollY"))
        head.press("ArrowRight")
    assert len(tops) == 1
