"""Driving the Train tab: choosing a recipe, training it, reading the run in focus."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from app.service.training.menu import fresh_recipe
from tests.browser.page_driver import open_app, page_state, wait_until

GO = ".train-aside button.train-go"
FILE = "#train-file input[type=file]"


def open_train(
    new_page: Callable[..., Page], size=(1440, 900), theme="light", locale="en-US", pace: Any = "all"
) -> Page:
    """pace: steps shown a second; "all": as fast as they are trained."""
    page = open_app(new_page, size, theme, locale)
    set_state(page, trainPace=pace)
    show_train(page)
    return page


def show_train(page: Page) -> None:
    page.locator("#tab-train-button").click()
    expect(page.locator(".train")).to_be_visible(timeout=40_000)
    expect(page.locator(".train-facts")).not_to_be_empty(timeout=40_000)


def set_state(page: Page, **changes: Any) -> None:
    page.evaluate(f"import('/ours/js/store.js').then((s) => s.set({json.dumps(changes)}))")


def choose_recipe(page: Page, family: str, task: str, variant: str | None = "default", **changes: Any) -> None:
    """Choose a recipe and change it: seed, task options, model, training."""
    set_state(page, recipe={**fresh_recipe(family, task, variant), **changes})
    expect(page.locator(GO)).to_be_enabled()


def option(page: Page, part: str, of: str, name: str, key: str = "recipe") -> Locator:
    """The control of an option; of: the family or task that it is for; key: "recipe" or "fork"."""
    return page.locator(f"[id='{key}-{part}-{of}-{name}']".replace(" ", "_"))


def press_train(page: Page) -> str:
    """Returns the key of the run."""
    before = page_state(page, "s.state.trained")
    page.locator(GO).click()
    wait_until(page, f"s.state.trained && s.state.trained !== {json.dumps(before)}")
    return page_state(page, "s.state.trained")


def press_control(page: Page, name: str) -> None:
    button = page.locator(f".do-{name}")
    expect(button).to_be_enabled()
    button.click()


def focused_run(page: Page, expression: str) -> Any:
    """A value of the run in focus: `one.job.status`, `one.history.columns.loss` …"""
    return page_state(page, _focused(expression))


def wait_for_run(page: Page, expression: str, seconds: float = 60) -> None:
    wait_until(page, _focused(expression), seconds)


def _focused(expression: str) -> str:
    return f"((one) => one && ({expression}))(s.shown.jobs.find(({{ key }}) => key === s.state.trained))"
