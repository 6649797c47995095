"""Progress of training jobs as server-sent events: each page gets what is new since its last event.

Events: `job` (facts of the job), `steps` (rows of the training curve), `sight` (the step of the latest probe of the model),
`moments` (training events found so far), `gone` (there is no such run).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from app.i18n import in_all_languages
from app.service.runs.job_service import job_service
from app.service.runs.thinning import evenly_spaced
from app.service.training.job_view import job_facts, step_rows
from core.jobs import Job
from core.jobs.worker.probe import ProbeResult

POLL_SECONDS, IDLE_POLL_SECONDS = 0.1, 0.5
ACTIVE_SECONDS = 3.0  # after a change, until polling slows down to IDLE_POLL_SECONDS
HEARTBEAT_SECONDS = 10.0
JOB_EVENT_SECONDS = 0.5  # between two `job` events if nothing but the number of steps has changed
MAX_ROWS = 1500  # of the steps so far, when a page connects

Event = tuple[str, dict[str, Any]]  # name, data


class StreamCursor:
    """One run in one stream, and how much of it has been sent."""

    def __init__(self, key: str):
        self.key = key
        self.gone = False
        self.steps = -1  # sent so far; −1: no `steps` event yet
        self.rewinds = 0
        self.job_state: tuple | None = None  # a `job` event is sent when it changes
        self.job_sent_at = 0.0
        self.probe: ProbeResult | None = None
        self.events: list | None = None

    def new_events(self) -> list[Event]:
        job = job_service.find(self.key)
        if job is None:
            already_sent, self.gone = self.gone, True
            return [] if already_sent else [("gone", {"key": self.key})]
        self.gone = False
        job_events = self._job_events(job)  # read before the steps: once a job is done, all of its steps are there
        return [*self._step_events(job), *self._probe_events(job), *job_events]

    def _job_events(self, job: Job) -> list[Event]:
        state = (job.status, job.problem, job.rewinds, len(job.probe_results.diagnoses), job.probe_results.accuracy)
        now = time.monotonic()
        due = job.progress != self.steps and now - self.job_sent_at >= JOB_EVENT_SECONDS
        if state == self.job_state and not due:
            return []
        self.job_state, self.job_sent_at = state, now
        return [("job", job_facts(job))]

    def _step_events(self, job: Job) -> list[Event]:
        first, start = self.steps < 0, max(0, self.steps)
        if job.rewinds != self.rewinds or job.progress < self.steps:
            self.rewinds, start, first = job.rewinds, 0, True
        rows = step_rows(job, start)
        if not rows and not first:
            return []
        self.steps = start + len(rows)
        return [("steps", {"key": self.key, "from": start, "rows": evenly_spaced(rows, MAX_ROWS)})]

    def _probe_events(self, job: Job) -> list[Event]:
        new_events: list[Event] = []
        results = job.probe_results
        if results.latest is not None and results.latest is not self.probe:
            new_events.append(("sight", {"key": self.key, "step": results.latest["step"]}))
        if results.events != self.events and (results.events or self.events):
            new_events.append(("moments", {"key": self.key, "moments": results.events}))
        self.probe, self.events = results.latest, results.events
        return new_events


async def stream_events(keys: list[str]) -> AsyncIterator[str]:
    """Server-sent events of these runs until the client disconnects.

    Jobs are polled in another thread, so that the event loop never waits for their lock.
    """
    cursors = [StreamCursor(key) for key in keys]
    yield "retry: 1000\n\n"
    sent_at = changed_at = time.monotonic()
    while True:
        text = await asyncio.to_thread(_format_new_events, cursors)
        now = time.monotonic()
        if text:
            sent_at = changed_at = now
            yield text
        elif now - sent_at >= HEARTBEAT_SECONDS:
            sent_at = now
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS if now - changed_at < ACTIVE_SECONDS else IDLE_POLL_SECONDS)


def _format_new_events(cursors: list[StreamCursor]) -> str:
    return "".join(
        f"event: {name}\ndata: {json.dumps(data, default=in_all_languages)}\n\n"
        for cursor in cursors
        for name, data in cursor.new_events()
    )
