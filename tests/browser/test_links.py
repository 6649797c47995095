"""The address is a link to the view: it brings back run, input, moment and what was chosen; Back and Forward go by views."""

import random
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from app.page import TABS
from app.service.runs import shipped
from tests.browser.page_driver import choose_run, open_app, page_state, wait_until

KEYS = ["tab", "run", "text", "heldOut", "snapshot", "focus", "gate", "unit", "time", "sort", "gatesView", "through"]
KEYS += ["recurrent_layer", "position", "offset", "pair", "sides", "ropeKey", "wordOrder", "language", "theme"]
HEAD = ["group", "layer", "head", "query", "key"]
CHOSEN = "s.state.group && JSON.stringify(s.state.attentionOf) === JSON.stringify([s.state.run, s.state.text, s.state.heldOut, null])"
READY = "s.shown.story && s.shown.look && !s.shown.loading"
CHOICES = {
    "focus": ["map", "arcs"], "gatesView": ["units", "path"], "through": ["time", "training"], "sides": ["two", "one"],
    "ropeKey": ["same", "other"], "wordOrder": ["shuffle", "reverse"],
}  # fmt: skip


def values(page: Page) -> dict:
    """What a link keeps; the head and its cell once the Attention tab has chosen them for this input."""
    keys = f"[...{KEYS}, ...({CHOSEN} ? {HEAD} : [])]"
    return page_state(page, f"Object.fromEntries({keys}.map((key) => [key, s.state[key]]))")


def open_link(new_page, link: str, **options) -> Page:
    page = new_page(**options)
    page.goto(link)
    wait_until(page, READY, 60)
    return page


def random_moves(page: Page, chance: random.Random) -> dict:
    """Values that exist in the run and input that are shown."""
    stacks = page_state(page, f"({CHOSEN}) ? s.shown.look.heads.map(({{ name, shape }}) => ({{ name, shape }})) : []")
    moves = {key: chance.choice(choices) for key, choices in CHOICES.items()}
    moves |= {"snapshot": chance.randrange(page_state(page, "s.shown.story.snapshots.length"))}
    moves |= {"position": chance.randrange(1, 12), "offset": chance.randrange(1, 9)}
    if stacks:
        stack = chance.choice(stacks)
        _, layers, heads, *_ = stack["shape"]
        moves |= {"group": stack["name"], "layer": chance.randrange(layers), "head": chance.randrange(heads)}
        moves |= {"query": chance.randrange(3), "key": chance.randrange(3)}
    return moves


def settled_link(page: Page) -> str:
    """The address, once it has stood still: some tabs choose something of their own when they open."""
    link = ""
    while link != page.url:
        link = page.url
        page.wait_for_timeout(1200)
    return link


def settled(page: Page, tab: str) -> dict:
    """What a link keeps, once the open tab has chosen what it chooses for the run and input."""
    wait_until(page, f"s.state.tab === '{tab}' && {READY}", 60)
    if tab == "attention":
        wait_until(
            page,
            "JSON.stringify(s.state.attentionOf?.slice(0, 3)) === JSON.stringify([s.state.run, s.state.text, s.state.heldOut])",
            60,
        )
    if tab == "gates":
        expect(page.locator(".view-gates .caption:visible, .view-gates .nothing:visible").first).not_to_be_empty(
            timeout=60_000
        )
    settled_link(page)
    return values(page)


def test_a_link_brings_the_same_view_to_another_browser(new_page):
    chance = random.Random(0)
    page = open_app(new_page)
    for at, tab in enumerate(["attention", "gates", "positions"]):
        choose_run(page, chance.choice(shipped.names()))
        if at % 2:
            page.get_by_role("button", name="Another held-out problem").click()
            wait_until(page, f"s.state.text === null && {READY}")
        page.locator(f"#tab-{tab}-button").click()
        settled(page, tab)
        page.evaluate("moves => import('/ours/js/store.js').then((s) => s.set(moves))", random_moves(page, chance))
        if at == 2:
            page.locator(".tools .ground").click()
        expected, link = settled(page, tab), page.url
        other = open_link(new_page, link, viewport={"width": 1300, "height": 800})
        assert settled(other, tab) == expected, link
        assert len(link) < 500
        other.close()


def test_back_and_forward_go_from_view_to_view(new_page):
    page = open_app(new_page)
    settled_link(page)
    page.locator("#tab-positions-button").click()
    settled_link(page)
    page.keyboard.press("ArrowLeft")  # a move within the view
    settled_link(page)
    choose_run(page, "parity-lstm")
    settled_link(page)
    page.go_back()
    wait_until(page, "s.state.run === 'induction-gpt' && s.state.tab === 'positions'")
    page.go_back()
    wait_until(page, "s.state.run === 'induction-gpt' && s.state.tab === 'attention'")
    page.go_forward()
    page.go_forward()
    wait_until(page, "s.state.run === 'parity-lstm' && s.state.tab === 'positions'")


@pytest.mark.parametrize("query, words, then", [
    ("run=nowhere&tab=gates", "no run called 'nowhere'", {"run": "induction-gpt", "tab": "gates"}),
    ("tab=nothing", "“nothing”", {"tab": "attention", "run": "induction-gpt"}),
    ("run=parity-lstm&step=7777777", "no snapshot at step 7777777", {"run": "parity-lstm"}),
    ("run=induction-gpt&layer=77&head=1", "layer=77", {"head": 1, "layer": 1}),
    ("run=induction-gpt&text=a1b2", "'1' is not one", {"run": "induction-gpt"}),
    ("run=induction-gpt&text=&zzz=%3Cimg+src=x%3E&layer=%22no%22", "zzz=<img", {"run": "induction-gpt"}),
    ("run=" + "0" * 24, "could not be opened", {"run": "induction-gpt"}),
], ids=["run", "tab", "step", "layer", "text", "unknown", "own run that is gone"])  # fmt: skip
def test_a_wrong_link_says_what_is_wrong_and_opens_what_it_can(new_page, query, words, then):
    page = open_link(new_page, f"/?{query}", viewport={"width": 1300, "height": 800})
    expect(page.locator(".banner")).to_contain_text(words)
    for key, value in then.items():
        wait_until(page, f"s.state.{key} === {value!r}")
    page.locator(".banner .close").click()
    expect(page.locator(".banner")).to_be_hidden()


def test_the_copied_link_is_the_address(new_page):
    page = open_app(new_page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("ArrowLeft")
    address = settled_link(page)
    page.locator(".copy-link").click()
    expect(page.locator(".copy-link")).to_have_text("✓")
    assert page.evaluate("navigator.clipboard.readText()") == address
    query = parse_qs(urlsplit(address).query)
    assert query["run"] == ["induction-gpt"]
    assert int(query["step"][0]) == page_state(page, "s.shown.story.snapshots[s.state.snapshot]")


def test_the_language_changes_and_everything_else_stays(new_page):
    page = open_app(new_page)
    choose_run(page, "parity-lstm")
    page.locator("#tab-positions-button").click()
    page.keyboard.press("ArrowLeft")
    settled_link(page)
    before = values(page)
    page.locator(".tools .language").click()
    expect(page.locator("#tab-gates-button")).to_have_text("门控", timeout=40_000)
    for name, title in TABS.items():
        expect(page.locator(f"#tab-{name}-button")).not_to_have_text(title.key)
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    expect(page.locator(".purpose")).to_have_text("模型如何知道词元所在的位置。")
    wait_until(page, f"{READY} && s.state.tab === 'positions'", 40)
    assert values(page) == {**before, "language": "zh"}
