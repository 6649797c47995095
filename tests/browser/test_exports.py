"""What is kept from the page scrubs from disk: one figure, the pictures of a tab, a whole run; with the network off."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from app.service.inputs import input_from_text
from app.service.runs import shipped
from app.service.snapshot_arrays import collect_arrays
from tests.browser.page_driver import figure_data, open_app, page_state

RUN = "induction-gpt"


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """Opens a page from disk in a browser without network; its errors fail the test."""
    context, troubles = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True), []

    def open_page(path: Path) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(path.as_uri())
        page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=30_000)
        return page

    yield open_page
    context.close()
    assert not troubles


def kept(page: Page, button: str, path: Path) -> Path:
    with page.expect_download(timeout=60_000) as download:
        page.locator(button).click()
    download.value.save_as(path)
    return path


def test_a_figure_a_tab_and_a_run_scrub_without_a_network(new_page, open_file, tmp_path):
    page = open_app(new_page)
    figure_data(page, ".one-head")
    run = shipped.load(RUN).run
    weights = collect_arrays(run, input_from_text(run, page_state(page, "s.shown.look.text"))).attention[0].weights
    layer, head = page_state(page, "[s.state.layer, s.state.head]")
    files = [
        kept(page, ".one-head .keep button:has-text('HTML')", tmp_path / "figure.html"),
        kept(page, ".keep-tab", tmp_path / "tab.html"),
    ]
    with zipfile.ZipFile(kept(page, ".keep-run", tmp_path / "run.zip")) as archive:
        archive.extractall(tmp_path / "site")
    files.append(tmp_path / "site/attention-blocks.html")
    for path in files:
        shown = open_file(path)
        for snapshot in (3, len(weights) - 1):
            shown.evaluate("(state) => innerview.set(state)", {"snapshot": snapshot, "layer": layer, "head": head})
            index = shown.evaluate(
                "n => [...document.querySelectorAll('.js-plotly-plot')].findIndex((e) => e.data[0].type === 'heatmap' && e.data[0].z.length === n)",
                weights.shape[-1],
            )
            shown.evaluate("() => new Promise((done) => setTimeout(done, 300))")
            drawn = shown.evaluate(
                "i => Array.from(document.querySelectorAll('.js-plotly-plot')[i].data[0].z, (row) => Array.from(row))",
                index,
            )
            np.testing.assert_array_equal(
                np.array(drawn, np.float32), weights[snapshot, layer, head], err_msg=path.name
            )
