"""Open pages of the built site and keep count of what goes wrong on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from axe_playwright_python.sync_playwright import Axe

WIDE = (
    "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
)


@dataclass
class Visit:
    """A page in a browser, with the requests that left the site and the complaints of the console."""

    page: object
    foreign: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open_details(self) -> None:
        """Unfold every hint, so that what it holds is looked at too."""
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")

    def darken(self) -> None:
        """Press the theme's switch until the page is dark (the switch goes round auto, light, dark)."""
        for _ in range(3):
            if self.page.evaluate("localStorage.mode") != "dark":
                self.page.locator(".theme-switch-button").first.click()

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")

    def axe(self) -> list[str]:
        """axe's serious and critical findings, one line each."""
        # axe's preload would load style sheets anew with the page's own address as base, and miss
        found = (
            Axe()
            .run(self.page, options={"preload": False, "resultTypes": ["violations"]})
            .response["violations"]
        )
        return [
            f"{rule['id']} ({rule['impact']}): {node['html'][:160]}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]


@pytest.fixture
def visit(chromium, site) -> Iterator[Callable[..., Visit]]:
    """``visit("book/notation.html", dark=True, width=320)`` opens a page; foreign requests are noted and refused."""
    contexts = []

    def open_page(
        path: str,
        *,
        dark: bool = False,
        width: int = 1280,
        scripts: bool = True,
        reduced: bool = False,
        base: str | None = None,
    ) -> Visit:
        base = base or site.url
        context = chromium.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if reduced else "no-preference",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(90_000)  # a machine under load is slow, not wrong
        contexts.append(context)
        seen = Visit(context.new_page())

        def guard(route) -> None:
            url = route.request.url
            if url.startswith((base, "data:", "blob:")):
                route.continue_()
            else:
                seen.foreign.append(url)
                route.abort()

        context.route("**/*", guard)
        seen.page.on("console", lambda m: m.type in ("error", "warning") and seen.complaints.append(m.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("response", lambda r: r.status >= 400 and seen.complaints.append(f"{r.status} {r.url}"))
        seen.page.goto(base + path, wait_until="load")
        if scripts:
            seen.page.evaluate(
                "window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => 1) : 1"
            )
        return seen

    yield open_page
    for context in contexts:
        context.close()
