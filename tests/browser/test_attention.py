"""The Attention tab: its numbers are core's at every snapshot; any token stays text; 512 tokens × 144 heads work."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Frame, Page, expect

import core
from app.i18n import WORDS
from app.service import attention_arithmetic
from app.service.inputs import held_out_input, input_from_text
from app.service.runs import shipped
from app.service.snapshot_arrays import collect_arrays
from core.analysis import measures
from core.analysis.training_events import ROLE_THRESHOLD
from tests.browser import long_run_app
from tests.browser.conftest import free_port, serve_app
from tests.browser.page_driver import choose_run, figure_data, open_app, page_state, place_of, wait_until

FIRST = shipped.SHIPPED_RUNS[0]


@pytest.fixture(scope="module")
def app_url(tmp_path_factory) -> Iterator[str]:
    """An app that also offers a long run and odd ones."""
    port = free_port()
    with serve_app(["-m", "tests.browser.long_run_app", str(port)], port, tmp_path_factory.mktemp("long")) as url:
        yield url


@pytest.fixture(scope="module")
def first_run():
    run = shipped.load(FIRST.name).run
    return run, input_from_text(run, FIRST.first_input), collect_arrays(run, input_from_text(run, FIRST.first_input))


def move(page: Page, **changes) -> None:
    page.evaluate("(changes) => import('/ours/js/store.js').then((s) => s.set(changes))", changes)


def download(page: Page, figure: str, kind: str = "CSV") -> str:
    with page.expect_download() as download:
        page.locator(figure).get_by_role("button", name=kind, exact=True).click()
    return Path(download.value.path()).read_text("utf-8")


def numbers(text: str) -> np.ndarray:
    return np.array([[float(value) for value in row[1:]] for row in list(csv.reader(io.StringIO(text)))[1:]])


def view(page: Page, way: str) -> None:
    page.locator(f"#attention-focus input[value={way}]").check(force=True)


def arithmetic_shown(page: Page, step: int) -> dict[str, str]:
    """The exact numbers of the arithmetic, as its CSV has them."""
    expect(page.locator(".arithmetic .caption")).to_contain_text(f"step {step}:")
    expect(page.locator(".figure.arithmetic")).not_to_have_class(re.compile("waiting"))
    return dict(list(csv.reader(io.StringIO(download(page, ".arithmetic"))))[1:])


def test_map_caption_and_report_show_what_core_computes_at_every_moment(new_page, first_run):
    arrays = first_run[2]
    page = open_app(new_page)
    heads, last = arrays.attention[0], len(arrays.steps) - 1
    for moment, layer, head in ((last, 1, 0), (last // 2, 0, 2), (0, 1, 3)):
        move(page, snapshot=moment, layer=layer, head=head)
        expect(page.locator(".one-head h3")).to_have_text(f"Head {layer}.{head}")
        np.testing.assert_allclose(
            numbers(download(page, ".one-head")), heads.weights[moment, layer, head], atol=1e-6
        )
        scores = {n: float(v[moment, layer, head]) for n, v in heads.measures.items()}
        curves, _, _, written, *_ = figure_data(page, ".report")
        for row, value in enumerate(scores.values()):
            assert curves["customdata"][row * (last + 2) + moment] == pytest.approx(value, abs=1e-6)
            assert written["text"][row] == f"{value:.2f}"
        role = max(set(scores) - {"entropy", "distance"}, key=scores.get)
        digits = 0 if scores[role] >= ROLE_THRESHOLD else 1
        expect(page.locator(".one-head .caption")).to_contain_text(f"{100 * scores[role]:.{digits}f} %")
        expect(page.locator(".report .caption")).to_contain_text(
            "no clear role" if scores[role] < ROLE_THRESHOLD else "since step"
        )
    curves = numbers(download(page, ".report"))
    expected = np.stack([values[:, 1, 3] for values in heads.measures.values()], 1)
    np.testing.assert_allclose(curves, expected, atol=1e-6)


def test_a_clicked_cell_shows_its_arithmetic_and_keeps_it_in_step(new_page, first_run):
    run, model_input, arrays = first_run
    page = open_app(new_page)
    assert arithmetic_shown(page, arrays.steps[-1])["weight"], "a cell is chosen from the start"
    query, key = 11, 3
    page.mouse.move(*place_of(page, ".one-head", key, query))
    selected = page_state(page, "[s.state.layer, s.state.head]")
    weight = arrays.attention[0].weights[-1, *selected, query, key]
    expect(page.locator(".one-head .hoverlayer")).to_contain_text(f"{weight:.4f}")
    page.mouse.click(*place_of(page, ".one-head", key, query))
    wait_until(page, f"s.state.query === {query} && s.state.key === {key}")
    arithmetic_shown(page, arrays.steps[-1])
    requests = count_requests(page)
    for moment, layer, head in ((len(arrays.steps) - 1, *selected), (5, *selected), (9, 0, 1)):
        move(page, snapshot=moment, layer=layer, head=head)
        if (layer, head) != tuple(selected):
            key = int(arrays.attention[0].weights[moment, layer, head, query].argmax())
            wait_until(page, f"s.state.key === {key}")
        step = arrays.steps[moment]
        expect(page.locator(".arithmetic .caption")).to_contain_text(f"Head {layer}.{head}, step {step}")
        parts = arithmetic_shown(page, step)
        cell = attention_arithmetic.weight_arithmetic(
            run, model_input, step, f"blocks.{layer}.attn", head, query, key
        )
        for part, value in (("dot", cell["dot"]), ("scaled", cell["dot"] * cell["scale"]), ("score", cell["score"])):
            assert float(parts[part]) == pytest.approx(value, abs=1e-4)
        assert float(parts["weight"]) == pytest.approx(cell["weight"], abs=1e-6)
        assert float(parts["exp"]) == pytest.approx(cell["exp"], rel=1e-4)
        assert float(parts["total"]) == pytest.approx(cell["sum_exp"], rel=1e-4)
        np.testing.assert_allclose(figure_data(page, ".terms")[0]["y"], cell["terms"], atol=1e-4)
        assert page_state(page, "[s.state.query, s.state.key]") == [query, key], (
            "the cell survives another moment; another head shows its strongest one in the same row"
        )
    assert requests() == [], "another head or moment asks for nothing"


def count_requests(page: Page):
    """A function that tells the addresses asked for since now."""
    names = "performance.getEntriesByType('resource').map((entry) => entry.name)"
    before = len(page.evaluate(names))
    return lambda: [name for name in page.evaluate(names)[before:] if not name.endswith("/heartbeat")]


def test_pointing_at_a_token_shows_its_row_and_column_in_map_and_sidebar(new_page, first_run):
    page = open_app(new_page)
    weights = first_run[2].attention[0].weights[-1, *page_state(page, "[s.state.layer, s.state.head]")]
    page.locator(".view-sidebar .token").nth(10).hover()
    tip = page.locator(".one-head .tip")
    expect(tip).to_contain_text(f"({int(weights[10].argmax())}): {weights[10].max():.4f}")
    expect(tip).to_contain_text(f"({int(weights[:, 10].argmax())}): {weights[:, 10].max():.4f}")
    assert page.locator(".one-head .lit").count() == 2, "its row and its column"
    page.locator(".one-head .plot").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".view-sidebar .token.hot").count() >= 1


def test_rollout_is_cores_and_offered_where_there_is_one(new_page, first_run):
    page = open_app(new_page)
    view(page, "rollout")
    for moment, layer in ((len(first_run[2].steps) - 1, 1), (4, 0)):
        move(page, snapshot=moment, layer=layer)
        expect(page.locator(".one-head h3")).to_contain_text(str(layer))
        expected = measures.rollout(first_run[2].attention[0].weights[moment])[layer]
        np.testing.assert_allclose(numbers(download(page, ".one-head")), expected, atol=1e-6)
    choose_run(page, "copy-transformer")  # opens with its cross-attention
    expect(page.locator(".one-head .js-plotly-plot")).to_be_visible()
    assert (
        page_state(page, "s.state.focus") == "map"
        and page.locator("#attention-focus input[value=rollout]").count() == 0
    )
    page.locator(".attention-top input[value='encoder.blocks']").check(force=True)
    view(page, "rollout")
    expect(page.locator(".one-head h3")).to_contain_text("Rollout")


def frame_drawn(page: Page, step: int) -> Frame:
    expect(page.locator(f"iframe[data-drawn='{step}']")).to_be_visible(timeout=30_000)
    return page.frames[-1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bertviz_draws_our_tensors_and_follows_the_moment(new_page, first_run, theme):
    run, model_input, arrays = first_run
    page = open_app(new_page, theme=theme)
    layer, weights = page_state(page, "s.state.layer"), arrays.attention[0].weights
    view(page, "head")
    for moment in (len(arrays.steps) - 1, 6):
        move(page, snapshot=moment)
        frame = frame_drawn(page, arrays.steps[moment])
        lines = frame.evaluate(
            "[...document.querySelectorAll('#attention line')].map((l) => +l.getAttribute('stroke-opacity'))"
        )
        np.testing.assert_allclose(lines, weights[moment, layer].flatten() / weights.shape[2], atol=1e-5)
    ground, ink = frame.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('svg text')).fill]"
    )
    assert abs(brightness(ground) - brightness(ink)) > 150, (ground, ink)
    view(page, "model")
    frame = frame_drawn(page, arrays.steps[6])
    lines = frame.evaluate(
        "[...document.querySelectorAll('#vis svg > g line')].map((l) => +l.getAttribute('stroke-opacity'))"
    )
    np.testing.assert_allclose(lines, weights[6].flatten(), atol=1e-5)
    view(page, "neuron")
    frame = frame_drawn(page, arrays.steps[6])
    queries, _, _ = attention_arithmetic.query_key_vectors(
        run, model_input, arrays.steps[6], [f"blocks.{layer}.attn"]
    )
    drawn = frame.evaluate(
        "[...document.querySelectorAll('#expanded #queries .element')].map((e) => +e.dataset.value)"
    )
    np.testing.assert_allclose(drawn, queries[0, page_state(page, "s.state.head")].flatten(), atol=1e-5)
    assert "<svg" in download(page, ".bertviz", "SVG")
    expect(page.locator("iframe")).to_have_attribute("sandbox", "allow-scripts")


def brightness(colour: str) -> float:
    return sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]) / 3


def test_any_token_stays_text_everywhere(new_page):
    page = open_app(new_page)
    page.on("dialog", lambda dialog: pytest.fail(f"a token opened a dialog: {dialog.message}"))
    choose_run(page, long_run_app.ODD_NAME)
    tokens = page_state(page, "s.shown.look.axes.source")
    assert "</script><img src=x onerror=alert(1)>" in tokens and "w" * 10_000 in tokens
    page.locator(".one-head .plot").focus()
    for _ in range(len(tokens)):
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".sum td").nth(1)).to_contain_text(tokens[page_state(page, "s.state.query")][:12])
    move(page, query=tokens.index("**stars**"), key=0)
    expect(page.locator(".sum .caption")).to_contain_text("*\u2060*stars*\u2060*")
    for way in ("arcs", "rollout", "head", "model", "neuron"):
        view(page, way)
        if way in ("head", "model", "neuron"):
            frame = frame_drawn(page, page_state(page, "s.shown.look.steps[s.state.snapshot]"))
            assert frame.evaluate("document.querySelectorAll('img, b').length") == 0
            if way != "model":  # which names tokens only of a head that is clicked
                assert "</script><…" in frame.evaluate("document.querySelector('#vis').textContent")
        assert page.locator(".view img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    view(page, "map")
    assert [row[0] for row in csv.reader(io.StringIO(download(page, ".one-head")))][1:] == tokens


def test_any_token_stays_text_among_the_gates_and_in_positions(new_page):
    page = open_app(new_page)
    page.on("dialog", lambda dialog: pytest.fail(f"a token opened a dialog: {dialog.message}"))
    choose_run(page, long_run_app.ODD_LSTM)
    page.locator("#tab-gates-button").click()
    tokens = page_state(page, "s.shown.look.axes.source")
    assert "</script><img src=x onerror=alert(1)>" in tokens and "w" * 10_000 in tokens
    equations = page.locator(".gates-equations h3, .gates-equations h4").first
    for at, token in enumerate(tokens):
        move(page, time=at)
        expect(equations).to_contain_text(token[:6])
    for name in ("path", "gradient", "units"):
        page.locator(f"#gates [data-value={name}]").click()
        expect(page.locator(".gates-left .caption:visible")).not_to_be_empty()
        page.wait_for_timeout(400)
        assert page.locator(".view img, .view script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    assert next(csv.reader(io.StringIO(download(page, ".gates-units"))))[-len(tokens) :] == tokens
    page.locator("#tab-positions-button").click()
    page.locator(".positions-schemes label:has([value=none])").click()
    words = page.locator("#positions-text textarea, #positions-text input")
    words.fill(" ".join(["</script><img", "src=x", "onerror=alert(1)>", "w" * 300, "🙂", "中文", "שלום"]))
    page.wait_for_timeout(900)
    assert page.locator(".view img, .view script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_512_tokens_by_144_heads_are_pooled_at_first_and_exact_on_the_way(new_page):
    page = open_app(new_page)
    choose_run(page, long_run_app.NAME)
    run = long_run_app.long_run()
    problem = held_out_input(run, 0)
    with torch.no_grad(), core.capture(run.model.eval(), "blocks.4.attn.weights") as tape:
        run.model(*problem.batch.inputs)
    move(page, layer=4, head=7)
    expect(page.locator(".grid .caption")).to_contain_text("4 × 4 of the 512 tokens")
    wait_until_exact(page)
    shown_weights = numbers(download(page, ".one-head"))
    assert shown_weights.shape == (512, 512)
    np.testing.assert_allclose(shown_weights, tape["blocks.4.attn.weights"][0, 7], atol=1e-4)  # snapshots are float16
    page.mouse.move(*place_of(page, ".one-head", 200, 200))
    for _ in range(6):
        page.mouse.wheel(0, -100)
    expect(page.locator(".one-head .zoom-where")).to_contain_text("rows")
    page.wait_for_timeout(500)  # Plotly draws the enlarged part once the wheel has come to rest
    page.locator(".one-head .plot").focus()
    page.keyboard.press("0")
    expect(page.locator(".one-head .zoom-where")).to_be_empty()
    page.locator(".one-head").get_by_role("button", name=WORDS["en"]["zoom_in"]).click()
    expect(page.locator(".one-head .zoom-where")).to_contain_text("rows")
    window = page.locator(".one-head .zoom-where").inner_text()
    move(page, snapshot=0, head=2)
    wait_until_exact(page)
    expect(page.locator(".one-head .zoom-where")).to_have_text(window)
    view(page, "model")
    expect(page.locator(".one-head .caption")).to_contain_text(f"{144 * 512 * 512:,} here, more than")
    assert page.locator("iframe").count() == 0 and page.locator(".one-head .js-plotly-plot").is_visible()
    view(page, "arcs")
    expect(page.locator(".one-head .caption")).to_contain_text("this input has 512, so this is the map")


def wait_until_exact(page: Page) -> None:
    expect(page.locator(".one-head .caption")).not_to_contain_text("on their way", timeout=60_000)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_nothing_overflows_at_any_width(new_page, locale):
    page = open_app(new_page, locale=locale)
    for run in (FIRST.name, "copy-transformer"):
        choose_run(page, run)
        for width in (360, 640, 901, 1100, 1299, 1300, 1600, 2200):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(120)
            too_wide = page.evaluate(
                "[...document.querySelectorAll('.attention-top *, .attention-views > .column, .attention-views figure, .attention-views .card, .attention-views .js-plotly-plot, .sum')]"
                ".filter((e) => e.offsetParent && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
                ".map((e) => e.className)"
            )
            assert not too_wide, (width, too_wide)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


def test_numbers_of_another_run_are_never_read_as_this_ones(new_page):
    page = open_app(new_page)
    expect(page.locator(".sum .caption b").first).to_be_visible()
    page.evaluate(
        """() => {
            const fetched = window.fetch;
            window.fetch = async (address, ...rest) => {
                if (String(address).includes('queue/join')) await new Promise((resolve) => setTimeout(resolve, 2500));
                return fetched(address, ...rest);
            };
        }"""
    )
    page.locator("#run").select_option("copy-transformer")
    wait_until(page, "s.state.run === 'copy-transformer'")
    assert page.locator(".arithmetic .caption, .arithmetic .plot").evaluate_all(
        "all => all.length === 2 && all.every((e) => getComputedStyle(e).visibility === 'hidden')"
    )
    expect(page.locator(".sum .caption b").first).to_be_visible()
    expect(page.locator(".sum td").nth(1)).to_contain_text("m")


def test_the_newest_question_wins(new_page, first_run):
    page = open_app(new_page)
    steps = first_run[2].steps
    for moment in (0, 3, 8, 2, 11):
        move(page, snapshot=moment)
    parts = arithmetic_shown(page, steps[11])
    page.wait_for_timeout(400)
    assert arithmetic_shown(page, steps[11]) == parts
