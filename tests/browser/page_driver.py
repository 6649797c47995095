"""Driving the page: opening it, reading its state, waiting for it, choosing a run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect


def open_app(new_page: Callable[..., Page], size=(1440, 900), theme="light", locale="en-US") -> Page:
    page = new_page(viewport={"width": size[0], "height": size[1]}, locale=locale)
    page.goto(f"/?__theme={theme}")
    expect(page.locator(".one-head .caption b").first).to_be_visible(timeout=40_000)
    expect(page.locator(".sum td").first).to_be_attached()
    wait_until(page, "s.state.run && s.shown.story")  # the last request of the first screen
    return page


def page_state(page: Page, expression: str) -> Any:
    """A value of the page's own state: `s.state.snapshot`, `s.shown.look.steps` …"""
    return page.evaluate(f"import('/ours/js/store.js').then((s) => {expression})")


def wait_until(page: Page, expression: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not page_state(page, expression):
        assert time.monotonic() < deadline, f"never became true: {expression}"
        page.wait_for_timeout(50)


def pick_run(page: Page, name: str) -> None:
    """Picks it in the list, by its name or by what it is called there."""
    called = page.evaluate(
        """(name) => Promise.all([import('/ours/js/sidebar.js'), import('/ours/js/store.js')])
            .then(([{ choices }, { shown }]) => choices(shown.runs).find(([, value]) => value === name)[0])""",
        name,
    )
    page.locator("#run input").click()
    page.locator(f"#run [role=option][aria-label={json.dumps(called, ensure_ascii=False)}]").click()


def shown_run(page: Page) -> str:
    return page.locator("#run input").input_value()


def choose_run(page: Page, name: str) -> None:
    pick_run(page, name)
    wait_until(page, f"s.state.run === '{name}' && s.shown.story.name === '{name}'")
    page.wait_for_function("[...document.querySelectorAll('.live.stale')].every((e) => !e.checkVisibility())")


def figure_data(page: Page, selector: str) -> list[dict[str, Any]]:
    """The traces that Plotly holds for a live figure, every array as a list; NaN is None."""
    page.wait_for_function(
        "(selector) => document.querySelector(selector)?.querySelector('.js-plotly-plot')?._fullLayout", arg=selector
    )
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(
        """(selector) => {
            const { data } = document.querySelector(selector).querySelector('.js-plotly-plot');
            const plain = (value) => {
                if (typeof value === 'number') return Number.isNaN(value) ? null : value;
                if (ArrayBuffer.isView(value)) return Array.from(value, plain);
                if (Array.isArray(value)) return value.map(plain);
                return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)])) : value;
            };
            return data.map(plain);
        }""",
        selector,
    )


def place_of(page: Page, selector: str, x: float, y: float) -> tuple[float, float]:
    """Where on the screen a live figure has the point (x, y) of its first axes."""
    page.locator(f"{selector} .js-plotly-plot").scroll_into_view_if_needed()
    return tuple(
        page.evaluate(
            """([selector, x, y]) => {
                const plot = document.querySelector(selector).querySelector('.js-plotly-plot'), box = plot.getBoundingClientRect();
                const { xaxis, yaxis } = plot._fullLayout;
                return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)];
            }""",
            [selector, x, y],
        )
    )


def hover_text(page: Page, selector: str) -> str:
    return page.locator(f"{selector} .hoverlayer").text_content() or ""
