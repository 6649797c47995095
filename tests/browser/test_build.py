"""The Build tab: the diagram of every family and size equals the model, made from its controls, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import core
from app.figures.theme import COLOURS
from app.i18n import WORDS, translate
from app.service.build.activations import point_activations
from app.service.build.option_titles import OPTION_TITLES
from core.config.families import CONFIGS
from core.translatable import Text
from tests.browser.build_tab import (
    capture_meta,
    choose_family,
    choose_preset,
    code_on_page,
    meta_model,
    open_build,
    option_box,
    read_diagram,
    set_option,
    unfold_all,
    wait_for_diagram,
)
from tests.browser.page_driver import figure_data, open_app, page_state, wait_until

COUNTED = "document.querySelector('.build-flops .js-plotly-plot').data.length === 3"  # a measured line has come

CHANGED_OPTIONS = {  # every family with options that are not its defaults
    "rnn": {
        "n_layers": 2,
        "d_hidden": 24,
        "bidirectional": True,
        "activation": "relu",
        "head": "tagger",
        "n_labels": 3,
    },
    "gru": {"n_layers": 2, "d_embed": 12, "d_hidden": 20, "vocab_size": 50},
    "lstm": {"n_layers": 2, "d_hidden": 16, "head": "crf", "n_labels": 4, "forget_bias": 1.0},
    "seq2seq": {"cell": "lstm", "attention": "luong-general", "d_hidden": 32, "bidirectional": False},
    "transformer": {"n_layers": 3, "n_decoder_layers": 2, "n_heads": 2, "norm_placement": "pre", "position": "rope"},
    "bert": {"n_layers": 3, "d_model": 48, "n_heads": 6, "head": "pointer", "n_labels": 5, "position": "alibi"},
    "roformer": {"n_layers": 3, "n_kv_heads": 2, "head": "qa", "d_ff": 96, "activation": "swiglu"},
    "gpt": {"n_heads": 8, "d_head": 6, "attention": "local", "window": 3, "norm": "rmsnorm", "bias": False},
    "t5": {"n_layers": 3, "n_decoder_layers": 1, "n_buckets": 16, "activation": "geglu", "tie_embeddings": False},
}
LARGE = ["bert-large", "gpt2-xl", "t5-large"]
VIEWS = [
    ((1440, 900), "light", "en-US"), ((1440, 900), "dark", "zh-CN"), ((390, 844), "light", "zh-CN"),
    ((1920, 1080), "dark", "en-US"),
]  # fmt: skip


def check_against_the_model(page: Page, family: str, options: dict) -> None:
    """Every shape and count in the diagram is the model's own; a folded block stands for equal ones."""
    time, target = page_state(page, "[s.shown.look.axes.source.length, s.shown.look.axes.given.length || 8]")
    model, picture = meta_model(family, options), read_diagram(page)
    tape, modules = capture_meta(model, time, target), dict(model.named_modules())
    points = [part for part in picture["parts"] if part["point"]]
    assert {part["path"] for part in points} <= set(tape.names())
    for part in points:
        shape = list(tape[part["path"]].shape)
        assert part["shape"] == shape and part["says"][-1] == "×".join(map(str, shape)), part
    for part in picture["parts"]:
        if part["path"] in modules and not part["point"]:
            count = own_count(model, part["path"])
            assert part["count"] == count, part["path"]
            assert not count or any(words.split(" · ")[-1] == f"{count:,}" for words in part["says"]), part
    for edge in picture["edges"]:
        if edge["from"] in tape:
            assert "×".join(map(str, tape[edge["from"]].shape)) in edge["says"]
        if edge["label"]:
            assert edge["label"] in edge["says"]
    total = sum(weight.numel() for weight in model.parameters())
    assert page.locator(".build-diagram .caption b").first.inner_text() == f"{total:,}"


def own_count(model, path: str) -> int:
    """Parameters inside a module that no module before it has."""
    return sum(weight.numel() for name, weight in model.named_parameters() if name.startswith(f"{path}."))


def check_layout(page: Page) -> None:
    """No two boxes side by side meet, and no words leave their box or meet others of it."""
    parts = read_diagram(page)["parts"]
    for i, one in enumerate(parts):
        for words in one["words"]:
            assert within(words, one["box"], 1.5), f"{one['path']} says more than its box holds"
        for a in one["words"]:
            assert not any(a != b and meet(a, b) for b in one["words"]), f"the words of {one['path']} overlap"
        for other in parts[i + 1 :]:
            if not within(one["box"], other["box"]) and not within(other["box"], one["box"]):
                assert not meet(one["box"], other["box"]), f"{one['path']} lies over {other['path']}"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "wider than the screen"


def within(inner: list[float], outer: list[float], slack: float = 0.5) -> bool:
    return all(inner[i] >= outer[i] - slack and inner[i + 2] <= outer[i + 2] + slack for i in (0, 1))


def meet(a: list[float], b: list[float]) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1


@pytest.mark.parametrize(
    "families", [("lstm", "gpt", "transformer"), ("rnn", "gru", "seq2seq"), ("bert", "roformer", "t5")], ids=" ".join
)
def test_every_family_with_other_options_is_drawn_as_it_is(new_page, families):
    page = open_build(new_page)
    for family in families:
        options = CHANGED_OPTIONS[family]
        choose_family(page, family)
        for name, value in options.items():
            set_option(page, name, value)
        config = core.configure(family, **options)
        wait_until(page, f"Object.keys(s.state.built.a.options).length === {len(options)}")
        total = sum(weight.numel() for weight in meta_model(family, options).parameters())
        expect(page.locator(".build-diagram .caption").first).to_contain_text(f"{total:,}")
        unfold_all(page)
        expect(page.locator(".part-closed")).to_have_count(0)
        check_against_the_model(page, family, options)
        check_layout(page)
        namespace: dict = {}
        exec(code_on_page(page), namespace)
        assert namespace["model"].config == config


@pytest.mark.parametrize("name", LARGE)
def test_large_presets_are_drawn_without_being_made(new_page, name):
    page = open_build(new_page)
    choose_preset(page, name)
    model = core.build(name, device="meta")
    total = sum(weight.numel() for weight in model.parameters())
    expect(page.locator(".build-diagram .caption").first).to_contain_text(f"{total:,}")
    unfold_all(page)
    expect(page.locator(".part-closed")).to_have_count(0)
    check_against_the_model(page, core.PRESETS[name].family, core.PRESETS[name].options)
    page.locator(".diagram .diagram-button", has_text="›").first.click()
    page.locator('.part-point[data-path*=".1."]').first.click()
    expect(page.locator(".build-panel h3").first).to_contain_text(".1.")
    expect(page.locator(".build-not-run .caption")).to_contain_text(f"{total:,}")  # too large to be run: it says so
    expect(page.locator(".build-costs small[role=status]")).to_have_text("Too large to run here: predicted only.")
    expect(page.locator("#measure-costs")).to_be_hidden()


@pytest.mark.slow
def test_only_sizes_of_the_family_are_offered(new_page):
    page = open_build(new_page)
    for family in CONFIGS:
        choose_family(page, family)
        names = [name for name, preset in core.PRESETS.items() if preset.family == family]
        expect(page.locator(".build-family:not(.away) .build-presets label")).to_have_text(names)


@pytest.mark.parametrize(("size", "theme", "locale"), VIEWS)
def test_it_looks_right_everywhere(new_page, size, theme, locale):
    page = open_build(new_page, size, theme, locale)

    expect(page.locator("#tab-build-button")).to_have_text(translate(Text("Build"), locale[:2]))
    for family in ("seq2seq", "transformer"):
        choose_family(page, family)
        unfold_all(page)
        check_layout(page)
    for label in page.locator(".build-family:not(.away) .option :is([data-testid=block-info], .label-text)").all():
        title, name = label.inner_text().split("\n")
        assert title == translate(OPTION_TITLES[name], locale[:2])
        clipped = label.evaluate("(one) => one.scrollWidth > one.clientWidth + 1")
        assert not clipped or not label.is_visible(), name
    wide = page.locator(".build-below > *").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().right)"
    )
    assert max(wide) <= size[0], "what is below the drawing is cut off"


def test_lengths_sizes_and_parts_are_described(new_page):
    page = open_build(new_page)
    caption, parts, memory = (
        page.locator(f".build-{one} .caption").first for one in ("diagram", "treemap", "memory")
    )
    expect(parts).to_contain_text("6 parts are the largest")
    expect(memory).to_contain_text("All stations together: 6,028 · n + 66 · n² bytes")
    expect(memory).to_contain_text(re.compile(r"keeps \d+\xa0kB"))
    choose_family(page, "lstm")
    expect(caption).to_contain_text("one sequence of")
    expect(parts).to_contain_text("The largest single part is layers.0.fwd")
    expect(memory).to_contain_text("3,328 · n bytes")
    expect(page.locator(".edge-shape").first).to_contain_text("time first")
    choose_family(page, "t5")
    expect(caption).to_contain_text("a target of 8")
    choose_preset(page, "t5-small")
    expect(page.locator(".build-whose")).to_contain_text("A ready-made size, t5-small: untrained.")
    padding = page.locator(".build-notes ul").evaluate("(list) => parseFloat(getComputedStyle(list).paddingLeft)")
    assert padding >= 18


def test_shapes_below_a_folded_stack_are_read_whole(new_page):
    page = open_build(new_page)
    choose_family(page, "transformer")
    stacks, labels = page.evaluate("""() => {
        const box = (one) => { const { left, right, top, bottom } = one.getBoundingClientRect(); return [left, top, right, bottom]; };
        return [[...document.querySelectorAll('.part-closed rect')].map(box), [...document.querySelectorAll('.edge-shape')].map(box)];
    }""")
    assert stacks and labels
    assert not any(meet(stack, label) for stack in stacks for label in labels)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_help_lies_over_no_sentence_and_no_other_help(new_page, locale):
    page = open_build(new_page, locale=locale)
    choose_family(page, "gpt")
    box = option_box(page, "d_ff").locator("input, textarea")
    cut = """(box) => { const text = document.createElement('canvas').getContext('2d');
      text.font = '12.5px ' + getComputedStyle(box).fontFamily; return text.measureText(box.placeholder).width > box.clientWidth - 14; }"""
    assert not box.evaluate(cut), "automatic is read whole"
    set_option(page, "n_heads", 5)
    problem, helps = page.locator(".option-problem .problem:visible"), page.locator(".option .info-text:visible")
    expect(problem).to_have_count(1)
    for name in ("n_layers", "d_model", "d_ff", "vocab_size"):
        option_box(page, name).locator("input, textarea").focus()
        expect(helps).to_have_count(1)
        one, other = helps.bounding_box(), problem.bounding_box()
        assert not meet(*([b["x"], b["y"], b["x"] + b["width"], b["y"] + b["height"]] for b in (one, other))), name
    option_box(page, "position").hover()
    expect(helps).to_have_count(1)


def test_unrolled_in_time_and_states_that_go_on(new_page):
    page = open_build(new_page)
    choose_family(page, "lstm")
    page.locator(".unroll").click()
    strip = page.locator(".strip")
    expect(strip).to_contain_text("t=0")
    expect(strip.locator("title")).to_contain_text("hidden")
    again = {(edge["from"], edge["to"]) for edge in read_diagram(page)["edges"] if "step before" in edge["says"]}
    layer = "layers.0.fwd"
    gates = {(f"{layer}.hidden", f"{layer}.{gate}") for gate in ("input", "forget", "output", "candidate")}
    assert again == gates | {(f"{layer}.cell", f"{layer}.cell")}
    choose_family(page, "transformer")
    unfold_all(page)
    edges = {(edge["from"], edge["to"]) for edge in read_diagram(page)["edges"]}
    for projection in ("k_proj", "v_proj"):
        assert ("encoder.blocks.0.resid_out", f"decoder.blocks.0.cross.{projection}()") in edges


def test_two_configurations_side_by_side(new_page):
    page = open_build(new_page)
    choose_family(page, "gpt")
    page.locator("#compare").click()
    expect(page.locator(".build-diagram:visible")).to_have_count(2)
    set_option(page, "n_heads", 2)
    set_option(page, "d_ff", 64)
    first, second = (meta_model("gpt", options) for options in ({}, {"n_heads": 2, "d_ff": 64}))
    counts = [f"{sum(weight.numel() for weight in model.parameters()):,}" for model in (first, second)]
    rows = page.locator(".build-differences [role=row]:has([role=gridcell])")
    expect(rows).to_have_count(3)
    cells = [row.locator("[role=gridcell]").all_inner_texts() for row in rows.all()]
    assert [row[0].strip() for row in cells] == ["heads (n_heads)", "inner width (d_ff)", "parameters"]
    assert [cell.strip() for cell in cells[2]] == ["parameters", *counts]
    for heading in (".build-treemap h3", ".build-costs h3", ".build-words h3"):
        expect(page.locator(heading).first).to_contain_text("B · ")
    unfold_all(page)
    marked = page.locator(".build-diagram").nth(1).locator(".part.differs")
    paths = set(marked.evaluate_all("(all) => all.map((one) => one.dataset.path)"))
    assert {"blocks.0.attn.weights", "blocks.0.ff.pre", "blocks.0.ff.in_proj"} <= paths
    assert not paths & {"embed", "blocks.0.attn.q_proj", "logits", "blocks.0.resid_out"}
    bodies = page.locator(".build-diagram .figure-body")
    bodies.nth(0).evaluate("(body) => { body.scrollTop = 120; }")
    page.wait_for_function("document.querySelectorAll('.build-diagram .figure-body')[1].scrollTop === 120")


def test_treemap_costs_and_numbers_that_flow(new_page):
    page = open_build(new_page)
    choose_family(page, "gpt")
    for name, value in {"n_layers": 1, "d_model": 16, "n_heads": 2, "vocab_size": 30, "max_len": 32}.items():
        set_option(page, name, value)
    model = meta_model("gpt", {"n_layers": 1, "d_model": 16, "n_heads": 2, "vocab_size": 30, "max_len": 32})
    total = sum(weight.numel() for weight in model.parameters())
    expect(page.locator(".build-diagram .caption").first).to_contain_text(f"{total:,}")
    (areas,) = figure_data(page, ".build-treemap")
    leaves = [i for i, key in enumerate(areas["ids"]) if key not in areas["parents"]]
    assert len(leaves) > 5 and sum(areas["values"][i] for i in leaves) == total == areas["values"][0]
    measure = page.locator("#measure-costs")
    expect(measure).to_have_text("Measure here")
    assert [line["name"] for line in figure_data(page, ".build-flops")] == ["in all", "comparing tokens"]
    measure.click()
    page.wait_for_function(COUNTED, timeout=60_000)
    expect(measure).to_be_visible(timeout=60_000)
    total_line, _, counted = figure_data(page, ".build-flops")
    assert counted["name"] == "counted by torch" and counted["y"] == total_line["y"], "as predicted"
    unfold_all(page)
    page.locator('.part-point[data-path="blocks.0.attn.weights"]').click()
    panel = page.locator(".build-panel")
    expect(panel.locator("h3").first).to_have_text("blocks.0.attn.weights")
    expect(panel.locator(".build-formula")).to_contain_text("softmax")
    expect(panel.locator(".build-activations .caption")).to_contain_text("Untrained")
    expect(panel.locator(".build-heads label")).to_have_count(2)
    panel.locator(".build-heads label").nth(1).click()
    wait_until(page, "s.state.partHead === 1")
    time = page_state(page, "s.shown.look.axes.source.length")
    config = core.configure("gpt", n_layers=1, d_model=16, n_heads=2, vocab_size=30, max_len=32)
    header, arrays = point_activations(config, "blocks.0.attn.weights", None, None, time, 8)
    (shown,) = figure_data(page, ".build-activations")
    np.testing.assert_array_equal(np.array(shown["z"], np.float32), arrays["values"][0, 1])
    assert header["of"] == "untrained"


def test_a_click_in_the_treemap_selects_and_unfolds_the_part(new_page):
    page = open_build(new_page)  # a GPT
    page.locator("#fold-all").click()
    expect(page.locator(".diagram .part-open")).to_have_count(0)
    for picture in (".build-activations", ".build-treemap"):  # all is in its place
        figure_data(page, picture)
    area = page.locator(".build-treemap .slice", has_text="in_proj").last
    area.hover()
    area.click()
    wait_until(page, "s.state.part === 'blocks.0.ff.in_proj()'")
    expect(page.locator('.part[data-id="blocks.0.ff.in_proj()"]')).to_have_attribute("aria-selected", "true")
    expect(page.locator(".build-panel h3").first).to_have_text("blocks.0.ff.in_proj")


def test_the_diagram_is_walked_by_keys(new_page):
    page = open_build(new_page)
    choose_family(page, "gpt")
    page.locator(".diagram").focus()
    page.keyboard.press("ArrowDown")
    wait_until(page, "s.state.part === 'ids'")
    for _ in range(10):
        if page_state(page, "s.state.part") == "blocks.0()":
            break
        page.keyboard.press("ArrowDown")
    block = page.locator('.part[data-id="blocks.0()"]')
    for key, expanded in (("ArrowLeft", "false"), ("ArrowRight", "true"), ("Enter", "false"), (" ", "true")):
        page.keyboard.press(key)
        expect(block).to_have_attribute("aria-expanded", expanded)
        expect(block).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    wait_until(page, "s.state.part === 'blocks.0.resid_in'")
    page.keyboard.press("ArrowLeft")
    wait_until(page, "s.state.part === 'blocks.0()'")
    assert page.evaluate("document.activeElement.classList.contains('diagram')"), "it keeps the focus"


def test_the_diagram_is_kept_as_it_is_seen(new_page):
    page = open_build(new_page, theme="dark", locale="zh-CN")
    choose_family(page, "lstm")
    page.locator(".unroll").click()
    expect(page.locator(".strip")).to_be_visible()
    files = {}
    for kind in ("SVG", "CSV", "PNG"):
        with page.expect_download() as download:
            page.locator(".build-diagram:visible .keep button", has_text=kind).click()
        files[kind] = Path(download.value.path()).read_bytes()
        assert download.value.suggested_filename == f"innerview-lstm.{kind.lower()}"
    drawing = files["SVG"].decode()
    assert (
        "t=0" in drawing
        and re.search("[\u4e00-\u9fff]", drawing)
        and COLOURS["dark"]["ink"] in drawing
        and "var(" not in drawing
    )
    rows = files["CSV"].decode().splitlines()
    assert rows[0] == "path,kind,module,shape,parameters,times" and len(rows) > 10
    assert files["PNG"].startswith(b"\x89PNG")


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_table_of_layers_is_stated_and_measured(new_page, locale):
    page = open_build(new_page, locale=locale)
    table = page.locator("#layers-table [role=grid]")
    name = translate(Text("self-attention"), locale[:2])
    expect(table).to_contain_text(name)
    expect(table).to_have_attribute("aria-colcount", "5")
    page.locator("#measure-layers").click()
    expect(table).to_have_attribute("aria-colcount", "9", timeout=60_000)
    expect(table).to_contain_text("256 → 512")
    expect(page.locator("#layers-caption strong")).to_have_count(2)
    with page.expect_download() as download:
        page.locator("#layers-csv").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert len(lines) == 4 and name in lines[3] and '"n² · d"' in lines[3]


INVALID = [  # family, option, typed value, the option beside which the error is shown
    ("gpt", "n_layers", "-1", "n_layers"), ("gpt", "n_layers", "0", "n_layers"), ("gpt", "n_layers", "97", "n_layers"),
    ("gpt", "n_layers", "2.5", "n_layers"), ("gpt", "n_layers", "", "n_layers"), ("gpt", "n_layers", "e", "n_layers"),
    ("gpt", "d_model", "99999999999999999999", "d_model"), ("gpt", "d_model", "1e400", "d_model"),
    ("gpt", "n_heads", "3", "n_heads"), ("gpt", "n_kv_heads", "3", "n_kv_heads"), ("gpt", "d_ff", "-", "d_ff"),
    ("gpt", "dropout", "1", "dropout"), ("gpt", "max_len", "0", "max_len"),
    ("bert", "norm_eps", "0", "norm_eps"), ("t5", "n_buckets", "30", "n_buckets"), ("seq2seq", "d_hidden", "5", "d_hidden"),
]  # fmt: skip


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_an_invalid_option_is_explained_beside_its_control_and_changes_nothing(new_page, locale):
    page = open_build(new_page, locale=locale)
    before = None
    for family, option, typed, said_at in INVALID:
        if before is None or before != family:
            choose_family(page, family)
            before = family
            expect(page.locator(".build-diagram .part").first).to_be_visible()
            picture = page.locator(".diagram").first.inner_html()
            code = code_on_page(page)
        box = option_box(page, option).locator("input, textarea")
        usual = box.input_value()
        box.fill("")
        box.press_sequentially(typed)
        problem = page.locator(".option-problem .problem:visible")
        expect(problem).to_contain_text(f"{said_at} = ")
        beside = option_box(page, said_at)
        expect(beside).to_have_class(re.compile(r"\bwrong\b"))
        expect(problem).to_have_count(1)
        above, below = beside.bounding_box(), problem.bounding_box()
        assert 0 <= below["y"] - above["y"] - above["height"] < 12, "it stands below its control"
        sentence = problem.inner_text()
        assert sentence.startswith(f"{said_at} = ") and "Traceback" not in sentence
        assert bool(re.search("[\u4e00-\u9fff]", sentence)) == (locale == "zh-CN")
        assert page.locator(".diagram").first.inner_html() == picture
        assert code_on_page(page) == code
        box.fill(usual)
        expect(page.locator(".problem:visible")).to_have_count(0)
        wait_for_diagram(page)


def test_a_model_that_was_configured_is_trained_and_the_one_to_be_trained_drawn(new_page):
    page = open_build(new_page)
    choose_family(page, "lstm")
    set_option(page, "d_hidden", 24)
    wait_until(page, "s.state.built.a.options.d_hidden === 24")
    page.locator("#train-this").click()
    wait_until(page, "s.state.tab === 'train'")
    wait_until(page, "s.state.recipe.model.d_hidden === 24")
    recipe = page_state(page, "s.state.recipe")
    assert (recipe["family"], recipe["task"]) == ("lstm", "parity")
    page.locator("#tab-build-button").click()
    choose_family(page, "gpt")
    page.locator("#of-recipe").click()
    wait_for_diagram(page, "lstm")
    expect(option_box(page, "d_hidden").locator("input")).to_have_value("24")
    page.locator("#back-to-run").click()
    expect(page.locator(".build-whose")).to_contain_text("the model of the run")


def test_choices_are_named_in_chinese_beside_cores_own_names(new_page):
    page = open_build(new_page, locale="zh-CN")
    box = option_box(page, "position").locator("input")
    expect(box).to_have_value(re.compile("^[\u4e00-\u9fff]+ rope$"))
    box.click()
    page.get_by_role("option", name=re.compile("alibi$")).click()
    wait_until(page, "s.state.built.a.options.position === 'alibi'")


def test_a_server_that_is_gone_before_the_first_drawing_is_spoken_of(new_page, page_errors):
    page = open_app(new_page)
    page.route("**/gradio_api/queue/**", lambda route: route.abort())
    page.route("**/api/runs", lambda route: route.abort())
    page.locator("#tab-build-button").click()
    expect(page.locator("#build p[role=alert]:visible")).to_have_text(WORDS["en"]["offline"])
    page_errors.clear()  # of the requests that did not get through
