"""The first page shows what the model computed, at every size, in both languages and on both grounds."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from app import shipped
from app.i18n import WORDS
from app.looking import look
from app.main import FIRST_HEAD, FIRST_INPUT

SHOTS = Path(__file__).resolve().parents[2] / ".screenshots"
SIZES = [(1440, 900), (1920, 1080), (390, 844)]


def open_first_page(new_page: Callable[..., Page], size=(1440, 900), theme="light", locale="en-US") -> Page:
    page = new_page(viewport={"width": size[0], "height": size[1]}, locale=locale)
    page.goto(f"/?__theme={theme}")
    expect(page.locator("#one-head .js-plotly-plot")).to_be_visible(timeout=30_000)
    expect(page.locator("#all-heads .js-plotly-plot")).to_be_visible()
    return page


def shown_weights(page: Page, plot: str, trace: int = 0) -> np.ndarray:
    """The numbers behind a heatmap, read back out of the page."""
    script = """([plot, trace]) => {
        const z = document.querySelector(`#${plot} .js-plotly-plot`)._fullData[trace].z;
        return Array.from(z, row => Array.from(row, cell => cell ?? NaN));
    }"""
    return np.array(page.evaluate(script, [plot, trace]))


def assert_shown(page: Page, plot: str, weights: np.ndarray, trace: int = 0) -> None:
    """Equal but for the last bit, which depends on how many threads the app's process has."""
    np.testing.assert_allclose(shown_weights(page, plot, trace), weights, atol=1e-6)


def caption(page: Page) -> str:
    return page.locator("#caption").inner_text()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_looks_right_everywhere(new_page, size, theme, locale):
    page = open_first_page(new_page, size, theme, locale)
    language = locale[:2]
    expect(page.locator("#lead")).to_have_text(WORDS[language]["lead"])
    expect(page.locator("#about")).to_contain_text("55,040")
    assert "93" in caption(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
        "the page is wider than the screen"
    )
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"first-{size[0]}-{theme}-{language}.png", full_page=True)


def test_shows_what_the_model_computed(new_page):
    page = open_first_page(new_page)
    seen = look(shipped.load(), FIRST_INPUT)
    layer, head = map(int, FIRST_HEAD.split("."))
    assert_shown(page, "one-head", seen.weights[layer, head])
    for i, weights in enumerate(seen.weights.reshape(-1, *seen.weights.shape[2:])):
        assert_shown(page, "all-heads", weights, i)


def test_another_head_and_another_input_move_the_pictures(new_page):
    page = open_first_page(new_page)
    page.locator("#head").get_by_text("0.2", exact=True).click()
    page.locator("#input textarea").fill("abcdeabcde")
    seen = look(shipped.load(), "abcdeabcde")
    role, share = seen.role(0, 2)
    sentence = WORDS["en"][f"role_{role}"].format(head="0.2", share=share, repeats=seen.repeats, length=10)
    expect(page.locator("#caption")).to_have_text(sentence)
    page.wait_for_function("document.querySelector('#one-head .js-plotly-plot')._fullData[0].z.length === 10")
    assert_shown(page, "one-head", seen.weights[0, 2])


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_unreadable_input_is_answered_beside_the_box_and_nothing_is_lost(new_page, locale):
    page = open_first_page(new_page, locale=locale)
    before = shown_weights(page, "one-head")
    problem = page.locator("#problem textarea")
    for text in ["", "a", "a1b2", "a" * 65, "</script><img src=x onerror=alert(1)>", "🙂🙂", "中文", "שלום"]:
        page.locator("#input textarea").fill(text)
        expect(problem).to_be_visible()
        sentence = problem.input_value()
        assert sentence and "Traceback" not in sentence
        assert any("\u4e00" <= c <= "\u9fff" for c in sentence if c not in text) == (locale == "zh-CN")
        np.testing.assert_array_equal(shown_weights(page, "one-head"), before)
        page.locator("#input textarea").fill(FIRST_INPUT)
        expect(problem).to_be_hidden()
