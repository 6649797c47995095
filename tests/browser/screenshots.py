"""Screenshots of the running app for the README: `make screenshots`."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.page_driver import choose_run, open_app
from tests.browser.train_tab import choose_recipe, open_train, press_train, wait_for_run

FOLDER = Path(__file__).resolve().parents[2] / "static/screenshots"
SIZE = {"width": 1440, "height": 900}
SHOTS = [  # file, run, tab, ground, snapshots back from the end
    ("attention-light", "induction-gpt", "attention", "light", 2),
    ("gates-dark", "parity-lstm", "gates", "dark", 0),
    ("positions-light", "copy-transformer", "positions", "light", 0),
    ("build-light", "translation-transformer", "build", "light", 0),
]
SETTLED_MS = 1500


@pytest.mark.parametrize(("file", "run", "tab", "ground", "back"), SHOTS)
def test_take(new_page, file, run, tab, ground, back):
    page = open_app(new_page, (SIZE["width"], SIZE["height"]), ground)
    choose_run(page, run)
    page.locator(f"#tab-{tab}-button").click()
    page.locator("body").click(position={"x": 700, "y": 70})
    for _ in range(back):
        page.keyboard.press("ArrowLeft")
    save(page, file)


def test_take_training(new_page):
    page = open_train(new_page, (SIZE["width"], SIZE["height"]), "dark")
    choose_recipe(page, "gpt", "induction")
    press_train(page)
    wait_for_run(page, "one.history.length > 250", 120)
    save(page, "train-dark")


def save(page: Page, file: str) -> None:
    page.wait_for_timeout(SETTLED_MS)
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=FOLDER / f"{file}.png")


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
