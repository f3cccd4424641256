"""How quickly the widgets answer: on the page in Chromium, and live through a kernel in JupyterLab.

``python benchmarks/widgets.py [page] [lab]`` prints, per widget, handler and draw (median and 95th percentile), the
time from an input event to the second animation frame after it, and the round trip through the kernel.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
NAMES = ("look_up", "head_splitter", "saturation", "mask_composer", "head_gallery", "lane_tracer")
WHICH = {"lane_tracer": 1}  # the slider that asks the kernel; elsewhere the first
# One move of a slider: the time its handlers take, and the time until the second frame is drawn.
MOVE = """async ([name, count]) => {
  const root = document.querySelector(`[data-widget=${name}]`), sliders = [...root.querySelectorAll("input[type=range]:enabled")];
  const frame = () => new Promise(requestAnimationFrame), handler = [], frames = [];
  for (let i = 0; i < count; i++) {
    const slider = sliders[i % 2 ? 0 : Math.floor(i / 2) % sliders.length];
    await frame();
    slider.value = String((Number(slider.value) + 1) % (Number(slider.max) + 1));
    const start = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    root.offsetHeight;  // layout belongs to the draw
    handler.push(performance.now() - start);
    await frame(); await frame();
    frames.push(performance.now() - start);
  }
  return [handler, frames];
}"""
TRIP = """async ([which, count, at]) => {
  const root = document.querySelectorAll(".mha-view")[which], slider = root.querySelectorAll("input[type=range]")[at];
  const tell = root.querySelector(".mha-tell"), trips = [];
  for (let i = 0; i < count; i++) {
    const before = tell.textContent, start = performance.now();
    const low = Number(slider.min), high = Number(slider.max), far = Math.max(1, Math.round((high - low) / 5));
    slider.value = String(low + ((Number(slider.value) - low + far) % (high - low + 1)));
    const drawn = new Promise((done) => {
      const watch = new MutationObserver(() => { if (tell.textContent !== before) { watch.disconnect(); done(true); } });
      watch.observe(tell, { childList: true, characterData: true, subtree: true });
      setTimeout(() => done(false), 3000);  // the words stayed the same: no trip to count
    });
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    if (await drawn) trips.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 60));
  }
  return trips;
}"""


def spread(times: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    return f"p50 {statistics.median(times):6.1f} ms   p95 {statistics.quantiles(times, n=20)[-1]:6.1f} ms"


def on_the_page(browser: object) -> None:
    """Handler and draw, and input to the second frame, without a kernel."""
    from mha_teach.widgets import (
        HeadGallery,
        HeadSplitter,
        LaneTracer,
        LookUp,
        MaskComposer,
        Saturation,
        static_bundle,
    )

    with tempfile.TemporaryDirectory() as folder:
        page_file = Path(folder) / "page.html"
        blocks = LookUp().html() + HeadSplitter().html() + Saturation().html() + MaskComposer().html()
        blocks += HeadGallery(closed=True).html()  # with all its drawings
        blocks += LaneTracer(path="split_by_view").html()
        page_file.write_text(
            f"<!doctype html><meta charset=utf-8>{blocks}<script>{static_bundle()}</script>", "utf-8"
        )
        page = browser.new_page(viewport={"width": 900, "height": 1000})
        page.goto(page_file.as_uri())
        for name in NAMES:
            page.evaluate(MOVE, [name, 40])
            handler, frames = page.evaluate(MOVE, [name, 200])
            print(f"{name:14} page   handler and draw      {spread(handler)}")
            print(f"{name:14} page   input to second frame {spread(frames)}")
        page.close()


def in_jupyterlab(browser: object) -> None:
    """From an input event to the changed view, through the kernel."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "widgets"))
    import test_jupyterlab as driven

    with tempfile.TemporaryDirectory() as folder, driven.serve(Path(folder)) as address:
        page = browser.new_page(viewport={"width": 1300, "height": 3600})
        driven.run_all(page, address)
        time.sleep(2)
        for which, name in enumerate(NAMES):
            at = WHICH.get(name, 0)
            page.evaluate(TRIP, [which, 5, at])
            print(f"{name:14} kernel round trip          {spread(page.evaluate(TRIP, [which, 40, at]))}")
        page.close()


def main(wanted: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = player.chromium.launch(executable_path=path, args=FLAGS.split())
        if "page" in wanted:
            on_the_page(browser)
        if "lab" in wanted:
            in_jupyterlab(browser)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or ["page", "lab"])
