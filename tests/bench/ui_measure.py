"""Shared by the measurements of the page: one move and the requests it makes, percentiles."""

from __future__ import annotations

import statistics

from playwright.sync_api import Browser, Page

MOVES = 60

# One move, from the change to the frame that shows it; the number of requests it made.
MOVE = """async ([changes, moves]) => {
    const { set } = await import('/ours/js/store.js');
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const before = performance.getEntriesByType('resource').length;
    const took = [];
    for (let i = 0; i < moves; i++) {
        const change = changes[i % changes.length];
        await frame();
        const began = performance.now();
        set(change);
        await frame();
        took.push(performance.now() - began);
    }
    const late = new Promise((done) => setTimeout(done, 500));
    await late;
    const requests = performance.getEntriesByType('resource').slice(before).map((entry) => entry.name);
    return { took, requests };
}"""


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def new_page(browser: Browser, url: str):
    return lambda **options: browser.new_context(base_url=url, **options).new_page()


def moves(page: Page, name: str, changes: list[dict]) -> list[float]:
    result = page.evaluate(MOVE, [changes, MOVES])
    requests = [address for address in result["requests"] if not address.endswith("/heartbeat")]
    print(f"  {name:<34} p95 {p95(result['took']):6.1f} ms   requests {len(requests)}", flush=True)
    return result["took"]
