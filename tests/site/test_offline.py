"""The offline zip, unpacked and opened from disk: no server, no network, nothing missing."""

from __future__ import annotations

import zipfile

import pytest
from test_pages import NOTEBOOKS, PAGES, ROOT

from mha_teach.press.offline import NAME, make_offline


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory, site):
    target = tmp_path_factory.mktemp("offline")
    zipfile.ZipFile(make_offline(ROOT)).extractall(target)
    return target / NAME


def test_the_zip_holds_notebooks_and_wheel(unpacked):
    for name in NOTEBOOKS:
        assert (unpacked / f"{name}.ipynb").read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()
    assert list((unpacked / "downloads").glob("*.whl"))


def test_the_same_site_gives_the_same_zip(unpacked):
    path = make_offline(ROOT)
    first = path.read_bytes()
    assert make_offline(ROOT).read_bytes() == first


@pytest.mark.parametrize("path", PAGES)
def test_pages_open_from_disk(visit, unpacked, path):
    seen = visit(path, base=unpacked.as_uri() + "/")
    seen.page.wait_for_timeout(200)
    assert seen.foreign == []
    assert seen.complaints == []
    math = seen.page.locator(".math").count()
    if math:
        assert seen.page.locator("mjx-container").count() >= math
        assert seen.page.evaluate(
            "document.fonts.check('16px MJXTEX-I') && [...document.fonts].some(f => f.status == 'loaded')"
        )
    for widget in seen.page.locator(".mha-widget").all():
        before = widget.inner_text()
        slider = widget.locator("input[type=range]:enabled").first
        slider.press("ArrowLeft" if slider.input_value() == slider.get_attribute("max") else "ArrowRight")
        changed = "([widget, before]) => widget.innerText !== before"
        seen.page.wait_for_function(changed, arg=[widget.element_handle(), before], timeout=10_000)
    assert seen.complaints == []


def test_the_first_page_leads_to_the_book(chromium, unpacked):
    context = chromium.new_context()
    page = context.new_page()
    page.goto((unpacked / "index.html").as_uri())
    page.wait_for_url("**/book/index.html")
    assert "Multi-Head" in page.title()
    context.close()


def test_search_and_light_work_from_disk(visit, unpacked):
    seen = visit("search.html?q=broadcasts", base=unpacked.as_uri() + "/")
    seen.page.wait_for_selector("#search-results li", timeout=10_000)
    assert "Notation" in seen.page.inner_text("#search-results")
    seen.darken()
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert seen.complaints == []
    assert seen.foreign == []
