"""The Train tab: a recipe is chosen, trained, paused, stepped, rewound and forked, and survives a reload."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest
from playwright.sync_api import expect

import core
from app.i18n import WORDS, translate
from app.service.training.requests import parameter_count
from core.runs.recipes import make_recipe
from core.translatable import Text
from tests.browser.page_driver import choose_run, figure_data, page_state, wait_until
from tests.browser.train_tab import choose_recipe, focused_run, open_train, press_control, press_train, wait_for_run

REWOUND = "Back at the start. The pale curve is how it went before: continue, and it takes the same path."
LONG = {"training": {"steps": 5000}}  # long enough to be caught while it runs
SIZES = [(1440, 900), (1920, 1080), (390, 844)]


@pytest.mark.parametrize(
    ("size", "theme", "locale"),
    [(SIZES[0], "light", "en-US"), (SIZES[1], "dark", "zh-CN"), (SIZES[2], "light", "zh-CN")],
)
def test_first_look_has_a_worked_example_and_one_button(new_page, size, theme, locale):
    page = open_train(new_page, size, theme, locale)
    task = core.task("parity")
    expect(page.locator("#tab-train-button")).to_have_text(translate(Text("Train"), locale[:2]))
    hero = page.locator(".train-hero")
    expect(hero.locator(".hero-help")).to_have_text(translate(task.help, locale[:2]))
    one = task.evaluation(1)
    source = one.source[0, : one.source_lengths[0]].tolist()
    expect(hero.locator(".token:not(.answer-token)")).to_have_text(task.show(source))
    expect(hero.locator(".answer-token")).to_have_text(translate(task.label_names[int(one.target[0])], locale[:2]))
    expect(page.locator(".train-foot .train-go")).to_be_visible()
    expect(page.locator(".train-facts")).to_contain_text(f"{parameter_count(core.recipe('lstm', 'parity')):,}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "wider than the screen"
    expect(page.locator("#timeline")).to_be_hidden()
    assert page_state(page, "s.state.tab") == "train"


TRAINED = [("lstm", "parity", "gates"), ("gpt", "induction", "attention"), ("transformer", "copy", "attention")]


@pytest.mark.parametrize(("family", "task", "tab"), TRAINED)
def test_training_moves_the_chart_and_every_tab_looks_at_it_afterwards(new_page, family, task, tab):
    page = open_train(new_page)
    choose_recipe(page, family, task)
    page.evaluate(
        "import('/ours/js/store.js').then((s) => { window.drawn = new Set();"
        " s.on(['curves'], () => window.drawn.add(s.shown.jobs[0]?.history.length)); })"
    )
    key = press_train(page)
    wait_for_run(page, "one.job.status === 'done' && one.history.length === one.job.steps", 180)
    recipe = core.recipe(family, task)
    drawn = page.evaluate("[...window.drawn]")
    assert len(drawn) >= 4, "it came all at once"  # a fast machine is done in half a second
    run = core.Run(recipe, seed=0)
    steps = [step for step, _ in zip(run.train(), range(30), strict=False)]
    assert focused_run(page, "one.history.columns.loss.slice(0, 30)") == [step.loss for step in steps]
    wait_for_run(page, "one.job.accuracy !== null")
    assert focused_run(page, "one.job.accuracy") >= recipe.goal
    expect(page.locator(".train-status")).to_contain_text(f"step {recipe.training.steps} of {recipe.training.steps}")
    assert focused_run(page, "one.moments.length") > 0
    expect(page.locator(".train-problems tr.ok, .train-problems .ok").first).to_be_visible()
    maps = figure_data(page, ".train-thumbs")
    assert maps and all(one["type"] == "heatmap" and len(one["z"]) == len(one["y"]) for one in maps)
    assert_thumbnails_are_the_probe(page, maps)
    shown = figure_data(page, ".train-figure")
    losses = next(one["y"] for one in shown if one["yaxis"] == "y2" and one["line"]["width"] == 1)
    assert losses[:30] == [step.loss for step in steps], "the curve holds the losses themselves"
    page.locator(".look-inside").click()
    wait_until(page, f"s.state.run === '{key}' && s.state.tab === '{tab}'")
    expect(page.locator("#run input")).to_have_value(re.compile("Mine · "))
    expect(page.locator("#timeline")).to_be_visible()
    assert page_state(page, "s.shown.story.steps.at(-1)") == recipe.training.steps
    for other in ("attention", "gates", "positions", "generate", "build"):
        page.locator(f"#tab-{other}-button").click()
        wait_until(page, f"s.state.tab === '{other}' && s.state.run === '{key}'")
        expect(page.locator(".view .problem:visible")).to_have_count(0)
    expect(page.locator(".build-whose")).to_contain_text(f"seed {run.seed}")
    expect(page.locator(".build-diagram .caption b").first).to_have_text(f"{parameter_count(recipe):,}")
    choose_run(page, "induction-gpt")
    choose_run(page, key)


def assert_thumbnails_are_the_probe(page, maps) -> None:
    sight = focused_run(page, "one.sight")
    for head, drawn in zip(sight["heads"], maps, strict=False):
        values = np.frombuffer(base64.b64decode(head["bytes"]), np.uint8).reshape(head["rows"], head["columns"])
        np.testing.assert_array_equal(np.array(drawn["z"]), values / 255)
    for gate, drawn in zip(sight["gates"], maps[len(sight["heads"]) :], strict=True):
        values = np.frombuffer(base64.b64decode(gate["bytes"]), np.uint8).reshape(gate["time"], gate["units"]).T
        np.testing.assert_allclose(np.array(drawn["z"]), gate["low"] + values / 255 * (gate["high"] - gate["low"]))


def test_pause_step_rewind_and_the_same_losses_again(new_page):
    page = open_train(new_page)
    choose_recipe(page, "lstm", "parity", seed=11, **LONG)
    press_train(page)
    wait_for_run(page, "one.history.length > 20")
    press_control(page, "pause")
    wait_for_run(page, "one.job.status === 'paused'")
    page.wait_for_timeout(400)
    last = focused_run(page, "one.history.last")
    press_control(page, "step")
    wait_for_run(page, f"one.history.last === {last + 1}")
    page.wait_for_timeout(300)
    assert focused_run(page, "one.history.last") == last + 1, "one step is one step"
    before = focused_run(page, "one.history.columns.loss")
    press_control(page, "rewind")
    wait_for_run(page, "one.history.length === 0 && one.job.index === 0")
    expect(page.locator(".train-figure .caption")).to_have_text(REWOUND)
    expect(page.locator(".train-below")).to_be_hidden()
    for name in ("[data-do=fork]", ".look-inside"):
        expect(page.locator(name)).to_have_attribute("title", WORDS["en"]["train.step_first"])
    press_control(page, "go")
    wait_for_run(page, f"one.history.length >= {len(before)}")
    press_control(page, "stop")
    wait_for_run(page, "one.job.status === 'stopped'")
    assert focused_run(page, f"one.history.columns.loss.slice(0, {len(before)})") == before
    expect(page.locator(".train-figure .caption")).to_contain_text("to the last bit")
    expect(page.locator(".train-below")).to_be_visible()
    assert focused_run(page, "one.history.ghost.columns.loss") == before


def test_fork_begins_at_a_moment_with_other_options(new_page):
    page = open_train(new_page)
    choose_recipe(page, "lstm", "parity", seed=12, training={"steps": 60})
    parent = press_train(page)
    wait_for_run(page, "one.job.status === 'done' && one.job.forkable?.length")
    press_control(page, "fork")
    panel = page.locator(".train-fork")
    step = focused_run(page, "one.job.forkable.at(-3)")
    panel.locator("#fork-step").select_option(str(step))
    panel.locator("[data-option=lr]").fill("-1")
    panel.locator(".train-go").click()
    expect(panel.locator(".problem:visible")).to_contain_text("lr")
    assert page_state(page, "s.shown.jobs.length") == 1
    panel.locator("[data-option=lr]").fill("0.002")
    panel.locator("[data-option=steps]").fill("80")
    panel.locator(".train-go").click()
    wait_until(page, f"s.state.trained !== '{parent}'")
    wait_for_run(page, "one.job.status === 'done' && one.history.length === 80")
    assert focused_run(page, "[one.job.parent, one.job.recipe.origin.step]") == [parent, step]
    assert focused_run(page, f"one.history.columns.lr[{step}]") == 0.002
    assert page.locator(".train-runs li").count() == 2
    losses = page_state(page, f"s.shown.jobs.map((one) => one.history.columns.loss.slice(0, {step}))")
    assert losses[0] == losses[1], "until the fork both are one run"


def test_a_page_that_comes_back_and_a_second_one_find_the_same_run(new_page):
    page = open_train(new_page)
    choose_recipe(page, "gru", "parity", seed=13, **LONG)
    key = press_train(page)
    wait_for_run(page, "one.history.length > 10")
    page.reload()
    expect(page.locator(".train")).to_be_visible(timeout=40_000)
    wait_for_run(page, f"one.key === '{key}' && one.history.length > 10")
    second = open_train(new_page)
    choose_recipe(second, "gru", "parity", seed=13, **LONG)
    wait_until(second, "s.shown.check?.known !== null")
    assert press_train(second) == key
    wait_for_run(second, "one.history.length > 10")
    press_control(second, "stop")
    for one in (page, second):
        wait_for_run(one, "one.job.status === 'stopped'")
    index = focused_run(second, "one.job.index")
    for one in (page, second):
        wait_for_run(one, f"one.history.last === {index}")
    same = "[one.history.columns.loss.slice(0, 30), one.history.last]"
    assert focused_run(page, same) == focused_run(second, same)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_bad_options_are_answered_beside_their_control_and_nothing_else_changes(new_page, locale):
    page = open_train(new_page, locale=locale)
    choose_recipe(page, "gpt", "induction")
    example = page.locator(".example:visible").inner_text()
    column = page.locator(".train-recipe")
    for option, bad in [("n_heads", "3"), ("lr", "-1"), ("steps", ""), ("min_len", "4000")]:
        box = column.locator(f"[data-option={option}]")
        usual = box.input_value()
        box.fill(bad)
        problem = column.locator(f"[data-problem={option}] .problem")
        if option == "min_len":
            problem = column.locator(".control .problem:visible")  # it may lie with the longest
        expect(problem).to_be_visible()
        box.dispatch_event("input")  # typed on, to no effect
        expect(problem).to_be_visible()
        sentence = problem.inner_text()
        assert "Traceback" not in sentence
        assert bool(re.search("[\u4e00-\u9fff]", sentence)) == (locale == "zh-CN")
        assert page.locator(".example:visible").inner_text() == example
        expect(page.locator(".train-foot .train-go")).to_have_attribute("aria-disabled", "true")
        page.locator(".train-foot .train-go").click(force=True)
        assert page_state(page, "s.shown.jobs.length") == 0
        box.fill(usual)
        expect(problem).to_be_hidden()
    expect(page.locator(".train-foot .train-go")).to_have_attribute("aria-disabled", "false")


def test_own_file_is_read_shown_and_trained_on(new_page):
    page = open_train(new_page)
    drop, problem = page.locator("#train-file"), page.locator(".train-aside .drop + .problem")
    rows = [
        f"{'sunny warm bright' if i % 2 else 'rainy cold dark'} day {i},{'good' if i % 2 else 'bad'}"
        for i in range(60)
    ]
    broken = "\n".join(["text,label", *rows[:20], "one,too,many"])
    drop.set_input_files({"name": "weather.csv", "mimeType": "text/csv", "buffer": broken.encode()})
    expect(problem).to_contain_text("line 22")
    drop.set_input_files({"name": "odd.txt", "mimeType": "text/plain", "buffer": b"abc\nd\xe9f\n"})
    expect(problem).to_contain_text("line 2")
    assert page_state(page, "s.state.recipe.task") == "parity"
    drop.set_input_files(
        {"name": "weather.csv", "mimeType": "text/csv", "buffer": "\n".join(["text,label", *rows]).encode()}
    )
    report = page.locator(".file-report")
    expect(report).to_contain_text("weather.csv")
    expect(report).to_contain_text("60")
    expect(report).to_contain_text("bad, good")
    expect(report.locator("tr").first).to_contain_text("rainy cold dark day 0")
    wait_until(page, "s.state.recipe.task === 'own labels' && !s.shown.checking")
    page.locator(".train-recipe [data-option=steps]").fill("30")
    wait_until(page, "s.shown.check?.steps === 30")
    press_train(page)
    wait_for_run(page, "one.job.status === 'done' && one.history.length === 30")


def test_a_recipe_is_what_core_makes_of_it(new_page):
    page = open_train(new_page)
    choose_recipe(page, "transformer", "copy", "learned", model={"n_heads": 8}, task_options={"n_symbols": 12})
    recipe = make_recipe("transformer", "copy", model={"d_model": 64, "n_heads": 8, "n_layers": 1, "d_ff": 64, "norm_placement": "pre", "tie_embeddings": False, "position": "learned"}, task_options={"n_symbols": 12}, training={"lr": 1e-2, "steps": 100, "schedule": "linear"})  # fmt: skip
    wait_until(page, f"s.shown.check?.key === '{core.runs.run.key_of(recipe, 0)}'")
    expect(page.locator(".train-facts")).to_contain_text(f"{parameter_count(recipe):,}")
    changed = page.locator(".train-recipe .control.changed label code")
    expect(changed).to_have_text(["n_symbols", "n_heads"])


def test_arrow_keys_read_the_chart_and_leave_the_timeline_alone(new_page):
    page = open_train(new_page)
    choose_recipe(page, "lstm", "parity", seed=14, training={"steps": 40})
    press_train(page)
    wait_for_run(page, "one.job.status === 'done' && one.history.length === 40")
    moment = page_state(page, "s.state.snapshot")
    page.locator(".train-figure .plot").focus()
    page.keyboard.press("ArrowDown")  # from the accuracy to the loss
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    loss = focused_run(page, "one.history.columns.loss[4]")
    expect(page.locator(".train-figure .tip")).to_have_text(f"step 5\n{loss!r}")
    page.locator("body").click(position={"x": 700, "y": 70})
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    assert page_state(page, "s.state.snapshot") == moment
