"""The Gates tab shows what the cells compute: values, order, equations, path and gradients, read back out of the page."""

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Download, Page, expect

from app import payload, shipped
from app.i18n import WORDS
from app.looking import Look, look
from app.problem import typed
from app.routes import gates as routes
from core import measures
from tests.browser.test_shell import SHOTS, SIZES, choose_run, shown

TEXT = shipped.by_name("parity-lstm").first_input
WORD = WORDS["en"]


def open_gates(
    new_page: Callable[..., Page], run="parity-lstm", size=(1440, 900), theme="light", locale="en-US"
) -> Page:
    page = new_page(viewport={"width": size[0], "height": size[1]}, locale=locale)
    page.goto(f"/?__theme={theme}")
    expect(page.locator(".one-head .caption b").first).to_be_visible(timeout=60_000)
    choose_run(page, run)
    page.locator("#tab-gates-button").click()
    expect(page.locator(".equation").first).to_be_visible(timeout=30_000)
    return page


def seen_in(run: str) -> Look:
    opened = shipped.load(run).run
    return look(opened, typed(opened, TEXT))


def chip(page: Page, name: str) -> None:
    page.locator("#gates").get_by_role("radio", name=name, exact=True).click()


def rows_of(download: Download) -> list[list[str]]:
    return list(csv.reader(Path(download.path()).read_text("utf-8").splitlines()))


def table(page: Page, figure: str) -> list[list[str]]:
    with page.expect_download() as arriving:
        page.locator(f"{figure} .keep").get_by_text("CSV").click()
    return rows_of(arriving.value)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text.replace("− ", "-").replace("−", "-"))]


def test_units_stand_in_the_order_of_what_they_follow_and_carry_their_values(new_page):
    page = open_gates(new_page)
    seen = seen_in("parity-lstm")
    hidden = seen.cells[0].points["hidden"]  # (snapshot, time, unit)
    parity = seen.problem.ids.cumsum(0).float() % 2
    for moment in (-1, 3):
        page.evaluate("m => import('/ours/js/store.js').then(s => s.set({moment: m}))", moment % len(hidden))
        head, *lines = table(page, ".gates-units")
        assert head == ["unit", "follows parity", *TEXT.split()]
        units = [int(line[0]) for line in lines]
        ends = measures.correlation(hidden[-1].double(), parity.double()).abs()[units]  # the order is that of the end
        assert (ends.diff() <= 1e-6).all()
        now = measures.correlation(hidden[moment].double(), parity.double())
        np.testing.assert_allclose([float(line[1]) for line in lines], now[units], atol=1e-5)
        np.testing.assert_allclose(
            [[float(x) for x in line[2:]] for line in lines], hidden[moment][:, units].T, atol=1e-6
        )
        best = int(now.abs().argmax())
        expect(page.locator(".gates-units .caption")).to_contain_text(f"unit {best}")
        expect(page.locator(".gates-units .caption")).to_contain_text(f"{abs(now[best]):.2f}")
    expect(page.locator(".gates-units .caption")).to_contain_text("by chance alone")  # at step 3 nothing is learnt


def test_other_orders_are_by_cores_measures(new_page):
    page = open_gates(new_page)
    points = seen_in("parity-lstm").cells[0].points
    chip(page, WORD["gates.point.forget"])
    for order, expected in (
        ("memory", measures.half_life(points["forget"][-1:])),
        ("saturation", measures.saturation(points["forget"][-1:])),
    ):
        page.locator(".gates-sort select").select_option(order)
        head, *lines = table(page, ".gates-units")
        assert head[1] == order
        found = [float(line[1]) for line in lines]
        assert found == sorted(found, reverse=True)
        np.testing.assert_allclose(found, expected[[int(line[0]) for line in lines]], rtol=1e-4, atol=1e-6)


ARITHMETIC = {
    "lstm": {
        "forget": lambda x, h: 1 / (1 + math.exp(-x - h)),
        "input": lambda x, h: 1 / (1 + math.exp(-x - h)),
        "candidate": lambda x, h: math.tanh(x + h),
        "output": lambda x, h: 1 / (1 + math.exp(-x - h)),
        "cell": lambda f, c, i, g: f * c + i * g,
        "hidden": lambda o, c: o * math.tanh(c),
    },
    "gru": {
        "reset": lambda x, h: 1 / (1 + math.exp(-x - h)),
        "update": lambda x, h: 1 / (1 + math.exp(-x - h)),
        "candidate": lambda x, r, h: math.tanh(x + r * h),
        "hidden": lambda minus_z, n, z, h: (1 + minus_z) * n + z * h,
    },
    "rnn": {"hidden": lambda x, h: math.tanh(x + h)},
}


@pytest.mark.parametrize("cell", ARITHMETIC)
def test_what_is_written_in_the_equations_gives_what_is_written_as_the_result(new_page, cell):
    page = open_gates(new_page, f"parity-{cell}")
    points = seen_in(f"parity-{cell}").cells[0].points
    for unit, step, moment in ((3, 0, -1), (17, 5, -1), (8, 11, 12), (30, 2, 0)):
        moment %= len(points["hidden"])
        page.evaluate(
            "c => import('/ours/js/store.js').then(s => s.set(c))", {"unit": unit, "step": step, "moment": moment}
        )
        for name, compute in ARITHMETIC[cell].items():
            line = page.locator(f".equation[data-point={name}]")
            given, result = numbers(line.locator(".eq-sum").inner_text()), line.locator(".eq-out").inner_text()
            (written,) = numbers(result)
            assert round(compute(*given), 3) == written, (name, given, written)
            assert written == pytest.approx(points[name][moment, step, unit].item(), abs=5.1e-4)


def test_one_unit_over_tokens_and_over_training(new_page):
    page = open_gates(new_page)
    points = seen_in("parity-lstm").cells[0].points
    unit = shown(page, "s.state.unit")
    _, *lines = table(page, ".gates-unit")
    assert [line[0] for line in lines] == ["forget", "input", "candidate", "output", "cell", "hidden"]
    for name, *values in lines:
        np.testing.assert_allclose([float(x) for x in values], points[name][-1, :, unit], atol=1e-6)
    chip(page, WORD["gates.through.training"])
    head, *lines = table(page, ".gates-unit")
    assert head[1:] == [str(step) for step in shown(page, "s.shown.look.steps")]
    found = [[float(x) for x in line[1:]] for line in lines]
    np.testing.assert_allclose(found, points["hidden"][:, :, unit].T, atol=1e-6)


def test_a_click_chooses_unit_and_step_and_arrow_keys_do_too(new_page):
    page = open_gates(new_page)
    box = page.locator(".gates-units canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    unit, step = shown(page, "[s.state.unit, s.state.step]")
    expect(page.locator(".gates-equations h3")).to_contain_text(f"Unit {unit} at token {TEXT.split()[step]} ({step})")
    page.locator(".gates-score").focus()
    page.keyboard.press("ArrowLeft")
    assert shown(page, "s.state.step") == step - 1
    expect(page.locator(".gates-equations h3")).to_contain_text(f"({step - 1})")


def test_the_path_is_that_of_the_states(new_page):
    page = open_gates(new_page, "parity-gru")
    chip(page, WORD["gates.view.path"])
    expect(page.locator(".gates-plot .scatterlayer").first).to_be_visible(timeout=30_000)
    head, start, *lines = table(page, ".gates-left > div:nth-child(2)")
    assert head == ["token", "PC1", "PC2"] and start[0] == WORD["gates.start"]
    hidden = seen_in("parity-gru").cells[0].points["hidden"][-1].double().numpy()
    _, _, axes = np.linalg.svd(hidden - hidden.mean(0), full_matrices=False)
    expected = (hidden - hidden.mean(0)) @ axes[:2].T
    found = np.array([[float(x) for x in line[1:]] for line in lines])
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_gradients_of_three_cells_in_one_picture(new_page):
    page = open_gates(new_page)
    chip(page, WORD["gates.view.gradient"])
    figure = ".gates-left > div:nth-child(3)"
    expect(page.locator(f"{figure} .caption")).to_contain_text("LSTM", timeout=30_000)
    _, *lines = table(page, figure)
    assert [line[0] for line in lines] == ["RNN", "GRU", "LSTM"]
    for family, *values in lines:
        _, arrays = payload.unpack(routes.packed_gradients(f"parity-{family.lower()}", TEXT, None, "input"))
        np.testing.assert_allclose([float(x) for x in values], 10 ** arrays["layers.0.fwd"][-1], rtol=1e-4)
    _, arrays = payload.unpack(routes.packed_gradients("parity-rnn", TEXT, None, "input"))
    lost = round(float(arrays["layers.0.fwd"][-1, -1] - arrays["layers.0.fwd"][-1, 0]))  # powers of ten
    power = f"10⁻{str(lost).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    expect(page.locator(f"{figure} .caption")).to_contain_text(f"RNN {power}")
    chip(page, WORD["gates.gradient_of.untrained"])
    expect(page.locator(f"{figure} .caption")).to_contain_text("10⁻²⁷", timeout=30_000)
    _, arrays = payload.unpack(routes.packed_untrained())
    assert round(float(arrays["rnn"][0, 0] - arrays["rnn"][0, -1])) == -27


def test_moving_about_asks_the_server_nothing(new_page):
    page = open_gates(new_page)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for changes in (
        {"moment": 4},
        {"unit": 9},
        {"step": 3},
        {"point": "cell"},
        {"sort": "memory"},
        {"through": "training"},
    ):
        before = page.locator("#gates").inner_text()
        page.evaluate("c => import('/ours/js/store.js').then(s => s.set(c))", changes)
        assert page.locator("#gates").inner_text() != before, changes
    assert asked == []


def test_layers_and_directions_of_an_encoder_and_a_decoder(new_page):
    page = open_gates(new_page, "dates-bahdanau")
    names = shown(page, "s.shown.look.cells.map(c => c.name)")
    assert names == ["encoder.layers.0.fwd", "encoder.layers.0.bwd", "decoder.layers.0.fwd"]
    for name, axis in (("encoder · backwards", "source"), ("decoder", "given")):
        chip(page, name)
        head, *lines = table(page, ".gates-units")
        cells, unit = shown(page, "s.state.cells"), int(lines[0][0])
        assert head[2:] == shown(page, f"s.shown.look.axes.{axis}")
        value = shown(page, f"s.shown.look.arrays['{cells}.hidden'].value(s.state.moment, 0, {unit})")
        assert float(lines[0][2]) == pytest.approx(value)


def test_a_run_without_gates_says_so_and_offers_those_that_have_some(new_page):
    page = open_gates(new_page)
    choose_run(page, "induction-gpt")
    nothing = page.locator("#gates .nothing")
    expect(nothing).to_contain_text(WORD["gates.none"].format(family="gpt"))
    expect(page.locator(".equation").first).to_be_hidden()
    nothing.get_by_role("button", name=WORD["run.parity-gru.title"]).click()
    expect(page.locator(".equation[data-point=reset]")).to_be_visible(timeout=30_000)


@pytest.mark.parametrize(
    ("size", "theme", "locale"),
    [
        (SIZES[0], "dark", "zh-CN"),
        (SIZES[1], "light", "en-US"),
        (SIZES[2], "light", "zh-CN"),
        (SIZES[2], "dark", "en-US"),
    ],
)
def test_looks_right_everywhere(new_page, size, theme, locale):
    page = open_gates(new_page, size=size, theme=theme, locale=locale)
    words = WORDS[locale[:2]]
    expect(page.locator(".gates-units h3")).to_have_text(words["gates.units"])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "wider than the screen"
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"gates-{size[0]}-{theme}-{locale[:2]}.png")
    expect(page.locator(".equation")).to_have_count(6)
