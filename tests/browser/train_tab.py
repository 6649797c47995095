"""Driving the Train tab: choosing a recipe, training it, reading the run in focus."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.page_driver import open_app, page_state, wait_until

MODULES = "Promise.all([import('/ours/js/store.js'), import('/ours/js/train_choices.js')])"


def open_train(new_page: Callable[..., Page], size=(1440, 900), theme="light", locale="en-US") -> Page:
    page = open_app(new_page, size, theme, locale)
    show_train(page)
    return page


def show_train(page: Page) -> None:
    page.locator("#tab-train-button").click()
    expect(page.locator(".train")).to_be_visible(timeout=40_000)
    wait_until(page, "s.shown.check && !s.shown.checking", 40)


def choose_recipe(page: Page, family: str, task: str, variant: str | None = "default", **changes: Any) -> None:
    """Choose a recipe and change it: seed, task options, model, training."""
    names = json.dumps([family, task, variant])
    page.evaluate(
        f"{MODULES}.then(([s, c]) => s.set({{ recipe: {{ ...c.fresh(...{names}), ...{json.dumps(changes)} }} }}))"
    )
    wait_until(page, "!s.shown.checking")


def press_train(page: Page) -> str:
    """Returns the key of the run."""
    before = page_state(page, "s.state.trained")
    page.locator(".train-foot .train-go").click()
    wait_until(page, f"s.state.trained && s.state.trained !== {json.dumps(before)}")
    return page_state(page, "s.state.trained")


def press_control(page: Page, name: str) -> None:
    button = page.locator(f"[data-do={name}]")
    expect(button).to_have_attribute("aria-disabled", "false")
    button.click()


def focused_run(page: Page, expression: str) -> Any:
    """A value of the run in focus: `one.job.status`, `one.history.columns.loss` …"""
    return page_state(page, _focused(expression))


def wait_for_run(page: Page, expression: str, seconds: float = 60) -> None:
    wait_until(page, _focused(expression), seconds)


def _focused(expression: str) -> str:
    return f"((one) => one && ({expression}))(s.shown.jobs.find(({{ key }}) => key === s.state.trained))"
