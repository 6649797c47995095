"""What a page that listens to some runs has not heard yet, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from app.i18n import in_all_languages
from app.service.runs.job_service import job_service
from app.service.training.job_view import job_facts, rows_of, thinned
from core.jobs import Job

TICK_SECONDS, IDLE_SECONDS = 0.1, 0.5  # between two looks, while something moves and otherwise
HEARTBEAT_SECONDS = 10.0
FACTS_SECONDS = 0.5  # between two accounts of a job that only makes steps
LINGER_SECONDS = 3.0  # looked at often for so long after something moved


class StreamCursor:
    """One run, and what has been told of it."""

    def __init__(self, key: str):
        self.key = key
        self.gone = False
        self.steps = -1  # told so far; −1: none asked for yet
        self.rewinds = 0
        self.state: tuple | None = None  # what decides whether the job is told again
        self.facts_at = 0.0
        self.sight: dict[str, Any] | None = None
        self.moments: list | None = None

    def news(self) -> list[tuple[str, dict[str, Any]]]:
        job = job_service.find(self.key)
        if job is None:
            told, self.gone = self.gone, True
            return [] if told else [("gone", {"key": self.key})]
        self.gone = False
        job_news = self._job(job)  # asked for first: of a run that is done, all steps are there
        return [*self._steps(job), *self._seen(job), *job_news]

    def _job(self, job: Job) -> list[tuple[str, dict[str, Any]]]:
        state = (job.status, job.problem, job.rewinds, len(job.probe_results.diagnoses), job.probe_results.accuracy)
        now = time.monotonic()
        due = job.progress != self.steps and now - self.facts_at >= FACTS_SECONDS
        if state == self.state and not due:
            return []
        self.state, self.facts_at = state, now
        return [("job", job_facts(job))]

    def _steps(self, job: Job) -> list[tuple[str, dict[str, Any]]]:
        first, start = self.steps < 0, max(0, self.steps)
        if job.rewinds != self.rewinds or job.progress < self.steps:
            self.rewinds, start, first = job.rewinds, 0, True
        rows = rows_of(job, start)
        if not rows and not first:
            return []
        self.steps = start + len(rows)
        return [("steps", {"key": self.key, "from": start, "rows": thinned(rows)})]

    def _seen(self, job: Job) -> list[tuple[str, dict[str, Any]]]:
        news = []
        results = job.probe_results
        if results.latest is not None and results.latest is not self.sight:
            news.append(("sight", {"key": self.key, **results.latest}))
        if results.events != self.moments and (results.events or self.moments):
            news.append(("moments", {"key": self.key, "moments": results.events}))
        self.sight, self.moments = results.latest, results.events
        return news


listeners = 0  # how many there are now


async def events(keys: list[str]) -> AsyncIterator[str]:
    """Until the listener leaves. Jobs are asked in another thread, so that the loop never waits for their lock."""
    global listeners
    ears = [StreamCursor(key) for key in keys]
    listeners += 1
    try:
        yield "retry: 1000\n\n"
        spoke = moved = time.monotonic()
        while True:
            text = await asyncio.to_thread(_spoken, ears)
            now = time.monotonic()
            if text:
                spoke = moved = now
                yield text
            elif now - spoke >= HEARTBEAT_SECONDS:
                spoke = now
                yield ": still here\n\n"
            await asyncio.sleep(TICK_SECONDS if now - moved < LINGER_SECONDS else IDLE_SECONDS)
    finally:
        listeners -= 1


def _spoken(ears: list[StreamCursor]) -> str:
    return "".join(
        f"event: {name}\ndata: {json.dumps(data, default=in_all_languages)}\n\n"
        for ear in ears
        for name, data in ear.news()
    )
