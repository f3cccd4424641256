"""JupyterLab driven for real: a notebook with all widgets, run, and moved by keyboard through the kernel."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest

CELLS = (
    "from mha_teach.widgets import HeadSplitter, LookUp, Saturation\nlook_up = LookUp(device='cpu')\nlook_up",
    "splitter = HeadSplitter(device='cpu')\nsplitter",
    "saturation = Saturation(device='cpu')\nsaturation",
    "from mha_teach.widgets import MaskComposer\nmasks = MaskComposer(device='cpu')\nmasks",
    "from mha_teach.widgets import HeadGallery\ngallery = HeadGallery(device='cpu')\ngallery",
    "from mha_teach.widgets import LaneTracer\nlanes = LaneTracer(device='cpu')\nlanes",
)
PATIENCE = 90  # seconds; a machine that is busy with other work takes long to load torch


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab of its own: own folder, own settings, no browser, no token, loopback only."""
    cells = [nbformat.v4.new_code_cell(text, id=f"cell-{i}") for i, text in enumerate(CELLS)]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), folder / "all.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    homes = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(folder / "home" / name.lower()) for name in homes}
    options = f"--no-browser --ip=127.0.0.1 --port={port} --ServerApp.port_retries=0 --allow-root".split()
    options += [
        "--IdentityProvider.token=",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options, f"--ServerApp.root_dir={folder}"],
            env={**os.environ, **own, "OMP_NUM_THREADS": "1"},
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            address = f"http://127.0.0.1:{port}/"
            give_up = time.monotonic() + PATIENCE
            while time.monotonic() < give_up:
                try:
                    urllib.request.urlopen(address + "api", timeout=2).read()
                    break
                except (urllib.error.URLError, OSError):
                    assert server.poll() is None, (folder / "lab.log").read_text()
                    time.sleep(0.25)
            else:
                pytest.fail("JupyterLab did not answer: " + (folder / "lab.log").read_text()[-2000:])
            yield address
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait(10)


def run_all(page: object, address: str) -> None:
    """Open the notebook and run it until all views stand there."""
    from playwright.sync_api import TimeoutError as Late

    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address + "lab/tree/all.ipynb?reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()
    done = page.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")).first
    for attempt in range(3):  # a kernel that is still connecting drops what it's told
        page.locator(".jp-Notebook .jp-CodeCell").first.click()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).first.click()
        try:
            done.wait_for(timeout=1000 * PATIENCE / 3)
            break
        except Late:
            if attempt == 2:
                raise
    page.locator(".mha-view").nth(len(CELLS) - 1).wait_for()


def follow_a_number(page: object, lanes: object) -> None:
    """Another path through the kernel, a step back and on without it, and a number by keyboard."""
    assert "torch computed this on cpu" in lanes.locator(".mha-timed").inner_text()
    lanes.locator("select[name=path]").select_option("split_swapped")
    lanes.get_by_text("the batch probe (2 of 2 pairs)").wait_for()
    lanes.locator("input[type=range]").nth(1).press("ArrowLeft")  # samples
    lanes.get_by_text("here split_swapped happens to be right").wait_for()
    lanes.locator("input[type=range]").first.press("ArrowLeft")
    lanes.get_by_text("Step 4 of 5").wait_for()
    third = lanes.locator(".mha-cells").nth(2)
    third.press("End")
    lanes.get_by_text("Sample 0, position 2, head 1, dim 1.").wait_for()
    third.press("ArrowLeft")
    lanes.get_by_text("Sample 0, position 2, head 1, dim 0.").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('role')") == "slider"


def draw_a_mask(page: object, masks: object) -> None:
    """By keyboard and by mouse, each stroke through the kernel; and in float16, which torch computes."""
    assert "torch computed this on cpu" in masks.locator(".mha-timed").inner_text()
    square = masks.locator(".mha-draw")
    square.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    masks.get_by_text("22 of 36 cells may look, 1 of them ahead").wait_for()
    assert page.evaluate("document.activeElement.className").endswith(
        "mha-draw"
    )  # the notebook left it alone
    box = square.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 12, box["y"] + box["height"] / 12)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 12)
    page.mouse.up()
    masks.get_by_text("1 of 6 rows are NaN").wait_for()
    masks.locator("select[name=sentinel]").select_option("1e9")
    masks.get_by_text("and yet their rows sum to 1").wait_for()
    masks.locator("select[name=float_type]").select_option("float16")
    masks.get_by_text("does not fit into float16").wait_for()
    masks.locator("input[name=n]").fill("64")
    page.keyboard.press("Enter")
    masks.get_by_text("of 4096 cells may look").wait_for()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    with serve(tmp_path) as address:
        yield address


def read_own_words(page: object, gallery: object) -> None:
    """Choose a head and close it by keyboard, then let the kernel read a sentence of one's own."""
    head = gallery.locator("input[type=range]").nth(1)
    head.focus()
    page.keyboard.press("ArrowRight")
    gallery.get_by_text("Map of L0H3").wait_for()
    gallery.get_by_role("button", name="Close this head").focus()
    page.keyboard.press("Enter")
    gallery.get_by_text("Closed, it makes the sentence vector drift").wait_for()
    gallery.locator("select[name=sentence]").select_option("-1")
    words = gallery.locator("input[name=text]")
    words.fill("Owls hunt.")
    page.keyboard.press("Enter")
    gallery.locator(".mha-down", has_text="owl").wait_for()
    assert "torch computed this on cpu" in gallery.locator(".mha-timed").inner_text()
    words.fill("antidisestablishmentarianism " * 9)
    page.keyboard.press("Enter")
    gallery.get_by_role("alert").get_by_text("more than 32 tokens").wait_for()
    assert "owl" in gallery.locator(".mha-down").nth(1).inner_text()


def test_all_widgets_live_in_jupyterlab(lab: str, chromium: object) -> None:
    from playwright.sync_api import expect

    context = chromium.new_context(viewport={"width": 1300, "height": 3600})
    page = context.new_page()
    foreign: list[str] = []
    page.on("request", lambda r: r.url.startswith((lab, "data:", "blob:", "ws:")) or foreign.append(r.url))
    run_all(page, lab)

    views = page.locator(".mha-view")
    look_up, splitter, saturation = (views.nth(i) for i in range(3))
    assert "torch computed this on cpu" in look_up.locator(".mha-timed").inner_text()
    angle = look_up.locator("input[name=angle]")
    look_up.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    expect(angle).to_have_value("5", timeout=1000 * PATIENCE)  # the field follows the kernel's answer
    look_up.locator("input[type=range]").nth(2).focus()
    page.keyboard.press("End")
    look_up.get_by_text("The 10000 further words fit not at all").wait_for()
    angle.fill("181")
    page.keyboard.press("Enter")
    assert "from -180 to 180" in look_up.get_by_role("alert").inner_text()
    plane = look_up.locator(".mha-plane")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4, steps=3)
    page.mouse.up()
    expect(angle).to_have_value("90", timeout=1000 * PATIENCE)

    assert "torch computed this on cpu" in splitter.locator(".mha-timed").inner_text()
    colours = splitter.locator("canvas").first.evaluate("""(canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 4).join())).size;
    }""")
    assert colours > 10  # JupyterLab draws before the view is on the page
    slider = splitter.locator("input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    splitter.get_by_text("2 heads of width 32").wait_for()
    page.keyboard.press("ArrowRight")
    splitter.get_by_text("4 heads of width 16").wait_for()
    assert page.evaluate("document.activeElement.type") == "range"  # the notebook did not take the focus

    saturation.locator("select[name=scale]").select_option("sqrt_d_k")
    saturation.get_by_text("Alive:").wait_for()
    saturation.locator("input[name=d_k]").fill("1025")
    page.keyboard.press("Enter")
    assert "from 1 to 1024" in saturation.get_by_role("alert").inner_text()

    draw_a_mask(page, page.locator(".mha-view", has=page.locator(".mha-draw")))
    follow_a_number(page, page.locator(".mha-view", has=page.locator(".mha-steps")))
    read_own_words(page, page.locator(".mha-view", has=page.locator(".mha-choose")))

    dark = page.evaluate("""() => {
      document.body.dataset.jpThemeLight = "false";
      return getComputedStyle(document.querySelector(".mha-view")).backgroundColor;
    }""")
    assert sum(int(n) for n in dark.strip("rgb()").split(",")) < 150
    assert foreign == []
    context.close()
