"""Fine-tuned and from scratch, at the foot of the Train tab: the chart shows the accuracies of the runs."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from app.i18n import translate_message
from app.service.experiments import fine_tuning
from tests.browser.page_driver import figure_data, open_app

WAYS = ("tuned", "scratch")
NAMES = {"tuned": "fine-tuned", "scratch": "from scratch"}


def open_section(new_page, size=(1440, 900), theme="light", locale="en-US") -> Page:
    page = open_app(new_page, size, theme, locale)
    page.locator("#tab-train-button").click()
    expect(page.locator(".fine-tuning .main-svg").first).to_be_attached(timeout=40_000)
    page.locator(".fine-tuning").scroll_into_view_if_needed()
    expect(line_names(page)).to_have_count(2)
    return page


def line_names(page: Page) -> Locator:
    """Beside the lines, or, on a phone, in a legend above."""
    return page.locator(".fine-tuning").locator(".annotation-text, .legendtext")


def accuracies() -> dict[str, np.ndarray]:
    """(seed, labels)"""
    return {way: np.array(fine_tuning.comparison()[way]["accuracy"]) for way in WAYS}


def download(page: Page, kind: str) -> Path:
    with page.expect_download() as waiting:
        page.locator(".fine-tuning .keep button", has_text=kind).click()
    return waiting.value.path()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_numbers_on_screen_are_those_of_the_runs(new_page, locale):
    page, facts, measured = open_section(new_page, locale=locale), fine_tuning.comparison(), accuracies()
    percent = "{:.0f}%" if locale == "zh-CN" else "{:.0f} %"
    bold = [page.locator(".fine-tuning .caption b").nth(i).inner_text() for i in range(3)]
    assert bold == ["8", *(percent.format(100 * measured[way][:, 0].mean()) for way in WAYS)]
    names = line_names(page).all_text_contents()
    assert sorted(names) == sorted(translate_message(NAMES[way], locale[:2]) for way in WAYS)
    drawn = figure_data(page, ".fine-tuning")
    for way, seeds, mean in zip(WAYS, drawn[:2], drawn[2:], strict=True):
        np.testing.assert_allclose(np.array(mean["y"]), measured[way].mean(0), atol=1e-6)
        each = np.array(seeds["y"], float).reshape(len(facts["seeds"]), -1)[:, :-1]
        np.testing.assert_allclose(each, measured[way], atol=1e-6)
    rows = list(csv.DictReader(io.StringIO(download(page, "CSV").read_text("utf-8"))))
    for way in WAYS:
        listed = {(int(r["seed"]), int(r["labels"])): float(r["accuracy"]) for r in rows if r["way"] == way}
        assert listed == {
            (seed, n): measured[way][s, i]
            for s, seed in enumerate(facts["seeds"])
            for i, n in enumerate(facts["labels"])
        }


def test_under_the_pointer_and_the_keys_are_mean_and_range(new_page):
    page, measured = open_section(new_page), accuracies()
    picture, tip = page.locator(".fine-tuning .plot"), page.locator(".fine-tuning .tip")
    box = picture.bounding_box()
    page.mouse.move(box["x"] + 64, box["y"] + 60)  # at the left edge: the fewest labels
    for at in (0, 1):
        expect(tip).to_have_text(re.compile(rf"^labelled sentences {(8, 16)[at]}\n"))
        lines = tip.inner_text().split("\n")
        for line, way in zip(lines[1:], WAYS, strict=True):
            column = 100 * measured[way][:, at]
            name = NAMES[way]
            span = f"from {column.min():.1f} % to {column.max():.1f} % in 5 seeds"
            assert line == f"{name}: {column.mean():.1f} %, {span}"
        picture.focus()
        page.keyboard.press("ArrowRight")


@pytest.mark.parametrize("size", [(1440, 900), (1920, 1080), (390, 844)], ids=["wide", "large", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_the_page(new_page, size, theme):
    page = open_section(new_page, size, theme, "zh-CN" if theme == "dark" else "en-US")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    boxes = [one.bounding_box() for one in line_names(page).all()]
    assert all(box["x"] + box["width"] <= size[0] for box in boxes)
    drawn = figure_data(page, ".fine-tuning")
    assert [one["y"].count(None) for one in drawn[:2]] == [5, 5], "five seeds each"


def test_the_picture_can_be_kept(new_page):
    page = open_section(new_page)
    svg = download(page, "SVG").read_text("utf-8")
    assert "Fine-tuned against from scratch" in svg and "labelled sentences" in svg
    assert download(page, "PNG").read_bytes().startswith(b"\x89PNG")
