"""`make bench-ui`: speed of the page in the browser, compared with plain Gradio and BertViz in the same run."""

from __future__ import annotations

import os
import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from bertviz import model_view
from playwright.sync_api import Browser, sync_playwright

from app.service.bertviz_frame import read_package_file
from tests.bench.ui_busy import busy
from tests.bench.ui_measure import moves, new_page, p95
from tests.browser.conftest import CHROMIUM_ARGS, LIBRARIES, _chromium
from tests.browser.page_driver import choose_run, open_app, page_state

ROOT = Path(__file__).resolve().parents[2]
OPENINGS = 5
DRAGGED_SECONDS = 3

SLIDE = """async ([frames]) => {
    const input = document.querySelector('#frame input[type=range]');
    const took = [];
    for (let i = 1; i <= frames; i++) {
        const value = i % 24;
        const began = performance.now();
        input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
        input.dispatchEvent(new Event('change', { bubbles: true }));
        for (;;) {
            const plot = document.querySelector('#plot .js-plotly-plot');
            if (plot?.data?.[0]?.name === String(value) || performance.now() - began > 5000) break;
            await new Promise((done) => setTimeout(done, 4));
        }
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        took.push(performance.now() - began);
    }
    return took;
}"""
LONG_TASKS = """() => {
    window.longTasks = [];
    new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((e) => e.duration)))
        .observe({ type: 'longtask', buffered: true });
}"""


FRAMES = """() => {
    Object.assign(window, { counting: true, frames_drawn: 0 });
    const count = () => { window.frames_drawn++; if (window.counting) requestAnimationFrame(count); };
    requestAnimationFrame(count);
}"""
# The arrays are here: the grid of all heads, drawn from nothing to the frame that shows it.
PAINT_GRID = """async () => {
    const { player } = await import('/ours/js/live/page.js');
    const grid = [...player.figures].find(({ box }) => box.matches('.grid'));
    const took = [];
    for (let i = 0; i < 3; i++) {
        grid.Plotly.purge(grid.plot);
        const began = performance.now();
        await grid.draw();
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        took.push(performance.now() - began);
    }
    return took.sort((a, b) => a - b)[1];
}"""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextmanager
def served(side: str) -> Iterator[str]:
    port = free_port()
    app = subprocess.Popen([sys.executable, "-m", "tests.bench.ui_app", side, str(port)], cwd=ROOT)
    url = f"http://127.0.0.1:{port}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        for _ in range(600):
            try:
                opener.open(url, timeout=5).close()
                break
            except OSError:
                if app.poll() is not None:
                    raise SystemExit(f"The {side} side did not start.") from None
                time.sleep(0.2)
        yield url
    finally:
        app.terminate()
        app.wait(20)


def redraws(browser: Browser, ours: str, bare: str) -> None:
    print("A move, all pictures of the tab (goal: p95 ≤ 50 ms to 256 tokens, ≤ 120 ms at 512, no request)")
    page = open_app(new_page(browser, ours))
    last = page_state(page, "s.shown.look.steps.length") - 1
    moves(page, "another head", [{"layer": i % 2, "head": i % 4} for i in range(8)])
    moves(page, "another snapshot", [{"snapshot": i % (last + 1)} for i in range(last + 1)])
    moves(page, "another snapshot, as arcs", [{"focus": "arcs", "snapshot": i % (last + 1)} for i in range(last + 1)])
    for tokens in (64, 256, 512):
        page = open_app(new_page(browser, ours))
        choose_run(page, f"usual-{tokens}")
        page.wait_for_timeout(2500)
        moves(page, f"another head, {tokens} tokens", [{"layer": i % 2, "head": i % 4} for i in range(8)])
        moves(page, f"another snapshot, {tokens} tokens", [{"snapshot": i % 6} for i in range(6)])
    page = open_app(new_page(browser, ours))
    choose_run(page, "parity-lstm")
    page.locator("#tab-gates-button").click()
    page.wait_for_timeout(2500)
    moves(page, "another unit", [{"unit": i} for i in range(16)])
    moves(page, "another snapshot, gates", [{"snapshot": i} for i in range(16)])
    usual = browser.new_context(base_url=bare).new_page()
    usual.goto("/")
    usual.locator("#plot .js-plotly-plot .main-svg").first.wait_for(timeout=60_000)
    took = usual.evaluate(SLIDE, [20])
    print(f"  {'one map through gr.Plot':<34} p95 {p95(took):6.1f} ms")


def dragging(browser: Browser, ours: str) -> None:
    print("The playhead is dragged (goal: ≥ 20 frames a second)")
    page = open_app(new_page(browser, ours))
    page.wait_for_timeout(2500)
    box = page.locator(".timeline .plot").bounding_box()
    x, y = box["x"] + 0.2 * box["width"], box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(FRAMES)
    began = time.perf_counter()
    steps = 0
    while time.perf_counter() - began < DRAGGED_SECONDS:
        steps += 1
        page.mouse.move(x + 0.6 * box["width"] * abs((steps / 60) % 2 - 1), y)
    frames = page.evaluate("() => { window.counting = false; return window.frames_drawn }")
    page.mouse.up()
    print(f"  {frames / DRAGGED_SECONDS:.0f} frames a second")


def openings(browser: Browser, ours: str, bare: str) -> None:
    print(
        "From an empty tab to the first content (goal: ≤ 0.5 × bare) and to a figure that moves (goal: ≤ 1.2 × bare)"
    )
    sides = {
        "content": (ours, ".one-head .plot:has(.poster), .one-head .main-svg"),
        "moving": (ours, ".one-head .main-svg"),
        "bare": (bare, "#plot .js-plotly-plot .main-svg"),
    }
    took: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(OPENINGS):
        for side, (url, picture) in sides.items():
            context = browser.new_context()
            page = context.new_page()
            began = time.perf_counter()
            page.goto(url, wait_until="commit")
            page.locator(picture).first.wait_for(timeout=60_000)
            took[side].append(time.perf_counter() - began)
            context.close()
    medians = {side: statistics.median(times) for side, times in took.items()}
    for side, name in (("content", "first content"), ("moving", "figure that moves")):
        print(
            f"  {name:<18} {medians[side]:.2f} s, bare {medians['bare']:.2f} s: {medians[side] / medians['bare']:.2f}"
        )


def wide(browser: Browser, ours: str) -> None:
    print("12 × 12 heads, 64 tokens (goal: the grid in ≤ 1/100 of BertViz's model view, a move ≤ 130 ms)")
    page = open_app(new_page(browser, ours))
    page.wait_for_timeout(2000)
    page.evaluate(LONG_TASKS)
    began = time.perf_counter()
    choose_run(page, "wide-64")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    grid = time.perf_counter() - began
    painted = page.evaluate(PAINT_GRID)
    moves(page, "another head", [{"layer": i % 12, "head": 5 * i % 12} for i in range(12)])
    moves(page, "another snapshot", [{"snapshot": i % 6} for i in range(6)])
    model_view = bertviz_model_view(browser)
    print(f"  grid painted in {painted:.0f} ms; BertViz {model_view:.2f} s: 1/{1000 * model_view / painted:.0f}")
    print(f"  from the click, server included, {grid:.2f} s: 1/{model_view / grid:.0f}")
    print("12 × 12 heads, 512 tokens (goal: no freeze over 1 s)")
    page.evaluate("() => { window.longTasks.length = 0 }")
    choose_run(page, "wide-512")
    page.wait_for_timeout(1500)
    print(f"  longest freeze {max(page.evaluate('() => window.longTasks'), default=0):.0f} ms")


def bertviz_model_view(browser: Browser) -> float:
    """BertViz's own model view of as many maps, its scripts at hand instead of fetched."""
    weights = torch.rand(12, 1, 12, 64, 64).softmax(-1)
    html = model_view(list(weights), [str(i) for i in range(64)], html_action="return").data
    jquery = read_package_file("XStatic-jQuery", "xstatic/pkg/jquery/data/jquery.min.js")
    d3 = read_package_file("mpld3", "mpld3/js/d3.v5.min.js")
    loader = "const require = { config() {} }, requirejs = (names, draw) => draw(jQuery, d3);"
    scripts = "".join(f"<script>{script}</script>" for script in (jquery, d3, loader))
    page = browser.new_context().new_page()
    began = time.perf_counter()
    page.set_content(
        scripts + re.sub(r'<script src="[^"]*"></script>', "", html), wait_until="commit", timeout=300_000
    )
    page.wait_for_function("document.querySelectorAll('#vis svg *, svg *').length > 10000", timeout=300_000)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    return time.perf_counter() - began


def main() -> None:
    if LIBRARIES.exists():
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join([str(LIBRARIES), os.environ.get("LD_LIBRARY_PATH", "")])
    with served("ours") as ours, served("bare") as bare, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=CHROMIUM_ARGS)
        busy(browser, ours)
        redraws(browser, ours, bare)
        dragging(browser, ours)
        openings(browser, ours, bare)
        wide(browser, ours)
        browser.close()


if __name__ == "__main__":
    main()
