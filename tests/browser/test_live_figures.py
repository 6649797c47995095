"""An exported page of live figures, opened from disk without a server: it shows what Python says at every state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import plotly.graph_objects as go
import pytest
from playwright.sync_api import Browser, Page

from app.figures.arcs import arcs
from app.figures.attention import all_heads, one_head
from app.figures.expressions import Array, Choose, State
from app.figures.html import write_html
from app.figures.live import Live
from app.figures.report_card import report_card
from app.figures.training import timeline
from tests.app.figures.views import attention_view, training_view

SHOWN = """(i) => {
    const plain = (values) => Array.from(values, (x) => (Number.isNaN(x) ? null : x));
    const { data, _fullData } = document.querySelectorAll('.js-plotly-plot')[i];
    return data.map(({ z, text }, trace) => ({ z: z && Array.from(z, plain), y: _fullData[trace].y && plain(_fullData[trace].y), text }));
}"""


@pytest.fixture(scope="module")
def figures() -> list:
    view = attention_view()
    return [all_heads(view), one_head(view), report_card(view), timeline(training_view()), arcs(view)]


@pytest.fixture
def export(browser: Browser, tmp_path) -> Iterator[Callable[..., Page]]:
    """Writes figures as a file and opens it without a network; an error of the page fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    troubles: list[str] = []

    def open_file(figures: list[Live], **state) -> Page:
        path = tmp_path / "figures.html"
        write_html(path, *figures, **state)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
        page.goto(path.as_uri())
        page.wait_for_function(
            "count => document.querySelectorAll('.js-plotly-plot .main-svg').length >= count", arg=2 * len(figures)
        )
        return page

    yield open_file
    context.close()
    assert not troubles


@pytest.fixture
def exported(export, figures) -> Page:
    return export(figures, snapshot=2, layer=1, head=0, query=2, key=1)


def set_state(page: Page, **state) -> None:
    page.evaluate(
        "async (state) => { innerview.set(state); await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }",
        state,
    )


def plain(values) -> list | None:
    return None if values is None or len(values) == 0 else [None if np.isnan(x) else float(x) for x in values]


def test_it_shows_what_python_says_at_every_state(exported, figures):
    rng = np.random.default_rng(1)
    for _ in range(12):
        state = {
            "snapshot": int(rng.integers(3)),
            "layer": int(rng.integers(2)),
            "head": int(rng.integers(3)),
            "query": 1,
            "key": 0,
        }
        state["theme"] = str(rng.choice(["light", "dark"]))
        set_state(exported, **state)
        for i, figure in enumerate(figures):
            expected, shown = figure.at(**state), exported.evaluate(SHOWN, i)
            for trace, drawn in zip(expected.data, shown, strict=True):
                if trace.type == "heatmap":
                    assert drawn["z"] == [plain(row) for row in trace.z]
                elif trace.y is not None and len(trace.y):
                    np.testing.assert_allclose(np.array(drawn["y"], float), np.array(trace.y, float), rtol=1e-6)
                if trace.text is not None and i == 2:
                    assert drawn["text"] == list(trace.text)
            sentence = exported.locator(".caption").nth(i).inner_text()
            assert sentence == figure.sentence(**state).replace("**", "")


def test_clicks_and_arrow_keys_set_the_state(exported):
    exported.locator(".plot").nth(1).focus()
    exported.keyboard.press("ArrowRight")
    exported.keyboard.press("ArrowUp")
    state = exported.evaluate("innerview.state")
    assert (state["query"], state["key"]) == (1, 2)
    exported.locator(".plot").nth(0).focus()
    for _ in range(5):
        exported.keyboard.press("ArrowRight")
    assert exported.evaluate("innerview.state.head") == 2, "no further than the last head"
    box = exported.locator(".plot").nth(0).locator(".nsewdrag").bounding_box()
    exported.mouse.click(box["x"] + box["width"] * 0.1, box["y"] + box["height"] * 0.1)
    assert exported.evaluate("[innerview.state.layer, innerview.state.head]") == [0, 0]


def test_the_playhead_is_dragged_through_the_snapshots(exported):
    box = exported.locator(".plot").nth(3).locator(".nsewdrag").bounding_box()
    middle = box["y"] + box["height"] / 2
    exported.mouse.move(box["x"] + box["width"] - 2, middle)
    exported.mouse.down()
    assert exported.evaluate("innerview.state.snapshot") == 3
    exported.mouse.move(box["x"] + 2, middle, steps=8)
    assert exported.evaluate("innerview.state.snapshot") == 0
    exported.mouse.up()
    exported.mouse.move(box["x"] + box["width"] - 2, middle)
    assert exported.evaluate("innerview.state.snapshot") == 0, "let go"


def test_a_curve_loses_all_its_points_and_has_others_again(export):
    curves = [Array(f"curve{i}", np.arange(n, dtype=np.float32)) for i, n in enumerate((4, 0, 3))]
    figure = go.Figure(go.Scatter(x=[], y=[]), {"xaxis": {"range": [0, 4]}, "yaxis": {"range": [0, 4]}})
    chosen = Choose(State("curve"), [curve[()] for curve in curves])
    page = export([Live(figure, {"data[0].x": chosen, "data[0].y": chosen}, state={"curve": 0})])
    for curve in (1, 2, 0, 1, 0):
        set_state(page, curve=curve)
        points = "document.querySelector('.scatterlayer .js-line')?.getAttribute('d').match(/[ML,]/g).length ?? 0"
        assert (page.evaluate(SHOWN, 0)[0]["y"] or []) == list(range(len(curves[curve].values)))
        assert bool(page.evaluate(points)) == (curve != 1)
