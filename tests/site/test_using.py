"""What a reader does on the site: search, download, change the light, print, stop the picture, read without scripts."""

from __future__ import annotations

import math
import re

import nbformat
import pytest
from test_pages import NOTEBOOKS, PAGES, ROOT

from mha_teach import exercises


def test_search_finds_a_word(visit):
    seen = visit("search.html?q=broadcasts")
    seen.page.wait_for_selector("#search-results li", timeout=10_000)
    assert "Notation" in seen.page.inner_text("#search-results")
    assert seen.complaints == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_chapter_offers_its_notebook(visit, name, tmp_path):
    page = visit(f"{name}.html").page
    link = page.locator(f'article a[href="{name.split("/")[1]}.ipynb"]').first
    with page.expect_download() as waiting:
        link.click()
    target = tmp_path / "x.ipynb"
    waiting.value.save_as(target)
    assert target.read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()
    nbformat.validate(nbformat.read(target, as_version=4))


def test_the_wheel_is_offered(site):
    import zipfile

    [wheel] = (site.html / "downloads").glob("mha_teach-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "mha_teach/attention.py" in names
    assert "mha_teach/theme/palette.json" in names
    assert not [name for name in names if name.startswith(("tests", "book", "notebooks"))]


def test_the_light_can_be_changed_and_stays(visit):
    seen = visit("book/index.html")
    page = seen.page
    shade = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(shade)
    seen.darken()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate(shade) != before


def test_a_wide_formula_scrolls_in_its_own_box_and_by_keyboard(visit):
    page = visit("book/notation.html", width=320).page
    page.wait_for_timeout(300)
    box = page.locator("div.math").first
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")
    assert box.get_attribute("tabindex") == "0"


def test_without_scripts_the_page_still_says_it_all(visit):
    page = visit("book/index.html", scripts=False).page
    assert page.locator(".mha-hero svg").first.is_visible()
    assert "0.50 dog + 0.50 man" in page.locator(".mha-hero").text_content()
    assert not page.locator(".hero-controls").is_visible()
    for name in NOTEBOOKS:
        page = visit(f"{name}.html", scripts=False).page
        for widget in page.locator(".mha-widget").all():
            assert widget.is_visible()
            assert widget.locator("img:visible, svg:visible").count() > 0
            assert len(widget.inner_text().strip()) > 20


def test_print_is_light_and_without_furniture(visit):
    for name in [PAGES[0], f"{NOTEBOOKS[0]}.html"]:
        page = visit(name, dark=True).page
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        ink = page.evaluate("getComputedStyle(document.querySelector('article p')).color")
        assert sum(map(int, re.findall(r"\d+", ink)[:3])) < 300
        for furniture in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer", ".hero-controls"):
            assert not page.locator(furniture).first.is_visible()


def weights(*scores: float) -> list[str]:
    """The softmax of ``scores`` as the picture writes it."""
    raw = [math.exp(s) for s in scores]
    return [f"{x / sum(raw):.2f}" for x in raw]


def test_the_landing_picture_is_true_moves_and_can_be_stopped(visit):
    page = visit("book/index.html").page
    both, _, _ = weights(4, 0, 4)
    sure, _, _ = weights(4, 0, 0)
    told = page.locator(".hero-num")
    page.get_by_role("button", name="Swap dog and man").click()
    assert told.all_text_contents() == [f"{both} dog + {both} man", f"{sure} man", f"{sure} dog"]
    page.get_by_role("button", name="Swap dog and man").click()
    assert told.all_text_contents() == [f"{both} dog + {both} man", f"{sure} dog", f"{sure} man"]
    where = "document.querySelector('.hero-token').getAttribute('transform')"
    page.get_by_role("button", name="Play").click()
    still = page.evaluate(where)
    page.wait_for_function(f"{where} !== {still!r}", timeout=8000)
    page.get_by_role("button", name="Pause").click()
    still = page.evaluate(where)
    page.wait_for_timeout(400)
    assert page.evaluate(where) == still


def test_the_landing_picture_waits_when_motion_is_unwelcome(visit):
    page = visit("book/index.html", reduced=True).page
    assert page.get_by_role("button", name="Play").is_visible()
    page.wait_for_timeout(3200)
    assert (
        page.evaluate("document.querySelector('.hero-token').getAttribute('transform')") == "translate(60 38)"
    )


def test_the_page_for_teachers_lists_every_exercise_and_links_it(visit):
    page = visit("book/instructors.html").page
    listed = page.locator(".mha-listed tbody th code").all_text_contents()
    assert listed[: len(exercises.all())] == [exercise.id for exercise in exercises.all()]
    for name in NOTEBOOKS:
        assert page.locator(f'.mha-listed th a[href="../{name}.html#exercises"]').count() >= 4


def test_the_landing_page_names_every_chapter(visit):
    page = visit("book/index.html").page
    for name in NOTEBOOKS:
        assert page.locator(f'.mha-chapters a[href="../{name}.html"]').count() == 1
