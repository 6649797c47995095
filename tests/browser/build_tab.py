"""Driving the Build tab: choosing a model, reading its diagram, and the model to compare it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from playwright.sync_api import Locator, Page, expect

import core
from core.models import is_encoder_decoder
from tests.browser.page_driver import open_app, wait_until

# Of every box of the diagram its path, texts and position; of every arrow its two ends.
READ_DIAGRAM = """() => {
    const svg = document.querySelector('.diagram');
    return {
        parts: [...svg.querySelectorAll('.part')].map((part) => {
            const title = svg.querySelector(`[data-title="${CSS.escape(part.dataset.id)}"]`);
            const { x, y, width, height } = [...part.querySelectorAll('rect')].at(-1).getBBox();
            const texts = [...part.querySelectorAll('text'), ...(title?.querySelectorAll('text') ?? [])];
            return {
                id: part.dataset.id, path: part.dataset.path, open: part.classList.contains('part-open'),
                point: part.classList.contains('part-point'), says: texts.map((text) => text.textContent),
                shape: part.dataset.shape?.split(',').map(Number) ?? null, count: Number(part.dataset.count),
                box: [x, y, x + width, y + height],
                words: texts.map((text) => { const b = text.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; }),
            };
        }),
        edges: [...svg.querySelectorAll('.edge')].map((edge) => ({
            from: edge.dataset.from, to: edge.dataset.to, says: edge.querySelector('title').textContent,
            label: edge.querySelector('.edge-shape')?.textContent ?? null,
        })),
    };
}"""


def open_build(new_page: Callable[..., Page], size=(1440, 900), theme="light", locale="en-US") -> Page:
    page = open_app(new_page, size, theme, locale)
    page.locator("#tab-build-button").click()
    expect(page.locator(".diagram .part").first).to_be_visible(timeout=40_000)
    return page


def choose_family(page: Page, name: str) -> None:
    page.locator(f'.build-families [data-testid="{name}-radio-label"]').click()
    wait_for_diagram(page, name)


def choose_preset(page: Page, name: str) -> None:
    choose_family(page, core.PRESETS[name].family)
    chip = page.locator(f'.build-presets [data-testid="{name}-radio-label"]')
    chip.click()
    expect(chip.locator("input")).to_be_checked()
    wait_for_diagram(page)


def wait_for_diagram(page: Page, family: str = "") -> None:
    """Until what is chosen has been drawn."""
    now = "(s.state.build[s.state.build.side] ?? s.state.built.run)"
    same = "".join(
        f" && JSON.stringify(s.state.built[s.state.build.side].{part}) === JSON.stringify({now}.{part})"
        for part in ("family", "options")
    )
    wait_until(page, f"s.state.built && s.state.built[s.state.build.side]{same}")
    if family:
        wait_until(page, f"s.state.built[s.state.build.side].family === '{family}'")


def code_on_page(page: Page) -> str:
    """The Python that builds what is drawn."""
    return "\n".join(page.locator(".build-side > .build-code .cm-line").all_inner_texts()).replace("\xa0", " ")


def option_box(page: Page, name: str) -> Locator:
    """An option of the chosen family, unfolded."""
    box = page.locator(f".build-family:not(.away) [id$='-{name}'].option")
    if not box.is_visible():
        page.locator(".build-rest:visible > .label-wrap").click()
    return box


def set_option(page: Page, name: str, value: Any) -> None:
    box = option_box(page, name)
    if isinstance(value, bool):
        box.locator("input").set_checked(value)
    elif isinstance(value, str):
        box.locator("input").click()
        page.get_by_role("option", name=value, exact=True).click()
    else:
        box.locator("input, textarea").fill("" if value is None else str(value))


def unfold_all(page: Page) -> None:
    page.locator("#unfold-all").click()
    expect(page.locator(".diagram [aria-expanded=false]")).to_have_count(0)


def read_diagram(page: Page) -> dict[str, Any]:
    return page.evaluate(READ_DIAGRAM)


def meta_model(family: str, options: dict[str, Any]) -> torch.nn.Module:
    return core.build(core.configure(family, **options), device="meta").eval()


def capture_meta(model: torch.nn.Module, time: int, target_time: int) -> core.Tape:
    ids = torch.zeros(1, time, dtype=torch.long, device="meta")
    inputs = (
        [ids, torch.zeros(1, target_time, dtype=torch.long, device="meta")] if is_encoder_decoder(model) else [ids]
    )
    with torch.no_grad(), core.capture(model) as tape:
        model(*inputs)
    return tape
