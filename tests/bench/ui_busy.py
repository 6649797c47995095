"""Speed of the page while two models train: the same moves and requests, idle and busy, in one run."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, Page

from tests.bench.ui_measure import moves, new_page, p95
from tests.browser.page_driver import open_app, page_state

REQUESTS = 40
WATCHED_SECONDS = 10
LONG = {"steps": 100_000}
TRAININGS = [
    {"family": "lstm", "task": "parity", "variant": "default", "training": LONG},
    {"family": "gpt", "task": "induction", "variant": "default", "training": LONG},
]
# Each request is made once for every number, so that none is answered from a cache.
REQUEST = """async ([address, bodies]) => {
    const took = [];
    for (const body of bodies) {
        const began = performance.now();
        const answer = await fetch(`api/${address}`, {
            method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
        });
        await answer.arrayBuffer();
        took.push(performance.now() - began);
        if (answer.headers.get('x-refused')) throw new Error(`refused: ${address} ${JSON.stringify(body)}`);
    }
    return took;
}"""
START = """async (request) => (await (await fetch('api/train/start', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request),
})).json()).key"""
STOP = """(key) => fetch(`api/train/${key}/stop`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}',
})"""
WATCH = """async (seconds) => {
    const { on } = await import('/ours/js/store.js');
    let drawn = 0;
    on(['curves'], () => { drawn++; });
    await new Promise((done) => setTimeout(done, 1000 * seconds));
    return drawn / seconds;
}"""


def requests(salt: int) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    numbers = range(salt * REQUESTS, (salt + 1) * REQUESTS)
    return {
        "a recipe is checked": (
            "train/check",
            [{"family": "lstm", "task": "parity", "variant": "default", "seed": i} for i in numbers],
        ),
        "a model is drawn": ("build/diagram", [{"family": "gpt", "options": {"d_ff": 64 + i}} for i in numbers]),
        "an input is read": (
            "look",
            [
                {"run": "induction-gpt", "text": " ".join([letters[i % 26], letters[i // 26], *"xyzxyz"])}
                for i in numbers
            ],
        ),
    }


def busy(browser: Browser, url: str) -> None:
    print("Idle, and while two models are trained (goal: p95 of a request ≤ 300 ms, of a move ≤ 50 ms)")
    page = open_app(new_page(browser, url))
    last = page_state(page, "s.shown.look.steps.length") - 1
    scrub = [{"snapshot": i} for i in range(last + 1)]
    idle = {name: p95(page.evaluate(REQUEST, list(calls))) for name, calls in requests(0).items()}
    calm = p95(moves(page, "another moment, idle", scrub))
    keys = [page.evaluate(START, request) for request in TRAININGS]
    try:
        train_page = open_train_page(browser, url, keys)
        rate = train_page.evaluate(WATCH, WATCHED_SECONDS)
        for name, calls in requests(1).items():
            report(name, idle[name], p95(page.evaluate(REQUEST, list(calls))))
        report("another moment", calm, p95(moves(page, "another moment, busy", scrub)))
        print(f"  {'the chart of a run, watched':<34} {rate / len(keys):.1f} updates/s (goal: ≥ 5)", flush=True)
    finally:
        for key in keys:
            page.evaluate(STOP, key)


def open_train_page(browser: Browser, url: str, keys: list[str]) -> Page:
    """A second page, on its Train tab, that receives the updates of both runs."""
    page = open_app(new_page(browser, url))
    page.evaluate("(keys) => localStorage.setItem('innerview-runs', JSON.stringify(keys))", keys)
    page.locator("#tab-train-button").click()
    page.locator(".train-status.running").wait_for(timeout=60_000)
    return page


def report(name: str, idle: float, busy: float) -> None:
    print(f"  {name:<34} p95 {idle:6.1f} ms idle, {busy:6.1f} ms busy: × {busy / idle:.2f}", flush=True)
