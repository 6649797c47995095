"""The Generate tab: texts and answers of every kind of run, and its training examples, equal to core's numbers."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from app.figures.bars import BarGroup, BarRow, share_bars
from app.figures.expressions import Format
from app.figures.matrix import matrix
from app.figures.theme import WEIGHT, colour
from app.figures.token_rows import Cell, Row, Span, token_rows
from app.figures.tokens import quoted
from app.service.generation import answers, generation, training_example
from app.service.inputs import input_from_text
from app.service.runs import run_registry, shipped
from tests.browser.page_driver import choose_run, figure_data, open_app

SHOTS = Path(__file__).resolve().parents[2] / ".screenshots"
ANSWERS = {  # runs that do not generate text, and the figure of their answer
    "entities-crf": ".generate-transitions .main-svg",
    "nested-bert": ".generate-span-scores .main-svg",
    "masked-bert": ".generate-fillings .main-svg",
    "parity-lstm": ".generate-classes .main-svg",
}
# every picture on screen can be reached with the keyboard and tells a screen reader what it shows
ARIA_LABELS = """() => [...document.querySelectorAll('.view-generate [role=img]')].filter((one) => one.checkVisibility())
  .every((one) => one.getAttribute('aria-label')?.length > 8 && one.getAttribute('tabindex') === '0')"""
RUN, SENTENCE = "translation-transformer", "will this child steal the flower?"


def open_generate(new_page, *arguments, run: str = RUN) -> Page:
    page = open_app(new_page, *arguments)
    choose_run(page, run)
    page.locator("#tab-generate-button").click()
    selector = ANSWERS.get(run, ".generate-text .said")
    expect(page.locator(selector).first).to_be_visible(timeout=20_000)
    return page


NODES = ".generate-tree:not([hidden]) .textpoint"  # and the tree's root, and the names of what became of them


def generate(how: dict) -> dict:
    return generate_with(RUN, how, SENTENCE)


def generate_with(name: str, how: dict, text: str | None = None) -> dict:
    run = run_registry.open_run(name).run
    prompt = generation.make_prompt(run, text or shipped.by_name(name).first_input, 0)
    return generation.write(run, prompt, run.snapshots[-1].step, how).header


def answer(name: str, masks: list[int] | None = None):
    run = run_registry.open_run(name).run
    model_input = input_from_text(run, shipped.by_name(name).first_input)
    result = answers.answer(run, model_input, run.snapshots[-1].step, masks)
    return result.header, result.arrays


def option(page: Page, side: int, name: str):
    return page.locator(".generate-column").nth(side).locator(f".option-{name} input[type=number]")


def choose_strategy(page: Page, side: int, name: str) -> None:
    """By what it is called in English."""
    page.locator(".generate-column").nth(side).locator(".chips label", has_text=name).click()


def tones_of(page: Page, figure: str) -> dict[str, str]:
    """Kind of tag → the colour of its cells."""
    cells, _ = figure_data(page, figure)
    tones = zip(cells["text"], cells["textfont"]["color"], strict=True)
    mute = page.evaluate("getComputedStyle(document.body).getPropertyValue('--iv-mute').trim()")
    return {text[2:]: tone for text, tone in tones if text[1:2] == "-" and tone != mute}


def csv_of(page: Page, figure) -> list[list[str]]:
    with page.expect_download() as download:
        figure.locator(".keep button", has_text="CSV").click()
    return list(csv.reader(io.StringIO(download.value.path().read_text("utf-8"))))


@pytest.mark.parametrize(
    ("size", "theme", "locale"),
    [
        ((1440, 900), "light", "en-US"),
        ((1920, 1080), "dark", "zh-CN"),
        ((390, 844), "dark", "en-US"),
    ],
    ids=["wide", "projector", "phone"],
)
def test_every_run_gives_something_back_and_tells_why(new_page, size, theme, locale):
    page = open_generate(new_page, size, theme, locale)
    choose_strategy(page, 1, "束搜索" if locale == "zh-CN" else "beam search")
    expect(page.locator(NODES).first).to_be_visible()
    page.locator(".generate-text").nth(1).locator(".said").nth(2).click()
    for run in (RUN, "characters-gru", *ANSWERS):
        choose_run(page, run)
        if run in ANSWERS:
            expect(page.locator(ANSWERS[run]).first).to_be_visible()
        expect(page.locator(".generate-objective .textpoint text").first).to_be_visible()
        for caption in page.locator(".view-generate .caption:visible").all():
            expect(caption).not_to_be_empty()
            page.wait_for_function(ARIA_LABELS)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], run
        page.screenshot(path=SHOTS / f"generate-{run}-{size[0]}-{theme}-{locale}.png", full_page=True)


def test_texts_and_shares_are_cores(new_page):
    page = open_generate(new_page)
    choose_strategy(page, 1, "beam search")
    option(page, 1, "n_best").fill("3")
    expect(page.locator(".generate-others:visible")).to_have_text(re.compile(r"^2\. .*\n3\. .*$"))
    expected = generate({"strategy": "beam", "n_best": 3})
    chips = page.locator(".generate-text").nth(1).locator(".said")
    assert chips.all_inner_texts() == expected["texts"][0]["tokens"]
    chips.nth(3).click()
    shares = page.locator(".generate-shares:visible")
    _, *rows = csv_of(page, shares)
    step = expected["steps"][3]
    assert [row[0] for row in rows] == [expected["tokens"][i] for i in step["ids"]]
    assert [float(row[1]) for row in rows] == pytest.approx(step["before"], abs=1e-6)
    assert f"{100 * step['before'][0]:.1f} %" in shares.locator(".caption").inner_text()
    drawn, *_ = figure_data(page, ".generate-shares:not([hidden])")
    names = figure_data(page, ".generate-shares:not([hidden])")[2]["text"]
    bars = [x for x in drawn["x"] if x is not None]
    assert bars == pytest.approx([step["before"][i] for i, _ in enumerate(bars)], abs=1e-6)
    assert [name.strip() for name in names if name.strip()] == [expected["tokens"][i] for i in step["ids"]][
        : len(bars)
    ]
    tree = csv_of(page, page.locator(".generate-tree:visible"))[1:]
    assert [float(row[5]) for row in tree] == pytest.approx(
        [node["score"] for level in expected["tree"] for node in level], abs=1e-5
    )


def test_an_invalid_option_is_explained_beside_it_and_nothing_is_lost(new_page):
    page = open_generate(new_page)
    expect(page.locator(".generate-text").nth(1).locator(".said").first).to_be_visible()
    before = page.locator(".generate-text").nth(1).inner_text()
    option(page, 1, "temperature").fill("0")
    problem = page.locator(".generate-column").nth(1).locator(".problem:visible")
    expect(problem).to_contain_text("Temperature = 0")  # called as on screen
    assert page.locator(".generate-text").nth(1).inner_text() == before
    option(page, 1, "temperature").fill("1.5")
    expect(problem).to_have_count(0)


def test_more_than_can_be_written_is_refused_beside_its_box(new_page):
    page = open_generate(new_page)
    box, problem = page.locator(".generate-shared .option-max_new input"), page.locator(".shared-problem")
    for max_new in ("300", "0"):
        box.fill(max_new)
        expect(problem.first).to_contain_text(f"New tokens, at most = {max_new}")
        expect(problem.first).to_contain_text("from 1 to 64")
    box.fill("5")
    expect(page.locator(".generate-text").first.locator(".said")).to_have_count(5)
    expect(page.locator(".shared-problem:visible")).to_have_count(0)


def test_tokens_behind_the_expected_end_are_wrong(new_page):
    page = open_generate(new_page)
    header = generate({"strategy": "sample", "temperature": 1.5})
    tokens, right = header["texts"][0]["tokens"], [*header["right"], "</s>"]
    assert len(tokens) > len(right), "it goes on too long"
    chips = page.locator(".generate-text").nth(1).locator(".said")
    expect(chips).to_have_text(tokens)
    marks = chips.evaluate_all("(all) => all.map((one) => one.classList.contains('right'))")
    assert marks == [i < len(right) and token == right[i] for i, token in enumerate(tokens)]
    assert page.locator(".generate-text").nth(1).locator(".wrong").count() == marks.count(False)
    expect(page.locator(".generate-column").nth(1).locator(".caption")).to_contain_text("1 token too many")


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_edges_of_the_tree_reach_their_tokens(new_page, size):
    page = open_generate(new_page, size, run="induction-gpt")
    choose_strategy(page, 0, "beam search")
    expect(page.locator(NODES).first).to_be_visible()
    nodes = sum(len(level) for level in generate_with("induction-gpt", {"strategy": "beam"})["tree"])
    ends, names, fates, overflow = page.locator(".generate-tree:visible").evaluate(
        """(figure, nodes) => {
      const plot = figure.querySelector('.js-plotly-plot'), texts = [...plot.querySelectorAll('.textpoint text')], { left, top } = plot.getBoundingClientRect();
      const edges = plot.layout.shapes.filter(({ type }) => type === 'path').flatMap(({ path }) => path.split('M').slice(1)).map((path) => path.match(/-?[\\d.]+/g).map(Number));
      return [
        edges.map((d) => [d[0], d[1], d.at(-2), d.at(-1)]),
        texts.slice(0, nodes).map((text) => { const box = text.getBoundingClientRect(); return [box.left - left + plot.scrollLeft, box.right - left + plot.scrollLeft, (box.top + box.bottom) / 2 - top]; }),
        texts.slice(nodes + 1).map((text) => text.textContent),
        plot.scrollWidth - plot.clientWidth];
    }""",
        nodes,
    )
    assert len(ends) == len(names) == nodes
    ends.sort(key=lambda end: (end[2], end[3]))
    names.sort(key=lambda name: (round(name[0]), name[2]))
    for (*_, x, y), (left, _, middle) in zip(ends, names, strict=True):
        assert abs(y - middle) < 4 and 0 < left - x < 12
    for x, y, *_ in ends[8:]:  # those that have a parent in the tree
        assert any(abs(y - middle) < 4 and 0 < x - right < 12 for _, right, middle in names)
    assert {"part of the best text", "went on", "dropped"} <= set(fates)
    assert overflow <= 1 or size[0] < 1000, "twenty letters are seen whole"


def test_one_is_not_many(new_page):
    page = open_generate(new_page, run="parity-lstm")
    page.locator("#input textarea").fill("2 3")
    expect(page.locator(".generate-along .caption")).to_contain_text("changes its answer once")
    choose_run(page, RUN)
    page.locator(".generate-shared .option-max_new input").fill("1")
    expect(page.locator(".generate-column .caption").first).to_contain_text("of 1 token:")


def test_the_tree_is_walked_with_the_keyboard(new_page):
    page = open_generate(new_page)
    choose_strategy(page, 1, "beam search")
    option(page, 1, "no_repeat").fill("1")
    page.wait_for_timeout(400)
    expected = generate({"strategy": "beam", "no_repeat": 1})
    tree = expected["tree"]
    nodes = sum(len(level) for level in tree)
    (fates,) = figure_data(page, ".generate-tree:not([hidden])")
    assert fates["text"][nodes + 1 :][0] == "part of the best text" and len(fates["text"]) - nodes - 1 <= 4
    expect(page.locator(NODES)).to_have_count(len(fates["text"]))
    page.locator(".generate-tree:not([hidden]) .plot").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight"):  # in, down, down, up; a child
        page.keyboard.press(key)
    place = next(i for i, node in enumerate(tree[1]) if node["parent"] == 1)
    node, parent = tree[1][place], tree[0][1]
    tip = page.locator(".generate-tree .tip:visible")
    expect(tip).to_contain_text(expected["tokens"][node["id"]])
    expect(tip).to_contain_text(f"{node['score']:.2f}".replace("-", "−"))
    page.keyboard.press("ArrowLeft")
    expect(tip).to_contain_text(expected["tokens"][parent["id"]])
    page.keyboard.press("Enter")
    expect(page.locator(".generate-path .said:visible")).to_have_text([expected["tokens"][parent["id"]]])
    _, *rows = csv_of(page, page.locator(".generate-shares:visible"))
    following = parent["next"]
    assert [float(row[1]) for row in rows] == pytest.approx(following["before"], abs=1e-6)
    assert [float(row[2]) for row in rows] == pytest.approx(following["after"], abs=1e-6)
    caption = page.locator(".generate-shares:visible").locator(".caption")  # tokens used before are excluded
    expect(caption).to_contain_text(f"{following['left']} of {len(expected['tokens'])} tokens")


def test_one_seed_serves_both_sides(new_page):
    page = open_generate(new_page)
    choose_strategy(page, 0, "sample")
    option(page, 0, "temperature").fill("1.5")
    texts = page.locator(".generate-text")
    for seed in ("3", "4"):
        page.locator(".generate-shared .option-seed input").fill(seed)
        how = {"strategy": "sample", "temperature": 1.5, "seed": int(seed)}
        for side in (0, 1):
            expect(texts.nth(side).locator(".said")).to_have_text(generate(how)["texts"][0]["tokens"])


def test_answers_on_the_page_are_cores(new_page):
    page = open_generate(new_page)
    choose_run(page, "entities-crf")
    header, arrays = answer("entities-crf")
    figure = page.locator(".generate-scores")
    expect(figure.locator(".caption")).not_to_be_empty()
    _, *rows = csv_of(page, figure)
    assert [[float(x) for x in row[1:]] for row in rows] == [
        pytest.approx(tag, abs=1e-5) for tag in arrays["emissions"].T
    ]
    drawn = figure_data(page, ".generate-scores")
    np.testing.assert_array_equal(np.array(drawn[0]["z"], np.float32), arrays["emissions"].T)
    assert [line["y"] for line in drawn[1:]] == [header["alone"], header["path"]], "the paths through it"
    page.locator(".generate-lattice .chips label", has_text="probabilities").click()
    _, *rows = csv_of(page, figure)
    assert [[float(x) for x in row[1:]] for row in rows] == [
        pytest.approx(tag, abs=1e-5) for tag in arrays["shares"].T
    ]
    _, *rows = csv_of(page, page.locator(".generate-transitions"))
    assert [[float(x) for x in row[1:]] for row in rows] == [
        pytest.approx(row, abs=1e-5) for row in arrays["transitions"]
    ]
    lanes = csv_of(page, page.locator(".generate-tags"))
    names = [label["en"] for label in header["labels"]]
    assert [row[2] for row in lanes if row[0].startswith("best allowed path")] == [
        names[tag] for tag in header["path"]
    ]
    caption = page.locator(".generate-tags .caption").inner_text()
    for number in (header["crf"]["path"]["score"], header["crf"]["alone"]["score"]):
        assert f"+{number:.2f}" in caption
    assert f"{100 * header['crf']['path']['share']:.1f} %" in caption and "O → I-ORG" in caption
    assert "best allowed path" in caption and "never answers with one" in caption
    tones = [tones_of(page, figure) for figure in (".generate-tags", ".generate-objective")]
    shared = tones[0].keys() & tones[1].keys()
    assert shared and all(tones[0][kind] == tones[1][kind] for kind in shared), "a kind has one colour"

    choose_run(page, "nested-bert")
    header, arrays = answer("nested-bert")
    expect(page.locator(".generate-spans .caption")).to_contain_text(str(len(header["found"])))
    page.locator(".generate-view.generate-spans .chips label").nth(2).click()
    _, *rows = csv_of(page, page.locator(".generate-span-scores"))
    assert [[float(x) for x in row[1:]] for row in rows] == [
        pytest.approx(row, abs=1e-4) for row in arrays["scores"][2]
    ]

    choose_run(page, "parity-lstm")
    _, arrays = answer("parity-lstm")
    expect(page.locator(".generate-along .caption")).not_to_be_empty()
    _, *rows = csv_of(page, page.locator(".generate-along"))
    assert [[float(x) for x in row[1:]] for row in rows] == [
        pytest.approx(row, abs=1e-5) for row in arrays["shares"].T
    ]


def test_words_are_masked_by_hand(new_page):
    page = open_generate(new_page)
    choose_run(page, "masked-bert")
    words = page.locator(".generate-words label")  # without [CLS], which cannot be masked
    expect(words.nth(1)).to_have_text("[MASK]")
    words.nth(3).click()
    expect(words.nth(3)).to_have_text("[MASK]")
    header, _ = answer("masked-bert", [2, 4])
    figure = page.locator(".generate-fillings")
    known = header["holes"][1]
    expect(figure.locator(".caption")).to_contain_text(f"is its choice number {known['rank']}")
    expect(figure.locator(".annotation-text", has_text="stood there")).to_have_text("place 4: “Mary” stood there")
    _, *rows = csv_of(page, figure)
    assert [row[1] for row in rows] == [word for hole in header["holes"] for word in hole["words"]]
    shares = [share for hole in header["holes"] for share in hole["shares"]]
    assert [float(row[2]) for row in rows] == pytest.approx(shares, abs=1e-6)
    words.nth(3).locator("input").press("Space")  # and shown again, without the mouse
    expect(words.nth(3)).to_have_text("Mary")


def test_gates_behind_a_letter_and_another_example_of_training(new_page):
    page = open_generate(new_page)
    choose_run(page, "characters-gru")
    chips = page.locator(".generate-text").first.locator(".said")
    run = run_registry.open_run("characters-gru").run
    prompt = generation.make_prompt(run, "the ", 0)
    result = generation.write(run, prompt, run.snapshots[-1].step, {"max_new": generation.usual_length(run)})
    header, arrays = result.header, result.arrays
    expect(chips).to_have_text([token.replace(" ", "␣") for token in header["texts"][0]["tokens"]])
    chips.nth(3).click()
    _, *rows = csv_of(page, page.locator(".generate-gates:visible"))
    gates = {name.split(".")[-1]: arrays[name][3] for name in header["cells"]}
    assert {row[0] for row in rows} == set(gates)
    for row in rows:
        assert [float(x) for x in row[1:]] == pytest.approx(gates[row[0]], abs=1e-6)
    drawn = figure_data(page, ".generate-gates:not([hidden])")[0]["z"]
    assert {tuple(row) for row in drawn} == {tuple(values.tolist()) for values in gates.values()}
    figure = page.locator(".generate-objective figure")
    for number in (0, 1):
        example = training_example.describe_example(run, number)
        expect(figure.locator(".caption")).to_contain_text(f"Example {number + 1} of")
        rows = csv_of(page, figure)
        assert [row[2] for row in rows if row[0] == "target"] == example["target"]
        page.get_by_role("button", name="Another example").click()


def test_hostile_text_stays_text(new_page):
    page = open_generate(new_page)
    choose_run(page, "entities-crf")
    page.locator("#input textarea").fill("<img src=x onerror=alert(1)> Paris")
    expect(page.locator(".view-sidebar .problem:visible")).to_contain_text("<")
    expect(page.locator(".generate-tags .textpoint text", has_text="Disney")).to_be_visible()
    odd = "</text></svg><img src=x onerror=alert(1)><b>x</b>**<i>"
    bars = share_bars(
        [BarGroup([BarRow(odd, 0.5, Format("{word}", word=odd))], "")], caption=Format("{x}", x=quoted(odd))
    )
    rows = token_rows(
        [Row("input", [Cell(odd, odd), Cell(odd, odd)])], spans=[Span(0, 1, odd, odd, colour("accent"))]
    )
    cells = matrix([odd], [odd, "b"], {"z": [[0.1, 0.2]], "colorscale": WEIGHT}, 100)
    counts = page.evaluate(
        """async ([specs, odd]) => {
      const [{ Picture }, { exportsOf }, { sayInto }] = await Promise.all(['live/picture', 'live/exports', 'words'].map((name) => import(`/ours/js/${name}.js`)));
      const box = document.querySelector('.generate-tags').parentElement, found = [];
      for (const spec of specs) {
        const picture = new Picture(box);
        picture.show(spec, {});
        await picture.figure.drawn;
        picture.plot.focus();
        picture.plot.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
        const kept = new DOMParser().parseFromString(await (await exportsOf(picture.figure).svg()).text(), 'image/svg+xml');
        found.push([picture.element.querySelectorAll('img, script, tspan[style*=bold], tspan[style*=italic]').length, kept.querySelectorAll('img, parsererror').length, picture.plot.textContent.includes('</')]);
        picture.remove();
      }
      const sentence = document.createElement('p');
      sayInto(sentence, odd);
      found.push([sentence.querySelectorAll('img, i').length, 0, sentence.textContent.includes('</')]);
      return found;
    }""",
        [[figure.spec() for figure in (bars, rows, cells)], odd],
    )
    assert counts == [[0, 0, True]] * 4


def test_a_text_is_written_token_by_token_and_stopped(new_page):
    page = open_generate(new_page)
    said = page.locator(".generate-text").first.locator(".said:visible")
    expected = generate({})["texts"][0]["tokens"]
    expect(said).to_have_text(expected)
    page.locator("#generate-next").click()  # from the beginning
    expect(said).to_have_text(expected[:1])
    page.locator("#generate-next").click()
    expect(said).to_have_text(expected[:2])
    expect(said.nth(1)).to_have_attribute("aria-pressed", "true")
    title = page.locator(".generate-shares:visible .title")
    expect(title).to_have_text(f"A: what “{expected[1]}” at position 1 was chosen from")
    page.locator("#generate-write").click()
    expect(said.nth(2)).to_be_visible()
    page.locator("#generate-stop").click()
    page.wait_for_timeout(1200)
    stopped = said.count()
    page.wait_for_timeout(1200)
    assert said.count() == stopped
    page.locator("#generate-write").click()  # and on from there
    expect(said).to_have_text(expected, timeout=20_000)


def test_only_the_options_that_a_strategy_reads_are_offered(new_page):
    page = open_generate(new_page)
    options = page.locator(".generate-column").first.locator(".option:visible")
    expect(options).to_have_count(2)
    choose_strategy(page, 0, "sample")
    expect(options).to_have_count(5)
    choose_strategy(page, 0, "beam search")
    expect(option(page, 0, "beams")).to_be_visible()
    expect(option(page, 0, "temperature")).to_have_count(0)


def test_positions_are_counted_from_0(new_page):
    page = open_generate(new_page)
    expect(page.locator(".generate-shares:visible .title")).to_contain_text("at position 0")
    expect(page.locator(".generate-text").first.locator(".said").nth(2)).to_have_attribute(
        "title", re.compile("^Position 2:")
    )
