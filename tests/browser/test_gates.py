"""The Gates tab shows what the cells compute: values, order, equations, path and gradients, read from the page."""

import csv
import math
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Download, Page, expect

from app import payload
from app.i18n import WORDS
from app.routes import gates as routes
from app.service.inputs import input_from_text
from app.service.runs import shipped
from app.service.runs.shipped_introductions import INTRODUCTIONS
from app.service.snapshot_arrays import SnapshotArrays, collect_arrays
from core.analysis import measures
from tests.browser.page_driver import choose_run, figure_data, page_state
from tests.browser.visual_checks import find_faults

TEXT = shipped.by_name("parity-lstm").first_input
WORD = WORDS["en"]
SAID = {
    "holds": "It holds:",
    "fades": "It fades:",
    "switches": "holds and rewrites",
    "mixed": "fades and is rewritten",
    "anew": "keeps little",
}


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


@lru_cache
def arrays_of(run: str) -> SnapshotArrays:
    opened = shipped.load(run).run
    return collect_arrays(opened, input_from_text(opened, TEXT))


def chip(page: Page, name: str) -> None:
    page.locator("#gates").get_by_role("radio", name=name, exact=True).click()


def move(page: Page, changes: dict) -> None:
    """Another state, and the two frames within which the figures follow."""
    page.evaluate(
        "c => import('/ours/js/store.js').then(s => { s.set(c); return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); })",
        changes,
    )


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
    arrays = arrays_of("parity-lstm")
    hidden = arrays.recurrent[0].points["hidden"]  # (snapshot, time, unit)
    parity = arrays.model_input.ids.cumsum(0).float() % 2
    for moment in (-1, 3):
        move(page, {"snapshot": moment % len(hidden)})
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
    points = arrays_of("parity-lstm").recurrent[0].points
    chip(page, WORD["gates.point.forget"])
    for order, expected in (
        ("memory", measures.half_life(points["forget"][-1:])),
        ("saturation", measures.saturation(points["forget"][-1:])),
    ):
        page.locator(".gates-sort select").select_option(order)
        head, *lines = table(page, ".gates-units")
        assert head[1] == order
        values = [float(line[1]) for line in lines]
        assert values == sorted(values, reverse=True)
        np.testing.assert_allclose(values, expected[[int(line[0]) for line in lines]], rtol=1e-4, atol=1e-6)


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
def test_the_numbers_in_the_equations_give_the_result_shown(new_page, cell):
    page = open_gates(new_page, f"parity-{cell}")
    points = arrays_of(f"parity-{cell}").recurrent[0].points
    for unit, step, moment in ((3, 0, -1), (17, 5, -1), (8, 11, 12), (30, 2, 0)):
        moment %= len(points["hidden"])
        move(
            page,
            {"unit": unit, "time": step, "snapshot": moment},
        )
        for name, compute in ARITHMETIC[cell].items():
            line = page.locator(f".equation[data-point={name}]")
            operands, result = numbers(line.locator(".eq-sum").inner_text()), line.locator(".eq-out").inner_text()
            (written,) = numbers(result)
            assert round(compute(*operands), 3) == written, (name, operands, written)
            assert written == pytest.approx(points[name][moment, step, unit].item(), abs=5.1e-4)


def test_one_unit_over_tokens_and_over_training(new_page):
    page = open_gates(new_page)
    points = arrays_of("parity-lstm").recurrent[0].points
    unit = page_state(page, "s.state.unit")
    _, *lines = table(page, ".gates-unit")
    assert [line[0] for line in lines] == ["forget", "input", "candidate", "output", "cell", "hidden"]
    for name, *values in lines:
        np.testing.assert_allclose([float(x) for x in values], points[name][-1, :, unit], atol=1e-6)
    chip(page, WORD["gates.through.training"])
    head, *lines = table(page, ".gates-unit")
    assert head[1:] == [str(step) for step in page_state(page, "s.shown.look.steps")]
    values = [[float(x) for x in line[1:]] for line in lines]
    np.testing.assert_allclose(values, points["hidden"][:, :, unit].T, atol=1e-6)


def test_a_click_chooses_unit_and_step_and_arrow_keys_do_too(new_page):
    page = open_gates(new_page)
    figure_data(page, ".gates-units")
    box = page.locator(".gates-units .nsewdrag").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 6.5 / 12, box["y"] + box["height"] * 16.5 / 32)
    unit, step = page_state(page, "[s.state.unit, s.state.time]")
    order = [int(name.strip("\u2060")) for name in figure_data(page, ".gates-units")[0]["y"]]
    assert unit == order[16] and step == 6, "the unit in the middle row, not the 16th"
    expect(page.locator(".gates-equations h3")).to_contain_text(
        f"Unit {unit} at position {step}, token \u2068{TEXT.split()[step]}\u2069"  # a token keeps its own direction
    )
    page.locator(".gates-unit .plot").focus()
    page.keyboard.press("ArrowLeft")
    assert page_state(page, "s.state.time") == step - 1
    expect(page.locator(".gates-equations h3")).to_contain_text(f"position {step - 1},")
    page.keyboard.press("ArrowUp")
    assert page_state(page, "s.state.gate") == "cell"
    page.keyboard.press("ArrowDown")
    page.locator(".gates-units .plot").focus()
    page.keyboard.press("ArrowDown")
    assert page_state(page, "s.state.unit") == order[17], "in the order of the rows"


def test_a_click_on_a_row_of_the_unit_chooses_its_gate_and_token_and_one_on_its_name_the_gate_alone(new_page):
    page = open_gates(new_page)
    figure_data(page, ".gates-unit")
    box = page.locator(".gates-unit .nsewdrag").first.bounding_box()
    row = box["height"] / 6
    page.mouse.click(box["x"] + box["width"] * 2.5 / 12, box["y"] + 1.5 * row)
    assert page_state(page, "[s.state.gate, s.state.time]") == ["input", 2]
    page.mouse.click(box["x"] - 40, box["y"] + 3.5 * row)
    assert page_state(page, "[s.state.gate, s.state.time]") == ["output", 2]


def terms(run: str, moment: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(time, unit): the memory gate, the old and the new term of the state, for the positions after the first."""
    at = {name: values[moment].double().numpy() for name, values in arrays_of(run).recurrent[0].points.items()}
    if "forget" in at:
        return at["forget"][1:], at["forget"][1:] * at["cell"][:-1], at["input"][1:] * at["candidate"][1:]
    z = at["update"][1:]
    return z, z * at["hidden"][:-1], (1 - z) * at["candidate"][1:]


@pytest.mark.parametrize(("run", "gate"), [("parity-lstm", "forget"), ("parity-gru", "update")])
def test_units_say_whether_they_hold_fade_or_rewrite(new_page, run, gate):
    page = open_gates(new_page, run)
    caption, kinds = page.locator(".gates-unit .caption"), set()
    for moment in (-1, 0):
        memory_gate, old, fresh = terms(run, moment)
        half_life = measures.half_life(arrays_of(run).recurrent[0].points[gate][moment][None])
        holds = np.abs(old) >= np.abs(fresh)
        for unit in range(0, 32, 3) if moment else (5,):
            move(
                page,
                {"unit": unit, "snapshot": moment % len(arrays_of(run).steps)},
            )
            share = np.exp(np.log(memory_gate[holds[:, unit], unit]).mean()) if holds[:, unit].any() else 0
            many = holds[:, unit].mean()
            how = "anew" if many <= 0.1 else "switches" if share >= 0.9 else "mixed"
            if many >= 0.9:
                how = "holds" if share >= 0.9 else "fades"
            kinds.add(how)
            sentence = caption.inner_text()
            assert SAID[how] in sentence, (unit, how, sentence)
            if how != "anew":
                assert f"at {holds[:, unit].sum()} of the 11 tokens after the first" in sentence
                assert f"{100 * share:.0f} %" in sentence
            assert f"{half_life[unit]:.1f}" in sentence
            if how == "switches":
                hold_time = np.log(0.5) / np.log(memory_gate[holds[:, unit], unit]).mean()
                assert f"every {hold_time:.1f} steps where it holds" in sentence
    assert len(kinds) >= 3, kinds


def test_a_unit_that_flips_at_every_3_is_said_to(new_page):
    page = open_gates(new_page)
    _, old, fresh = terms("parity-lstm", -1)
    threes = np.array(TEXT.split()[1:]) == "3"
    flips = [unit for unit in range(32) if ((np.abs(fresh) > np.abs(old))[:, unit] == threes).all()]
    assert 3 in flips
    move(page, {"unit": 3})
    expect(page.locator(".gates-unit .caption")).to_contain_text("holds and rewrites")
    assert "at every 3." in re.sub("[\u2068\u2069]", "", page.locator(".gates-unit .caption").inner_text())
    page.locator(".gates-sort select").select_option("memory")
    expect(page.locator(".gates-units .caption")).to_contain_text("hold and rewrite")


def test_a_swing_is_said_to_grow_or_to_shrink(new_page):
    page = open_gates(new_page, "parity-gru")
    chip(page, WORD["gates.through.training"])
    steps = page_state(page, "s.shown.look.steps")
    kinds = set()
    for point, values in arrays_of("parity-gru").recurrent[0].points.items():
        swing = (values.amax(1) - values.amin(1)).numpy()  # (snapshot, unit)
        for unit in (0, 5, 9, int((swing[-1] - swing[0]).argmin())):
            move(page, {"unit": unit, "gate": point})
            start, end = swing[0, unit], swing[-1, unit]
            same, half = abs(end - start) <= 0.1 * max(start, end), (start + end) / 2
            how = "same" if same else "grew" if end > start else "shrank"
            kinds.add(how)
            sentence = page.locator(".gates-unit .caption").inner_text()
            assert f"{start:.2f}" in sentence and f"{end:.2f}" in sentence
            if not same:
                step = steps[int((swing[:, unit] >= half if end > start else swing[:, unit] <= half).argmax())]
                assert how in sentence and f"half way by step {step}" in sentence
    assert {"grew", "shrank"} <= kinds, kinds


def test_the_path_is_that_of_the_states(new_page):
    page = open_gates(new_page, "parity-gru")
    chip(page, WORD["gates.view.path"])
    expect(page.locator(".gates-path .scatterlayer").first).to_be_visible(timeout=30_000)
    head, start, *lines = table(page, ".gates-path")
    assert head == ["token", "PC1", "PC2"] and start[0] == "start"
    hidden = arrays_of("parity-gru").recurrent[0].points["hidden"][-1].double().numpy()
    _, _, axes = np.linalg.svd(hidden - hidden.mean(0), full_matrices=False)
    expected = (hidden - hidden.mean(0)) @ axes[:2].T
    values = np.array([[float(x) for x in line[1:]] for line in lines])
    np.testing.assert_allclose(np.abs(values), np.abs(expected), atol=1e-4)


@pytest.mark.parametrize("run", ["parity-lstm", "dates-bahdanau"])
def test_the_path_has_a_direction_and_its_names_do_not_meet(new_page, run):
    page = open_gates(new_page, run)
    chip(page, WORD["gates.view.path"])
    expect(page.locator(".gates-path .annotation").first).to_be_visible(timeout=30_000)
    tokens = page_state(page, "s.shown.look.axes.source")
    for backwards in (False, True):
        if backwards and run == "dates-bahdanau":
            chip(page, "encoder · backwards")
            page.wait_for_timeout(500)
        elif backwards:
            continue
        walked = page.evaluate("""() => {
            const { data } = document.querySelector('.gates-path .js-plotly-plot'), named = (name) => data.find((one) => one.name === name);
            const stages = data.filter((one) => one.marker?.angleref === 'previous');
            return { x: stages.flatMap((one, i) => Array.from(one.x).slice(i ? 1 : 0)), faint: stages.map((one) => one.opacity),
              start: named('start').x[0], end: named('end').x[0], arrows: stages.every((one) => one.marker.symbol === 'arrow') };
        }""")
        path = page_state(
            page,
            "Array.from(s.shown.gates.arrays[`${s.state.recurrent_layer}.hidden.path`].at(s.state.snapshot).data)",
        )
        across = path[::2]
        order = [across[0], *(across[:0:-1] if backwards else across[1:])]
        assert walked["x"] == pytest.approx(order) and walked["arrows"]
        assert walked["faint"] == sorted(walked["faint"]) and len(set(walked["faint"])) > 3  # it gets darker
        assert (walked["start"], walked["end"]) == pytest.approx((order[0], order[-1]))
    boxes = [one.bounding_box() for one in page.locator(".gates-path .annotation text").all()]
    assert len(boxes) >= 0.8 * len(tokens)
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if overlap(a, b) > 2]


def overlap(a: dict, b: dict) -> float:
    """px by which two boxes lie over each other, the smaller way; ≤ 0: apart."""
    return min(
        min(a[at] + a[size], b[at] + b[size]) - max(a[at], b[at]) for at, size in (("x", "width"), ("y", "height"))
    )


def three_digits(number: float) -> str:
    """As the captions write it: 0.0145, 3.75 × 10⁻⁸."""
    if number >= 1e-3:
        return f"{number:#.3g}"
    digits, power = f"{number:.2e}".split("e")
    return f"{digits} × 10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def test_gradients_of_three_cells_in_one_picture(new_page):
    page = open_gates(new_page)
    chip(page, WORD["gates.view.gradient"])
    figure = ".gates-gradient"
    caption = page.locator(f"{figure} .caption")
    expect(caption).to_contain_text("LSTM", timeout=30_000)
    assert "over 50 tokens" in caption.inner_text(), (
        "at first the long problems, where gates carry the gradient farther"
    )
    reached = {}
    for family in ("rnn", "gru", "lstm"):
        _, arrays = payload.unpack(routes.packed_gradients(f"parity-{family}", None, None, "long"))
        reached[family] = float(arrays["layers.0.fwd"][-1, 0] - arrays["layers.0.fwd"][-1, -1])
        sentence = caption.inner_text().replace("\u00a0", " ")
        assert f"{family.upper()} {three_digits(10 ** reached[family])}" in sentence, sentence
    assert reached["rnn"] < reached["gru"] < reached["lstm"]
    chip(page, WORD["gates.gradient_of.input"])
    expect(caption).to_contain_text("read first")
    head, *lines = table(page, figure)
    assert head == ["name", "training_step", "position", "token", "gradient_norm", "relative_to_last_read"]
    assert list(dict.fromkeys(line[0] for line in lines)) == ["RNN", "GRU", "LSTM"]
    for family in ("RNN", "GRU", "LSTM"):
        mine = [line[1:] for line in lines if line[0] == family]
        steps, places, tokens, norms, relative = zip(*mine, strict=True)
        assert [int(place) for place in places] == list(range(12)) and list(tokens) == TEXT.split()
        run = shipped.load(f"parity-{family.lower()}").run
        assert set(map(int, steps)) == {run.snapshots[-1].step}
        _, arrays = payload.unpack(routes.packed_gradients(f"parity-{family.lower()}", TEXT, None, "input"))
        exact = 10.0 ** arrays["layers.0.fwd"][-1].astype(float)
        np.testing.assert_allclose([float(x) for x in norms], exact, rtol=1e-5)
        np.testing.assert_allclose([float(x) for x in relative], exact / exact[-1], rtol=1e-5)
        sentence = caption.inner_text().replace("\u00a0", " ")
        assert f"{family} {three_digits(exact[0] / exact[-1])}" in sentence, sentence
    chip(page, WORD["gates.gradient_of.untrained"])
    _, arrays = payload.unpack(routes.packed_untrained())
    reached = 10 ** float(arrays["rnn"][0, 0] - arrays["rnn"][0, -1])
    assert round(math.log10(reached)) == -27
    expect(caption).to_contain_text(f"RNN {three_digits(reached)}".replace(" × ", "\u00a0×\u00a0"), timeout=30_000)
    assert all(line[3] == "" for line in table(page, figure)[1:]), "problems that are many have no token"


@pytest.mark.parametrize(("run", "size"), [("parity-lstm", (1440, 900)), ("dates-bahdanau", (390, 844))])
def test_path_and_gradient_can_be_read_moved_by_keys_and_kept(new_page, run, size):
    page = open_gates(new_page, run, size)
    for view, name in (("path", "gates.view.path"), ("gradient", "gates.view.gradient")):
        chip(page, WORD[name])
        if view == "gradient":
            chip(page, WORD["gates.gradient_of.input"])
            expect(page.locator(".gates-gradient .caption")).to_contain_text("read first")
        box = page.locator(f".gates-{view} .js-plotly-plot")
        expect(box).to_have_attribute("aria-label", re.compile(r"\d"))
        page.wait_for_timeout(300)
        assert find_faults(page) == []
        step = page_state(page, "s.state.time")
        assert view == "gradient" or step == page_state(page, "s.shown.look.axes.source.length - 1")
        moment = page_state(page, "s.state.snapshot")
        box.focus()
        page.keyboard.press("ArrowLeft")
        assert page_state(page, "s.state.time") == step - 1 and page_state(page, "s.state.snapshot") == moment
        with page.expect_download() as arriving:
            page.locator(f".gates-{view} .keep").get_by_text("SVG").click()
        svg = Path(arriving.value.path()).read_text("utf-8")
        assert WORD[name] in svg and str(INTRODUCTIONS[run].title) in svg, f"{view}: its title and what it is of"


def test_moving_about_asks_the_server_nothing(new_page):
    page = open_gates(new_page)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    for changes in (
        {"snapshot": 4},
        {"unit": 9},
        {"time": 3},
        {"gate": "cell"},
        {"sort": "memory"},
        {"through": "training"},
    ):
        before = page.locator("#gates").inner_text()
        move(page, changes)
        assert page.locator("#gates").inner_text() != before, changes
    assert requests == []


def test_layers_and_directions_of_an_encoder_and_a_decoder(new_page):
    page = open_gates(new_page, "dates-bahdanau")
    names = page_state(page, "s.shown.look.recurrent_layers.map(c => c.name)")
    assert names == ["encoder.layers.0.fwd", "encoder.layers.0.bwd", "decoder.layers.0.fwd"]
    for name, axis in (("encoder · backwards", "source"), ("decoder", "given")):
        chip(page, name)
        head, *lines = table(page, ".gates-units")
        cells, unit = page_state(page, "s.state.recurrent_layer"), int(lines[0][0])
        assert head[2:] == page_state(page, f"s.shown.look.axes.{axis}")
        value = page_state(page, f"s.shown.look.arrays['{cells}.hidden'].value(s.state.snapshot, 0, {unit})")
        assert float(lines[0][2]) == pytest.approx(value)


def test_a_run_without_gates_says_so_and_offers_those_that_have_some(new_page):
    page = open_gates(new_page)
    choose_run(page, "induction-gpt")
    nothing = page.locator("#gates .nothing")
    expect(nothing).to_contain_text(WORD["gates.none"].format(family="a GPT"))
    expect(page.locator(".equation").first).to_be_hidden()
    nothing.get_by_role("button", name=str(INTRODUCTIONS["parity-gru"].title)).click()
    expect(page.locator(".equation[data-point=reset]")).to_be_visible(timeout=30_000)
