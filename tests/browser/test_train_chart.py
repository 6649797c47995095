"""The charts of the Train tab: runs in different colours, readable labels, the same number everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from app.figures.train_charts import learning_curves
from app.figures.train_view import RunHistory, TrainView, caption_kind
from tests.browser.page_driver import wait_until
from tests.browser.train_tab import choose_recipe, focused_run, open_train, press_control, press_train, wait_for_run

# every text of the picture as [words, left, top, right, bottom]
BOXES = """(svg) => {
  const box = document.createElement("div");
  box.innerHTML = svg;
  document.body.append(box);
  const found = [...box.querySelectorAll("text")].filter((one) => one.textContent.trim()).map((one) => {
    const { left, top, right, bottom } = one.getBoundingClientRect();
    return [one.textContent, left, top + 2, right, bottom - 3]; // letters, without the room above and below them
  });
  const { left, right } = box.querySelector("svg").getBoundingClientRect();
  box.remove();
  return { found, left, right };
}"""


def train(page: Page, *recipe: str, until_done: bool = True, **changes: Any) -> str:
    choose_recipe(page, *recipe, **changes)
    key = press_train(page)
    if until_done:
        wait_for_run(
            page,
            "one.job.status === 'done' && one.job.accuracy !== null && one.history.length === one.job.steps",
            120,
        )
    return key


def saved_svg(page: Page) -> str:
    with page.expect_download() as download:
        page.locator(".train-figure .keep button", has_text="SVG").click()
    return Path(download.value.path()).read_text()


def chips(page: Page) -> list[list[str]]:
    """Number, name and colour of each run on the list, by its number."""
    rows = page.locator(".train-runs li").evaluate_all(
        "(rows) => rows.map((row) => [row.querySelector('.run-seen').dataset.number,"
        " row.querySelector('.run-name').textContent, row.querySelector('.run-name').style.color])"
    )
    return sorted(rows)


VIEWS = [((1440, 900), "light", "en-US", "log"), ((1920, 1080), "dark", "zh-CN", "linear"), ((390, 844), "light", "en-US", "log"), ((1440, 900), "light", "en-US", "linear")]  # fmt: skip


@pytest.mark.parametrize(("size", "theme", "locale", "scale"), VIEWS)
def test_no_word_on_the_chart_lies_over_another_or_is_cut(new_page, size, theme, locale, scale):
    page = open_train(new_page, size, theme, locale)
    for options in ({}, {"lr": 0.003}, {"lr": 0.003, "batch_size": 32}, {"lr": 1.0}):
        choose_recipe(page, "lstm", "parity", seed=41, training={"steps": 60, **options})
        press_train(page)
        wait_for_run(page, "['done', 'failed'].includes(one.job.status) && one.history.length > 1", 120)
    page.evaluate(f"import('/ours/js/store.js').then((s) => s.set({{ trainScale: '{scale}' }}))")
    for row in range(4):
        page.locator(".train-runs .run-name").nth(row).click()
        page.wait_for_timeout(200)
        boxes = page.evaluate(BOXES, saved_svg(page))
        assert len(boxes["found"]) > 30
        for i, (words, left, top, right, bottom) in enumerate(boxes["found"]):
            assert left >= boxes["left"] and right <= boxes["right"], f"cut: {words}"
            for other, left2, top2, right2, bottom2 in boxes["found"][i + 1 :]:
                apart = right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top
                assert apart, f"{words} lies over {other}"


def test_runs_keep_a_name_a_number_and_a_colour_of_their_own(new_page):
    page = open_train(new_page)
    parent = train(page, "lstm", "parity", seed=42, training={"steps": 40})
    train(page, "lstm", "parity", seed=42, training={"steps": 40, "lr": 0.5})
    page.locator(f".train-runs li[data-key='{parent}'] .run-name").click()
    press_control(page, "fork")
    page.locator(".train-fork [data-option=steps]").fill("60")
    page.locator(".train-fork .train-go").click()
    wait_for_run(page, "one.job.parent && one.job.status === 'done' && one.history.length === 60")
    train(page, "gru", "parity", seed=42, training={"steps": 40})
    before = chips(page)
    assert [number for number, *_ in before] == ["1", "2", "3", "4"]
    for part in (1, 2):
        assert len({row[part] for row in before}) == 4, before
    assert "learning rate 0.5" in before[1][1] and "fork at step 40" in before[2][1]
    listed = page.locator("#run option").all_inner_texts()
    assert len(listed) == len(set(listed)) and any("fork at step 40" in one for one in listed)
    page.reload()
    expect(page.locator(".train-runs li")).to_have_count(4, timeout=40_000)
    assert chips(page) == before


def test_the_caption_tells_the_numbers_that_stand_above_the_curves(new_page):
    page = open_train(new_page)
    choose_recipe(page, "lstm", "parity", seed=43, training={"steps": 5000})
    press_train(page)
    wait_for_run(page, "one.history.length > 3")
    press_control(page, "rewind")
    wait_for_run(page, "one.history.length === 0")
    caption = page.locator(".train-figure .caption")
    for step in range(1, 5):
        press_control(page, "step")
        wait_for_run(page, f"one.history.last === {step}")
        expect(caption).to_contain_text(f"At step {step} ")
        sentence = caption.inner_text()
        right = re.search(r"right (\d+ %)", sentence)[1]
        texts = [re.sub("<[^>]*>", "", one) for one in re.findall(r"<text[^>]*>(.*?)</text>", saved_svg(page))]
        assert f"accuracy in training  {right}" in [text.replace("\xa0", " ") for text in texts]
        if step > 1:
            loss = re.search(r"to ([\d.]+)\.", sentence)[1]
            assert f"loss  {loss}" in [text.replace("\xa0", " ") for text in texts]
    press_control(page, "stop")


def test_far_above_a_small_chance_is_not_chance(new_page):
    page = open_train(new_page)
    train(page, "lstm", "parity", seed=44, training={"steps": 12})
    captions = {}
    for now in (0.03, 0.09):
        captions[now] = page.evaluate(
            "(now) => import('/ours/js/train_arrays.js').then(({ factsOf }) => factsOf({ moments: [], job:"
            " { status: 'paused', chance: 0.03, goal: 0.99 }, history: { length: 1, last: 63, ghost: null,"
            " repeated: () => null, smooth: { loss: [3], accuracy: [now] } } }).kind)",
            now,
        )
    run = RunHistory("a", 1, "a", 63, np.array([[63, 3, 0.03, 0, 0, 0]], float), chance=0.03, goal=0.99)
    for now, kind in captions.items():
        run.rows[0, 2] = now
        assert caption_kind(run, now) == kind, "the page tells it as Python does"
        assert ("no better than chance" in learning_curves(TrainView([run], "a")).sentence()) == (now == 0.03)


def test_a_run_trained_before_is_offered_as_such_and_described_when_drawn(new_page):
    first, second = open_train(new_page), open_train(new_page)
    train(first, "lstm", "parity", seed=45, training={"steps": 200})
    expect(first.locator(".train-foot .train-go")).to_contain_text("is on show")
    choose_recipe(second, "lstm", "parity", seed=45, training={"steps": 200})
    wait_until(second, "s.shown.check?.known === 'done'")
    expect(second.locator(".train-hero .hero-go")).to_have_text("▶ Show it")
    expect(second.locator(".hero-words")).to_contain_text("is stored here")
    second.locator(".train-hero .hero-go").click()
    caption = second.locator(".train-figure .caption")
    expect(caption).to_contain_text("trained before")
    wait_for_run(second, "one.history.length === 200 && !one.again")
    expect(caption).to_contain_text("On held-out problems")
    press_control(second, "rewind")
    expect(second.locator(".train-foot .train-go")).to_contain_text("Continue")
    assert focused_run(second, "one.job.status") == "paused"


def test_selects_show_that_they_open(new_page):
    page = open_train(new_page)
    images = page.locator(".view-train .control select, .train-recipe .control select").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).backgroundImage)"
    )
    assert images and all(image.startswith("url(") for image in images)
