"""The timeline draws any run: just begun, long, without accuracy, diverged; its lines have labels at every size."""

import base64
import math
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from app.figures.training import TrainingView, timeline
from app.i18n import TRANSLATIONS, WORDS, translate_message
from app.service.runs import shipped
from tests.browser.page_driver import choose_run, figure_data, open_app, page_state, place_of, wait_until

WORD = WORDS["en"]
LONG = 20_000
RUN_FACTS = {
    "just begun": {"steps": [], "loss": [], "accuracies": [], "snapshots": [0], "moments": [], "accuracy": None},
    "one step": {"steps": [1], "loss": [2.3], "accuracies": [0.1], "snapshots": [0], "moments": [], "accuracy": None},
    "no accuracy": {
        "steps": [1, 2, 3],
        "loss": [3.0, 2.0, 1.0],
        "accuracies": [None] * 3,
        "snapshots": [0, 3],
        "moments": [],
        "accuracy": None,
        "chance": None,
    },
    "broken down": {
        "steps": [1, 2, 3, 4, 5, 6],
        "loss": [2.0, 2.5, 1e30, None, None, None],
        "accuracies": [0.1, 0.2, 0.1, None, None, None],
        "snapshots": [0, 3],
        "moments": [],
        "accuracy": 0.1,
    },
    "no loss at all": {"steps": [1], "loss": [None], "accuracies": [None], "snapshots": [0], "moments": []},
    "long": {
        "steps": list(range(1, LONG + 1)),
        "loss": [3 * math.exp(-i / 4000) + 0.1 * math.sin(i) for i in range(LONG)],
        "accuracies": [1 - math.exp(-i / 4000) for i in range(LONG)],
        "snapshots": [0, 1, 10, 100, 1000, 10_000, LONG],
        "moments": [],
        "accuracy": 0.99,
    },
}


def show_run(page: Page, changes: dict) -> None:
    view = TrainingView(
        changes["steps"], changes["loss"], changes["accuracies"], changes["snapshots"],
        chance=changes.get("chance", 0.1), held_out=changes.get("accuracy"),
    )  # fmt: skip
    spec = timeline(view).spec(translate_message, list(TRANSLATIONS))
    page.evaluate(
        """changes => import('/ours/js/store.js').then((s) => {
            s.set({ snapshot: changes.snapshots.length - 1 });
            s.show({ story: { ...s.shown.story, name: 'another', ...changes } });
        })""",
        {**changes, "timeline": spec},
    )
    settle(page)


def settle(page: Page) -> None:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 250)))")


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["wide", "phone"])
def test_every_kind_of_run_can_be_drawn(new_page, size):
    page = open_app(new_page, size)
    plot = page.locator(".timeline .plot")
    for name, facts in RUN_FACTS.items():
        show_run(page, facts)
        drawn = plot.evaluate("e => e.innerHTML")
        assert "NaN" not in drawn and "Infinity" not in drawn and "undefined" not in drawn, name
        loss, accuracy, _, held_out, _, broken = figure_data(page, ".timeline")
        losses = [value for value in facts["loss"] if value is not None]
        assert any(value is not None for value in decoded(loss["y"])) == bool(losses), name
        shares = [share for share in facts["accuracies"] if share is not None]
        assert any(value is not None for value in decoded(accuracy["y"])) == bool(shares), name
        assert (held_out["y"][0] is not None) == (facts.get("accuracy") is not None), name
        assert len(broken["x"]) == (bool(facts["loss"]) and facts["loss"][-1] is None), name
        assert plot.get_attribute("aria-valuenow") == str(facts["snapshots"][-1])
        box, ground = page.locator(".timeline .cursor").bounding_box(), plot.bounding_box()
        assert ground["x"] <= box["x"] and box["x"] + box["width"] <= ground["x"] + ground["width"] + 1, name
        assert page.locator(".play").is_disabled() == (len(facts["snapshots"]) < 2), name
    assert len(decoded(figure_data(page, ".timeline")[0]["x"])) < 1_600  # not 20,000 points


def decoded(values) -> list:
    """What Plotly holds: a list, or an array in base64 as it came."""
    if isinstance(values, dict):
        numbers = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
        return [None if np.isnan(x) else float(x) for x in numbers]
    return values


def test_a_run_that_has_begun_says_so_and_one_that_broke_says_where(new_page):
    page = open_app(new_page)
    show_run(page, RUN_FACTS["just begun"])
    expect(page.locator(".timeline .annotation")).to_have_text("No step has been trained yet.")
    show_run(page, RUN_FACTS["broken down"])
    *_, ticks, broken = figure_data(page, ".timeline")
    assert broken["text"] == ["no longer a number"] and "step 4: the loss is no longer" in broken["hovertemplate"]
    assert broken["x"][0] == pytest.approx(math.log1p(4)) and ticks["x"][1] == pytest.approx(math.log1p(3))
    expect(page.locator(".timeline .trace.scatter text", has_text="no longer a number")).to_be_visible()


@pytest.mark.parametrize(("size", "locale"), [((390, 844), "en-US"), ((390, 844), "zh-CN"), ((1440, 900), "en-US")])
def test_its_lines_are_named_and_the_names_do_not_meet(new_page, size, locale):
    page = open_app(new_page, size, "light", locale)
    settle(page)
    loss, accuracy, *_ = figure_data(page, ".timeline")
    for trace, message in ((accuracy, "accuracy in training"), (loss, "loss")):
        name = translate_message(message, locale[:2])
        assert trace["name"] == name
        written = page.locator(".timeline :is(.annotation-text, .legendtext)", has_text=re.compile(f"^{name}$"))
        expect(written).to_be_visible()
        if size[0] > 1000:
            red, green, blue = (int(trace["line"]["color"][i : i + 2], 16) for i in (1, 3, 5))
            assert written.evaluate("e => getComputedStyle(e).fill") == f"rgb({red}, {green}, {blue})"
    for facts in (RUN_FACTS["one step"], RUN_FACTS["long"], RUN_FACTS["broken down"]):
        show_run(page, facts)
        boxes = [one.bounding_box() for one in page.locator(".timeline :is(.annotation-text, .legendtext)").all()]
        ground = page.locator(".timeline .plot").bounding_box()
        assert boxes
        for i, a in enumerate(boxes):
            assert a["x"] + a["width"] <= ground["x"] + ground["width"] + 1
            for b in boxes[:i]:
                apart = a["x"] + a["width"] <= b["x"] + 1 or b["x"] + b["width"] <= a["x"] + 1
                assert apart or abs(a["y"] - b["y"]) >= 12, (a, b)


WORDS_AND_CURVES = """async (names) => {
    const { getStory } = await import('/ours/js/api.js'), { show } = await import('/ours/js/store.js'), found = {};
    const box = (e) => { const { left, right, top, bottom } = e.getBoundingClientRect(); return { left, right, top, bottom }; };
    for (const name of names) {
        const story = await getStory(name), plot = document.querySelector('.timeline .plot');
        show({ story });
        await new Promise((done) => setTimeout(done, 300));
        const labels = story.timeline.labels.map(({ text }) => text.among);
        const own = (e) => labels.some((words) => Object.values(words).some((word) => e.textContent.startsWith(word)));
        found[name] = {
            words: [...plot.querySelectorAll('.annotation-text')].filter(own).map((e) => ({ text: e.textContent, ...box(e) })),
            lines: [...plot.querySelectorAll('.shapelayer path')].filter((e) => box(e).bottom - box(e).top > 8 && box(e).right - box(e).left < 3).map(box),
            curves: Math.min(...[...plot.querySelectorAll('.trace .js-line, .cursor')].map((e) => box(e).top)),
            top: box(plot).top, own: story.moments.filter(({ head }) => head === null).length,
        };
    }
    return found;
}"""


@pytest.mark.parametrize(("size", "locale"), [((1440, 900), "en-US"), ((1920, 1080), "zh-CN")])
def test_the_words_of_moments_stand_above_the_curves_and_clear_of_one_another(new_page, size, locale):
    page = open_app(new_page, size, locale=locale)
    for name, boxes in page.evaluate(WORDS_AND_CURVES, shipped.names()).items():
        words = boxes["words"]
        assert len(words) >= min(2, boxes["own"]), f"{name}: the run's own moments have words"
        for word in words:
            high = word["bottom"] - word["top"]
            assert word["bottom"] - 0.25 * high <= boxes["curves"] and word["top"] >= boxes["top"] - 0.2 * high, (
                name,
                word,
            )
            for line in boxes["lines"]:
                through = line["left"] > word["left"] and line["right"] < word["right"]
                assert not (through and line["top"] < word["bottom"] - 4), (name, word["text"], line)


def test_a_run_that_goes_on_training_does_not_stop_the_player(new_page):
    page = open_app(new_page)
    page.evaluate("import('/ours/js/store.js').then((s) => s.set({ snapshot: 0 }))")
    page.locator(".play").click()
    page.evaluate("import('/ours/js/store.js').then((s) => s.show({ story: { ...s.shown.story } }))")
    expect(page.locator(".play")).to_have_attribute("aria-label", WORD["pause"])
    show_run(page, RUN_FACTS["long"])
    expect(page.locator(".play")).to_have_attribute("aria-label", WORD["play"])
    assert page_state(page, "s.state.snapshot") == 6


def test_after_a_click_anywhere_the_arrow_keys_move_through_training(new_page):
    page = open_app(new_page)
    moment = page_state(page, "s.state.snapshot")
    head = page_state(page, "[s.state.layer, s.state.head]")
    for place in ("#tab-gates-button", "#tab-attention-button", ".one-head .plot", ".view-sidebar .token"):
        page.locator(place).first.click()
        page.keyboard.press("ArrowLeft")
        moment -= 1
        assert page_state(page, "s.state.snapshot") == moment, place
    page.locator("#run input").focus()
    page.locator("#input textarea").click()
    page.keyboard.press("ArrowLeft")
    assert page_state(page, "s.state.snapshot") == moment, "in a text they move the caret"
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    assert page_state(page, "[s.state.snapshot, s.state.layer, s.state.head]") == [moment - 1, *head]
    page.locator(".grid .plot").focus()  # as the tab key does
    page.keyboard.press("ArrowUp")
    assert page_state(page, "s.state.layer") == head[0] - 1, "reached with the keyboard, a picture has its own keys"


def test_keys_pressed_in_bertvizs_frame_move_through_training(new_page):
    page = open_app(new_page)
    page.locator("#attention-focus input[value=head]").check(force=True)
    expect(page.locator(".bertviz-frame iframe")).to_have_attribute("data-drawn", "400", timeout=30_000)
    page.frame_locator(".bertviz-frame iframe").locator("#vis svg").click(position={"x": 200, "y": 60})
    moment = page_state(page, "s.state.snapshot")
    page.keyboard.press("ArrowLeft")
    wait_until(page, f"s.state.snapshot === {moment - 1}")


def test_events_of_one_step_share_one_tip(new_page):
    page = open_app(new_page)
    story = page_state(page, "s.shown.story.moments")
    step = next(m["step"] for m in story if m["head"])
    heads = [m for m in story if m["head"] and m["step"] == step]
    focus = page_state(page, "`blocks.${s.state.layer}.attn.${s.state.head}`")
    mine = next(m for m in heads if m["head"] == focus)
    expect(page.locator(".timeline .annotation", has_text=f"{mine['text']['en']} +{len(heads) - 1}")).to_be_visible()
    page.mouse.move(*place_of(page, ".timeline", math.log1p(step), 0))
    shown = page.locator(".timeline .hoverlayer")
    for event in heads:
        expect(shown).to_contain_text(f"step {step}: {event['text']['en']}")
    page.mouse.down()
    page.mouse.up()
    snapshots = page_state(page, "s.shown.story.snapshots")
    assert page_state(page, "s.state.snapshot") == next(i for i, at in enumerate(snapshots) if at >= step)


def test_a_reloaded_page_is_where_it_was(new_page):
    page = open_app(new_page)
    choose_run(page, "parity-lstm")
    page.locator("#tab-gates-button").click()
    page.keyboard.press("Home")
    page.reload()
    expect(page.locator(".gates-units .main-svg").first).to_be_visible(timeout=40_000)
    assert page_state(page, "[s.state.run, s.state.tab, s.state.snapshot]") == ["parity-lstm", "gates", 0]
    page.locator(".logo").click()
    expect(page.locator(".one-head .caption b").first).to_be_visible(timeout=40_000)
    assert page_state(page, "s.state.run") == "induction-gpt"
