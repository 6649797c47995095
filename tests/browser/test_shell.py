"""The frame of the page: sidebar, tabs and timeline at every size, in both languages, light and dark."""

from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.i18n import WORDS, translate
from app.page import TABS
from app.service.inputs import input_from_text
from app.service.runs import shipped
from app.service.runs.shipped_introductions import INTRODUCTIONS
from app.service.snapshot_arrays import collect_arrays
from core.translatable import Text
from tests.browser.page_driver import choose_run, open_app, page_state, pick_run, shown_run, wait_until
from tests.browser.visual_checks import find_faults

TAB_NAMES = {name: title.key for name, title in TABS.items()}
SHOTS = Path(__file__).resolve().parents[2] / ".screenshots"
SIZES = [(1440, 900), (1920, 1080), (390, 844)]
FIRST = shipped.SHIPPED_RUNS[0]


THEMES = [("light", "en-US"), ("light", "zh-CN"), ("dark", "zh-CN"), ("dark", "en-US")]
# Rotated from size to size: every fifth case has another size, and all themes and languages occur.
CASES = [(size, *THEMES[(at + i) % 4]) for at, size in enumerate(SIZES) for i in range(4)]


@pytest.mark.parametrize(
    ("size", "theme", "locale", "runs"),
    [(*one, shipped.names()[at :: len(CASES)]) for at, one in enumerate(CASES)],
    ids=lambda value: (
        "x".join(map(str, value))
        if isinstance(value, tuple)
        else "+".join([value] if isinstance(value, str) else value)
    ),
)
def test_looks_right_everywhere(new_page, size, theme, locale, runs):
    """Each size, theme and language with different shipped runs, in all three tabs."""
    page = open_app(new_page, size, theme, locale)

    expect(page.locator(".run .lead")).to_have_text(
        translate(INTRODUCTIONS[FIRST.name].lead, locale[:2]).replace("**", "")
    )
    SHOTS.mkdir(exist_ok=True)
    for run, tab in product(runs, ("attention", "gates", "positions")):
        if page_state(page, "s.state.run") != run:
            choose_run(page, run)
        expect(page.locator(".timeline .js-line").first).to_be_visible()
        expect(page.locator(f"#tab-{tab}-button")).to_have_text(translate(Text(TAB_NAMES[tab]), locale[:2]))
        page.locator(f"#tab-{tab}-button").click()
        wait_for_tab(page, tab)
        assert find_faults(page) == [], (run, tab)
        page.screenshot(path=SHOTS / f"{tab}-{size[0]}-{theme}-{locale[:2]}-{run}.png")


def wait_for_tab(page, tab: str) -> None:
    """Until the tab has drawn its figures for this run, or says that it has none."""
    panel = page.locator(f"#tab-{tab}")
    expect(panel.locator(".caption:visible, .nothing:visible .chip").first).not_to_be_empty(timeout=40_000)
    expect(panel.locator(".waiting:visible")).to_have_count(0, timeout=40_000)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200)))")


def test_overlaps_cuts_and_empty_pictures_would_be_seen(new_page):
    page = open_app(new_page)
    page.locator(".timeline .annotation-text").first.wait_for()
    assert find_faults(page) == []
    page.evaluate(
        """() => {
            const [first, second] = document.querySelectorAll('.attention-views h3');
            second.style.cssText = `position: fixed; left: ${first.getBoundingClientRect().x}px; top: ${first.getBoundingClientRect().y}px`;
            document.querySelectorAll('.one-head :is(.trace, .hm, .heatmaplayer)').forEach((e) => e.replaceChildren());
            [...document.querySelectorAll('.timeline .annotation-text')].at(-1).setAttribute('transform', 'translate(3000 0)');
            document.querySelector('.report .caption').textContent = '';
        }"""
    )
    faults = "; ".join(find_faults(page))
    for fault in ("lies over", "a plot is empty", "is cut off", "has no caption"):
        assert fault in faults


def test_arrow_keys_move_every_picture_through_training(new_page):
    page = open_app(new_page)
    run = shipped.load(FIRST.name).run
    arrays = collect_arrays(run, input_from_text(run, FIRST.first_input))
    last = len(arrays.steps) - 1
    layer, head = page_state(page, "[s.state.layer, s.state.head]")
    for moment in (last, last - 3):
        while page_state(page, "s.state.snapshot") > moment:
            page.keyboard.press("ArrowLeft")
        expect(page.locator(".view-sidebar .step")).to_have_text(f"step {arrays.steps[moment]}")
        share = arrays.attention[0].measures["induction"][moment, layer, head]
        expect(page.locator(".one-head .caption")).to_contain_text(f"{100 * share:.0f} %")
        expect(page.locator(".timeline .plot")).to_have_attribute("aria-valuenow", str(arrays.steps[moment]))
    page.keyboard.press("Home")
    assert page_state(page, "s.state.snapshot") == 0
    page.keyboard.press("End")
    assert page_state(page, "s.state.snapshot") == last


def test_play_runs_through_training_and_stops_at_its_end(new_page):
    page = open_app(new_page)
    last = page_state(page, "s.state.snapshot")
    page.locator(".play").click()
    wait_until(page, "s.state.snapshot === 2")
    page.locator(".play").click()
    stopped = page_state(page, "s.state.snapshot")
    page.wait_for_timeout(700)
    assert page_state(page, "s.state.snapshot") == stopped < last


def test_every_run_can_be_chosen_and_survives_a_change_of_tab(new_page):
    page = open_app(new_page)
    for name in shipped.names():
        choose_run(page, name)
        facts = shipped.facts_of(name)
        expect(page.locator(".pills")).to_contain_text(f"{100 * facts['accuracy']:.1f} %")
        assert page.locator(".tokens .token").count() == len(page_state(page, "s.shown.look.axes.source"))
    for tab in ("gates", "positions", "attention"):
        page.locator(f"#tab-{tab}-button").click()
        assert shown_run(page) == INTRODUCTIONS[name].title.message
        assert page_state(page, "s.state.run") == name


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_unreadable_input_is_answered_beside_the_box_and_nothing_is_lost(new_page, locale):
    page = new_page(locale=locale)
    page.goto("/")
    expect(page.locator(".one-head .caption b").first).to_be_visible(timeout=40_000)
    before = page_state(page, "s.shown.look.text")
    problem = page.locator(".refusal .problem")
    for text in ["", "a", "a1b2", "a" * 600, "</script><img src=x onerror=alert(1)>", "🙂🙂", "中文", "שלום"]:
        page.locator("#input textarea").fill(text)
        expect(problem).to_be_visible()
        sentence = problem.inner_text()
        assert sentence and "Traceback" not in sentence
        assert any("\u4e00" <= c <= "\u9fff" for c in sentence if c not in text) == (locale == "zh-CN")
        assert page_state(page, "s.shown.look.text") == before
        page.locator("#input textarea").fill(before)
        expect(problem).to_be_hidden()


def test_typed_input_moves_the_pictures(new_page):
    page = open_app(new_page)
    page.locator("#input textarea").fill("abcdeabcde")
    expect(page.locator(".tokens .token")).to_have_text(list("abcdeabcde"))


def test_language_and_ground_can_be_switched(new_page):
    page = open_app(new_page)
    page.get_by_label(WORDS["en"]["switch_language"]).click()
    expect(page.locator("#tab-gates-button")).to_have_text("门控", timeout=40_000)
    expect(page.locator(".view-sidebar h4").first).to_have_text("正在查看", timeout=40_000)
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label(WORDS["zh"]["switch_ground"]).click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground


@pytest.mark.parametrize("width", [1440, 260], ids=["wide", "narrower than the tabs"])
def test_tabs_are_never_hidden_in_a_menu(new_page, width):
    page = open_app(new_page, (width, 844))
    expect(page.locator("#tabs > .tab-wrapper [role=tab]")).to_have_count(len(TABS))
    expect(page.locator("#tabs > .tab-wrapper .overflow-menu")).to_be_hidden()
    row = page.locator("#tabs [role=tablist]")
    assert row.evaluate("e => e.scrollWidth > e.clientWidth") == (width < 400)
    page.locator("#tab-positions-button").click()
    box, room = page.locator("#tab-positions-button").bounding_box(), row.bounding_box()
    assert box["x"] >= room["x"] and box["x"] + box["width"] <= room["x"] + room["width"] + 1


def test_the_keyboard_reaches_tabs_and_timeline_past_the_sidebar(new_page):
    page = open_app(new_page)
    page.keyboard.press("Tab")
    expect(page.get_by_text(WORDS["en"]["skip_to_pictures"])).to_be_focused()
    assert page.get_by_text(WORDS["en"]["skip_to_pictures"]).bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    expect(page.locator("#tab-attention-button")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-gates-button")).to_be_focused()
    expect(page.locator("#tab-gates-button")).to_have_attribute("aria-selected", "true")
    outline = page.locator("#tab-gates-button").evaluate("e => getComputedStyle(e).outline")
    accent = page.locator(".logo i").evaluate("e => getComputedStyle(e).color")
    assert outline.startswith(accent) and "solid 2px" in outline
    page.locator(".skip").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".timeline .plot")).to_be_focused()


def test_the_tokens_are_one_stop_of_the_tab_key(new_page):
    page = open_app(new_page)
    tokens = page.locator(".tokens .token")
    assert [one.get_attribute("tabindex") for one in tokens.all()].count("0") == 1
    moment = page_state(page, "s.state.snapshot")
    tokens.first.focus()
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(1)).to_be_focused()
    assert page_state(page, "s.state.snapshot") == moment, "the arrow key was the tokens'"


SLOW = """ms => {
    const fetched = window.fetch;
    window.fetch = async (address, ...rest) => {
        if (String(address).includes('api/look')) await new Promise((resolve) => setTimeout(resolve, ms));
        return fetched(address, ...rest);
    };
}"""


def test_a_slow_run_shows_that_it_is_coming_and_nothing_jumps(new_page):
    page = open_app(new_page)
    places = "['.run', '.one-head', '.timeline', '#tabs'].map((s) => JSON.stringify(document.querySelector(s).getBoundingClientRect()))"
    before = page.evaluate(places)
    page.evaluate(SLOW, 2500)
    pick_run(page, "parity-gru")
    expect(page.locator(".busy")).to_have_text(WORDS["en"]["loading"])
    assert page.evaluate(places) == before
    expect(page.locator("#tabs .tabitem").first).not_to_have_css("opacity", "1")
    wait_until(page, "s.state.run === 'parity-gru'")
    expect(page.locator(".busy")).to_be_empty()


def test_a_quick_answer_shows_no_busy_sign(new_page):
    page = open_app(new_page)
    marks = page.evaluate(
        """async () => {
            const { busy } = await import('/ours/js/header.js'), marks = [];
            const watch = new MutationObserver(() => marks.push(document.documentElement.hasAttribute('data-busy')));
            watch.observe(document.documentElement, { attributes: true });
            const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
            await busy(Promise.resolve());
            await busy(Promise.reject(new Error('refused'))).catch(() => null);
            await pause(500);
            const quick = marks.length;
            await busy(pause(600));
            return [quick, marks[0], document.documentElement.hasAttribute('data-busy')];
        }"""
    )
    assert marks == [0, True, False]
