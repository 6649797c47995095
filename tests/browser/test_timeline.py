"""The timeline draws any run: just begun, long, without accuracy, diverged; its lines have labels at every size."""

import math

import pytest
from playwright.sync_api import Page, expect

from app.i18n import WORDS
from app.service.runs import shipped
from tests.browser.page_driver import choose_run, open_app, page_state, wait_until

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
    page.evaluate(
        """changes => import('/ours/js/store.js').then((s) => {
            s.set({ snapshot: changes.snapshots.length - 1 });
            s.show({ story: { ...s.shown.story, name: 'another', ...changes } });
        })""",
        changes,
    )


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["wide", "phone"])
def test_every_kind_of_run_can_be_drawn(new_page, size):
    page = open_app(new_page, size)
    timeline = page.locator("svg.timeline")
    for name, facts in RUN_FACTS.items():
        show_run(page, facts)
        drawn = timeline.evaluate("e => e.innerHTML")
        assert "NaN" not in drawn and "Infinity" not in drawn and "undefined" not in drawn, name
        losses = [loss for loss in facts["loss"] if loss is not None]
        assert timeline.locator(".loss").count() == bool(losses), name
        shares = [share for share in facts["accuracies"] if share is not None]
        assert timeline.locator(".accuracy").count() == bool(shares), name
        assert timeline.locator(".held-out").count() == (facts.get("accuracy", 1) is not None), name
        assert timeline.locator(".broken").count() == (bool(facts["loss"]) and facts["loss"][-1] is None), name
        assert timeline.get_attribute("aria-valuenow") == str(facts["snapshots"][-1])
        box, ground = page.locator(".playhead circle").bounding_box(), timeline.bounding_box()
        assert ground["x"] <= box["x"] and box["x"] + box["width"] <= ground["x"] + ground["width"] + 1, name
        assert page.locator(".play").is_disabled() == (len(facts["snapshots"]) < 2), name
    assert (
        page.locator("svg.timeline .loss").evaluate("e => e.getAttribute('d').length") < 60_000
    )  # not 20,000 points


def test_a_run_that_has_begun_says_so_and_one_that_broke_says_where(new_page):
    page = open_app(new_page)
    show_run(page, RUN_FACTS["just begun"])
    expect(page.locator("svg.timeline")).to_contain_text(WORD["nothing_trained"])
    expect(page.locator(".pills")).to_contain_text(WORD["not_measured"])
    show_run(page, RUN_FACTS["broken down"])
    expect(page.locator("svg.timeline .broken")).to_contain_text(WORD["loss_broke"])
    expect(page.locator("svg.timeline .broken title")).to_have_text(WORD["loss_broke_at"].format(step=4))
    at = page.locator("svg.timeline .broken line").get_attribute("x1")
    ticks = page.locator("svg.timeline .snap").all()
    assert float(ticks[1].get_attribute("x1")) < float(at)  # after step 3


@pytest.mark.parametrize(("size", "locale"), [((390, 844), "en-US"), ((390, 844), "zh-CN"), ((1440, 900), "en-US")])
def test_its_lines_are_named_and_the_names_do_not_meet(new_page, size, locale):
    page = open_app(new_page, size, "light", locale)
    words = WORDS[locale[:2]]
    for key, kind in (("train_accuracy", "accuracy-name"), ("loss", "loss-name")):
        expect(page.locator(f"svg.timeline .{kind}")).to_contain_text(words[key])
        assert page.locator(f"svg.timeline .{kind}").evaluate("e => getComputedStyle(e).fill") == page.locator(
            f"svg.timeline .{kind.removesuffix('-name')}"
        ).evaluate("e => getComputedStyle(e).stroke")
    for facts in (RUN_FACTS["one step"], RUN_FACTS["long"], RUN_FACTS["broken down"]):
        show_run(page, facts)
        boxes = [one.bounding_box() for one in page.locator("svg.timeline .name").all()]
        ground = page.locator("svg.timeline").bounding_box()
        for i, a in enumerate(boxes):
            assert a["x"] + a["width"] <= ground["x"] + ground["width"] + 1
            for b in boxes[:i]:
                apart = a["x"] + a["width"] <= b["x"] + 1 or b["x"] + b["width"] <= a["x"] + 1
                assert apart or abs(a["y"] - b["y"]) >= 12, (a, b)


WORDS_AND_CURVES = """async (names) => {
    const { getStory } = await import('/ours/js/api.js'), { show } = await import('/ours/js/store.js'), found = {};
    const box = (e) => { const { left, right, top, bottom } = e.getBoundingClientRect(); return { left, right, top, bottom }; };
    for (const name of names) {
        const story = await getStory(name), svg = document.querySelector('svg.timeline');
        show({ story });
        found[name] = {
            words: [...svg.querySelectorAll('.moment text')].map((e) => ({ text: e.textContent, ...box(e) })),
            lines: [...svg.querySelectorAll('.moment')].map((e) => ({ words: e.querySelector('text')?.textContent, ...box(e.querySelector('line')) })),
            curves: Math.min(...[...svg.querySelectorAll('path.loss, path.accuracy, .held-out, .playhead circle')].map((e) => box(e).top)),
            top: box(svg).top, own: story.moments.filter(({ head }) => head === null).length,
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
                assert not (through and line["top"] < word["bottom"] - 4), (name, word["text"], line["words"])


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
    for place in ("#tab-gates-button", "#tab-attention-button", ".one-head canvas.heatmap", ".view-sidebar .token"):
        page.locator(place).first.click()
        page.keyboard.press("ArrowLeft")
        moment -= 1
        assert page_state(page, "s.state.snapshot") == moment, place
    page.locator("#run").focus()
    page.locator("#input").click()
    page.keyboard.press("ArrowLeft")
    assert page_state(page, "s.state.snapshot") == moment, "in a text they move the caret"
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    assert page_state(page, "[s.state.snapshot, s.state.layer, s.state.head]") == [moment - 1, *head]
    page.locator(".grid-canvas").focus()  # as the tab key does
    page.keyboard.press("ArrowUp")
    assert page_state(page, "s.state.layer") == head[0] - 1, "reached with the keyboard, a picture has its own keys"


def test_keys_pressed_in_bertvizs_frame_move_through_training(new_page):
    page = open_app(new_page)
    page.locator("[data-value=head]").click()
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
    group = page.locator(".timeline .moment", has_text=f"{mine['text']['en']} +{len(heads) - 1}")
    group.locator("text").hover()
    lines = page.locator(".timeline-tip").inner_text().splitlines()
    assert sorted(lines) == sorted(f"step {step}: {m['text']['en']}" for m in heads)


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
