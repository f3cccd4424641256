"""The pages of solutions as a reader meets them: accessible when open, closed at first, and in no search result."""

from __future__ import annotations

import json

import pytest
from test_pages import NOTEBOOKS, dead_links, weigh

PAGES = [name.replace("notebooks/", "solutions/") + ".html" for name in NOTEBOOKS]


@pytest.fixture(scope="module")
def heaviest(site) -> str:
    """The page with the most to go wrong."""
    return max(PAGES, key=lambda page: (site.html / page).stat().st_size)


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 320)], ids=["light-1280", "dark-320"])
def test_a_page_of_solutions_is_quiet_accessible_and_fits(visit, heaviest, dark, width):
    seen = visit(heaviest, dark=dark, width=width)
    box = seen.page.locator("article details").first
    assert box.locator("summary").first.is_visible()
    assert not box.locator("pre").first.is_visible()
    box.locator("summary").first.press("Enter")
    assert box.locator("pre").first.is_visible()
    seen.open_details()
    assert seen.overflow() <= 0
    assert seen.axe() == []
    assert seen.foreign == [] and seen.complaints == []


def test_every_chapter_has_one_and_its_links_are_alive(site):
    assert dead_links(site.html, PAGES) == []
    for page in PAGES:
        text = (site.html / page).read_text("utf-8")
        assert '<meta content="noindex" name="robots"' in text
        assert sum(weigh(site.html, page).values()) <= 300_000


def test_the_search_knows_no_solution(site):
    index = (site.html / "searchindex.js").read_text("utf-8")
    found = json.loads(index[len("Search.setIndex(") : -1])
    hidden = {number for number, name in enumerate(found["docnames"]) if name.startswith("solutions/")}
    assert len(hidden) == len(PAGES)
    for words in (found["terms"], found["titleterms"]):
        told = [
            word
            for word, where in words.items()
            if hidden & set(where if isinstance(where, list) else [where])
        ]
        assert told == []
    assert len(found["terms"]["softmax"]) > 1, "the rest of the book is found"
