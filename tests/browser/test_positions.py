"""The Positions tab: the numbers in its files, tips and captions are core's; markers move without a request."""

import csv
import io
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from app.i18n import translate
from app.service import positions
from app.service.experiments import extrapolation
from app.service.runs import shipped
from app.service.runs.shipped_introductions import INTRODUCTIONS
from app.tabs.positions.words import IDEAS, NAMES
from core.layers.positions import Alibi, Rotary, Sinusoidal, t5_bucket
from tests.browser.page_driver import choose_run, figure_data, open_app, page_state, wait_until
from tests.browser.visual_checks import find_faults

SHOTS = Path(__file__).resolve().parents[2] / ".screenshots"
SCHEMES = ("sinusoidal", "learned", "rope", "alibi", "t5", "none")


def open_positions(new_page, *arguments, run: str | None = None) -> Page:
    page = open_app(new_page, *arguments)
    if run:
        choose_run(page, run)
    page.locator("#tab-positions-button").click()
    expect(page.locator(".positions-effect .caption b").first).to_be_visible(timeout=20_000)
    return page


def choose_scheme(page: Page, scheme: str) -> None:
    page.locator(f".positions-schemes label:has([value={scheme}])").click()
    expect(page.locator(".positions-panel:visible .caption:visible").first).not_to_be_empty()


def choose(page: Page, value: str) -> None:
    page.locator(f".positions-panel:visible label:has([value='{value}'])").click()


def slide(page: Page, name: str, value: int) -> None:
    slider = page.locator(f".slider-{name} [type=range]:visible")
    slider.evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input', { bubbles: true })); }", value
    )


def numbers(page: Page, figure: str) -> tuple[list[str], np.ndarray]:
    """A figure's CSV file: the names of its columns, and its numbers without the first column."""
    with page.expect_download() as download:
        page.locator(f".{figure} .keep button", has_text="CSV").click()
    head, *rows = csv.reader(io.StringIO(download.value.path().read_text("utf-8")))
    return head, np.array([[float(cell) if cell else np.nan for cell in row[1:]] for row in rows])


def click_point(page: Page, selector: str, trace: int, point: int) -> None:
    """Where Plotly draws a point."""
    x, y = page.evaluate(
        """([selector, trace, point]) => {
            const plot = document.querySelector(selector).querySelector('.js-plotly-plot'), { xaxis, yaxis } = plot._fullLayout, { x, y } = plot.data[trace];
            const { left, top } = plot.getBoundingClientRect();
            return [left + xaxis._offset + xaxis.d2p(x[point]), top + yaxis._offset + yaxis.d2p(y[point])];
        }""",
        [selector, trace, point],
    )
    page.mouse.click(x, y)


def caption(page: Page, figure: str) -> str:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(f".{figure} .caption").inner_text()


@pytest.mark.parametrize(
    ("size", "theme", "locale"),
    [((1440, 900), "light", "en-US"), ((390, 844), "dark", "zh-CN")],
    ids=["wide", "phone"],
)
def test_every_scheme_is_complete(new_page, size, theme, locale):
    page = open_positions(new_page, size, theme, locale)
    SHOTS.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        choose_scheme(page, scheme)
        panel = page.locator(".positions-panel:visible")
        idea = translate(IDEAS[scheme], locale[:2]).replace("**", "")
        expect(panel.locator(".positions-idea p", has_text=idea)).to_be_visible()
        expect(panel.locator(".formula .katex-html").first).to_be_visible()
        for figure in panel.locator(".figure").all():
            expect(figure.locator("h3")).not_to_be_empty()
            expect(figure.locator(".caption")).not_to_be_empty()
        for picture in panel.locator(".plot:visible").all():
            assert picture.get_attribute("aria-label") and picture.bounding_box()["height"] > 60
        assert find_faults(page) == []
        page.screenshot(path=SHOTS / f"positions-{scheme}-{size[0]}-{theme}-{locale[:2]}.png")


def test_fixed_schemes_show_cores_numbers(new_page):
    page = open_positions(new_page)
    choose_scheme(page, "sinusoidal")
    slide(page, "d_model", 12)
    slide(page, "length", 40)
    expect(page.locator(".sin-table .caption")).to_contain_text("40 positions × 12")
    table = Sinusoidal(40, 12).table
    np.testing.assert_allclose(numbers(page, "sin-table")[1], table, atol=1e-6)
    slide(page, "position", 7)
    slide(page, "pair", 2)
    sentence = caption(page, "sin-waves").replace("−", "-")
    assert f"sin {table[7, 4]:.4f}" in sentence and f"cos {table[7, 5]:.4f}" in sentence
    names, dots = numbers(page, "sin-dots")
    assert names[1] == "from position 0"
    np.testing.assert_allclose(dots[39:, 0], (table @ table.T)[0], atol=1e-5)

    choose_scheme(page, "alibi")
    slide(page, "n_heads", 6)
    page.locator(".alibi-matrix").wait_for()
    page.get_by_role("radio", name="head 4", exact=True).click()
    expected = Alibi(6).bias(torch.arange(16), torch.arange(16))
    np.testing.assert_allclose(numbers(page, "alibi-matrix")[1], expected[4], atol=1e-6)
    np.testing.assert_allclose(numbers(page, "alibi-lines")[1], expected[:, :, 0].T, atol=1e-6)
    np.testing.assert_allclose(numbers(page, "alibi-slopes")[1][:, 0], Alibi(6).slopes, atol=1e-6)

    choose_scheme(page, "t5")
    for sides, two_sided in (("one", False), ("two", True)):
        choose(page, sides)
        offsets = torch.arange(-160, 161)
        np.testing.assert_array_equal(numbers(page, "t5-steps")[1][:, 0], t5_bucket(offsets, 32, 128, two_sided))
    assert "distances up to 7 have a bucket each" in caption(page, "t5-steps")
    slide(page, "max_distance", 12)
    problem = page.locator(".positions-panel:visible .problem:visible")
    expect(problem).to_have_text("max_distance must be more than 16: so many distances have a bucket of their own.")
    slide(page, "n_buckets", 16)
    expect(problem).to_be_hidden()
    offsets = torch.arange(-15, 16)
    np.testing.assert_array_equal(numbers(page, "t5-steps")[1][:, 0], t5_bucket(offsets, 16, 12, True))


def test_rope_rotates_in_the_page_without_a_request(new_page):
    page = open_positions(new_page)
    choose_scheme(page, "rope")
    assert len(figure_data(page, ".rope-dials")[4]["x"]) == 8
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    slide(page, "position", 20)
    slide(page, "offset", -6)
    click_point(page, ".rope-dials", trace=4, point=3)
    wait_until(page, "s.state.pair === 3")
    choose(page, "other")
    rotary = Rotary(64, 16)
    dials = figure_data(page, ".rope-dials")
    for hand, position in ((dials[3], 20), (dials[2], 14)):  # solid, dashed: centre, end, gap
        ends = np.array([hand["x"][1::3], hand["y"][1::3]]) - [hand["x"][0::3], hand["y"][0::3]]
        np.testing.assert_allclose(ends, [rotary.cos[position], rotary.sin[position]], atol=2e-6)
    _, turned = numbers(page, "rope-dials")
    np.testing.assert_allclose(turned[:, 1:].T, [rotary.cos[20], rotary.sin[20]], atol=1e-6)
    _, arrays = positions.rope(16, 64, 0)
    score = arrays["scores"][1]
    np.testing.assert_allclose(numbers(page, "rope-matrix")[1], score, atol=1e-7)
    sentence = caption(page, "rope-scores").replace("−", "-")
    assert f"q·k = {score[20, 14]:.5f}" in sentence and "offset -6" in sentence
    page.locator(".rope-scores .plot").focus()
    page.keyboard.press("ArrowRight")  # the first offset, −63: only the last position has it
    layer = page.locator(".rope-scores .hoverlayer")
    expect(layer).to_contain_text("from position 63")
    tip = layer.text_content().replace("−", "-")
    assert f"from position 63: {score[63, 0]:.5f}" in tip and "from position 0:" not in tip
    assert requests == []


def test_learned_positions_follow_the_timeline(new_page):
    page = open_positions(new_page, run="reverse-transformer")
    expect(page.locator(".positions-schemes .selected")).to_have_text("Learned")
    run = shipped.load("reverse-transformer").run
    name = "encoder.position_embedding.weight"
    page.locator("body").click(position={"x": 700, "y": 70})
    for key, snapshot in (("End", run.snapshots[-1]), ("Home", run.snapshots[0])):
        page.keyboard.press(key)
        expect(page.locator(".learned-table-now h3")).to_have_text(f"The table at step {snapshot.step}")
        _, table = numbers(page, "learned-table-now")
        np.testing.assert_allclose(table, snapshot.weights[name][: len(table)].float(), atol=1e-6)
    _, before = numbers(page, "learned-table-before")
    np.testing.assert_array_equal(before, table)
    page.keyboard.press("End")
    _, arrays = positions.learned("reverse-transformer")
    np.testing.assert_allclose(
        numbers(page, "learned-cosines-now")[1], arrays["encoder.position_embedding.cosines"][-1], atol=1e-6
    )
    moved = arrays["encoder.position_embedding.moved"][-1]
    assert f"moved by {moved[:13].mean():.2f}" in caption(page, "learned-moved")
    assert f"by {moved[13:].mean():.2f}:" in caption(page, "learned-moved")


def test_a_run_that_stands_in_is_named_and_has_its_own_moment(new_page):
    page = open_positions(new_page)
    choose_scheme(page, "learned")
    origin = page.locator(".positions-origin:visible")
    expect(origin).to_contain_text(str(INTRODUCTIONS["reverse-transformer"].title))
    slide(page, "snapshot", 0)
    expect(page.locator(".learned-table-now h3")).to_have_text("The table at step 0")
    origin.get_by_role("button").click()
    wait_until(page, "s.state.run === 'reverse-transformer'")
    expect(origin).to_contain_text("Read off the run you are looking at: drag")
    expect(origin.get_by_role("button")).to_be_hidden()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_without_positions_order_is_lost(new_page, locale):
    page = open_positions(new_page, (1440, 900), "light", locale)
    choose_scheme(page, "none")
    text = page.locator("#positions-text textarea, #positions-text input")
    text.fill("a b c d a")
    page.wait_for_function("document.querySelector('.none-map .js-plotly-plot').data[0].z.length === 5")
    _, arrays = positions.no_positions("a b c d a", "shuffle", 0)
    np.testing.assert_allclose(numbers(page, "none-map")[1], arrays["cosines"][0], atol=1e-5)
    np.testing.assert_allclose(numbers(page, "none-apart")[1][:, 0], arrays["apart"], atol=1e-5)
    assert re.search(r"10⁻[⁰¹²³⁴⁵⁶⁷⁸⁹]", caption(page, "none-map"))
    text.fill("alone")
    problem = page.locator(".positions-panel:visible .problem:visible")
    expect(problem).to_be_visible()
    assert any("\u4e00" <= c <= "\u9fff" for c in problem.inner_text()) == (locale == "zh-CN")
    assert numbers(page, "none-map")[1].shape == (5, 5), "the last readable words stay"


def test_the_effect_is_that_of_the_trained_runs(new_page):
    page = open_positions(new_page)
    facts = extrapolation.comparison()
    names, shares = numbers(page, "positions-effect")
    assert names[1:] == [str(NAMES[one["scheme"]]) for one in facts["schemes"]]
    np.testing.assert_allclose(shares, np.mean([one["accuracy"] for one in facts["schemes"]], axis=1).T, atol=1e-6)
    choose_scheme(page, "sinusoidal")
    mine = next(one for one in facts["schemes"] if one["scheme"] == "sinusoidal")
    last = np.mean(mine["accuracy"], axis=0)[-1]
    assert f"{100 * last:.0f} % at length 24" in caption(page, "positions-effect")
    assert page_state(page, "s.state.scheme") == "sinusoidal"


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["wide", "phone"])
def test_names_beside_lines_do_not_meet(new_page, size):
    page = open_positions(new_page, size, run="reverse-t5")
    expect(page.locator(".t5-bias .annotation-text").first).to_be_visible()
    boxes = {"t5-bias": names_of(page, "t5-bias"), "positions-effect": names_of(page, "positions-effect")}
    choose_scheme(page, "alibi")
    slide(page, "n_heads", 16)
    expect(page.locator(".alibi-lines .annotation-text")).to_have_count(16)
    boxes["alibi-lines"] = names_of(page, "alibi-lines")
    assert len(boxes["t5-bias"]) == 8 and len(boxes["positions-effect"]) == 6
    for figure, labels in boxes.items():
        tops = [box["y"] for box in labels]
        assert min(b - a for a, b in itertools.pairwise(tops)) >= 14, figure
        assert max(box["x"] + box["width"] for box in labels) <= size[0], figure


def names_of(page: Page, figure: str) -> list[dict]:
    """Their boxes, from the top."""
    shown = page.locator(f".{figure} .annotation-text").filter(has_not_text="trained on")
    boxes = [one.bounding_box() for one in shown.all()]
    return sorted(boxes, key=lambda box: box["y"])


def test_names_take_the_places_nearest_to_their_lines(new_page):
    page = open_positions(new_page)

    def places(targets: list[float]) -> list[float]:
        return page.evaluate("y => import('/ours/js/live/labels.js').then((l) => l.spread(y, 10, 0, 100))", targets)

    assert places([5, 50, 90]) == [5, 50, 90]  # nobody is moved without need
    assert places([50, 50, 50]) == [40, 50, 60]  # around their middle
    assert places([0, 1, 2]) == [0, 10, 20] and places([100, 100]) == [90, 100]  # within the bounds
    assert places([]) == []


def test_the_alibi_formula_names_heads_as_the_pictures_do(new_page):
    page = open_positions(new_page)
    choose_scheme(page, "alibi")
    formula = page.locator(".positions-panel:visible .formula annotation").text_content()
    assert "2^{-8(h+1)/H}" in formula and r"h = 0 \dots H-1" in formula
    assert "heads h from 0 to H minus 1" in page.locator(".positions-panel:visible .only-spoken").inner_text()
    _, numbers_found = numbers(page, "alibi-slopes")
    np.testing.assert_allclose(numbers_found[:, 0], [2 ** (-8 * (h + 1) / 8) for h in range(8)], rtol=1e-6)
    slide(page, "n_heads", 12)
    expect(page.locator(".alibi-slopes .caption")).to_contain_text("heads 0 to 7 have the slopes of 8 heads")
    _, numbers_found = numbers(page, "alibi-slopes")
    between = [2 ** (-8 * (h + 1) / 16) for h in range(0, 8, 2)]
    np.testing.assert_allclose(numbers_found[8:, 0], between, rtol=1e-6)


def test_the_chosen_head_of_a_trained_t5_stands_out(new_page):
    page = open_positions(new_page, run="reverse-t5")
    choose(page, "5")
    heads = page.locator(".t5-bias .annotation-text")
    expect(heads.filter(has_text="head 5")).to_have_css("font-weight", "700")
    assert [one["line"]["width"] for one in figure_data(page, ".t5-bias")] == [1.6] * 5 + [4] + [1.6] * 2
    names, _ = numbers(page, "t5-bias")
    assert names[1:] == [f"head {n}" for n in range(8)]
