"""Driving the Build tab: choosing a model, reading its diagram, and the model to compare it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from playwright.sync_api import Page, expect

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
    page.locator(f".build-families [data-value={name}]").click()
    wait_for_diagram(page, {"family": name})


def choose_preset(page: Page, name: str) -> None:
    choose_family(page, core.PRESETS[name].family)
    page.locator(f'.build-presets [data-value="{name}"]').click()
    expect(page.locator(f'.build-presets [data-value="{name}"]')).to_have_attribute("aria-checked", "true")
    wait_for_diagram(page, {})


def wait_for_diagram(page: Page, choice: dict[str, Any]) -> None:
    """Until the diagram is that of the choice."""
    family = choice.get("family")
    if family:
        wait_until(page, f"s.state.build[s.state.build.side].family === '{family}'")
    expect(page.locator(".build-middle.waiting")).to_have_count(0)


def set_option(page: Page, name: str, value: Any) -> None:
    box = page.locator(f".build-column [data-option={name}]")
    if not box.is_visible():
        page.locator(".build-column .controls-rest summary").click()
    if isinstance(value, bool):
        box.set_checked(value)
    elif isinstance(value, str):
        box.select_option(value)
    else:
        box.fill("" if value is None else str(value))


def unfold_all(page: Page) -> None:
    page.locator(".build-head button.small").nth(1).click()
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
