"""The Generate tab: two ways of writing, the distribution behind a token, the beams as a tree; all of it core's numbers."""

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import gallery, payload, writing
from tests.browser.driving import choose_run, open_app

SHOTS = Path(__file__).resolve().parents[2] / ".screenshots"
RUN, SENTENCE = "translation-transformer", "will this child steal the flower?"


def open_generate(new_page, *arguments, run: str = RUN) -> Page:
    page = open_app(new_page, *arguments)
    choose_run(page, run)
    page.locator("#tab-generate-button").click()
    expect(page.locator(".generate-text .said").first).to_be_visible(timeout=20_000)
    return page


def written(how: dict) -> dict:
    run = gallery.open_run(RUN).run
    asked = writing.prompt_of(run, SENTENCE, 0)
    return payload.unpack(writing.written(run, asked, run.snapshots[-1].step, how))[0]


def option(page: Page, side: int, name: str):
    return page.locator(".generate-column").nth(side).locator(f"[data-option={name}]")


def csv_of(page: Page, figure) -> list[list[str]]:
    with page.expect_download() as download:
        figure.locator(".keep button", has_text="CSV").click()
    return list(csv.reader(io.StringIO(download.value.path().read_text("utf-8"))))


@pytest.mark.parametrize(
    ("size", "theme", "locale"),
    [
        ((1440, 900), "light", "en-US"),
        ((1920, 1080), "dark", "zh-CN"),
        ((390, 844), "dark", "en-US"),
    ],
    ids=["wide", "projector", "phone"],
)
def test_it_writes_and_tells_why(new_page, size, theme, locale):
    page = open_generate(new_page, size, theme, locale)
    option(page, 1, "strategy").select_option("beam")
    expect(page.locator(".generate-node").first).to_be_visible()
    page.locator(".generate-text").nth(1).locator(".said").nth(2).click()
    for caption in page.locator(".view-generate .caption").all():
        expect(caption).not_to_be_empty()
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.screenshot(path=SHOTS / f"generate-{size[0]}-{theme}-{locale}.png", full_page=True)


def test_what_is_shown_is_what_core_wrote(new_page):
    page = open_generate(new_page)
    option(page, 1, "strategy").select_option("beam")
    option(page, 1, "n_best").fill("3")
    expect(page.locator(".generate-others p")).to_have_count(2)
    expected = written({"strategy": "beam", "n_best": 3, "temperature": 1.5})
    chips = page.locator(".generate-text").nth(1).locator(".said")
    assert chips.all_inner_texts() == expected["texts"][0]["tokens"]
    chips.nth(3).click()
    shares = page.locator(".generate-step figure").first
    _, *rows = csv_of(page, shares)
    step = expected["steps"][3]
    assert [row[0] for row in rows] == [expected["tokens"][i] for i in step["ids"]]
    assert [float(row[1]) for row in rows] == pytest.approx(step["before"], abs=1e-6)
    assert f"{100 * step['before'][0]:.1f} %" in shares.locator(".caption").inner_text()
    tree = csv_of(page, page.locator(".view-generate figure", has=page.locator(".generate-tree")))[1:]
    assert [float(row[5]) for row in tree] == pytest.approx(
        [node["score"] for level in expected["tree"] for node in level], abs=1e-5
    )


def test_a_bad_option_is_told_beside_it_and_nothing_is_lost(new_page):
    page = open_generate(new_page)
    before = page.locator(".generate-text").nth(1).inner_text()
    option(page, 1, "temperature").fill("0")
    problem = page.locator(".generate-column").nth(1).locator(".control .problem:visible")
    expect(problem).to_contain_text("temperature")
    assert page.locator(".generate-text").nth(1).inner_text() == before
    option(page, 1, "temperature").fill("1.5")
    expect(problem).to_have_count(0)


def test_a_run_that_does_not_write_says_so(new_page):
    page = open_generate(new_page)
    choose_run(page, "parity-lstm")
    expect(page.locator(".view-generate .nothing")).to_be_visible()
    choose_run(page, "copy-transformer")
    expect(page.locator(".generate-text .said").first).to_be_visible()
