"""What is known of a run beside its steps: what its worker saw in it, and how fast it goes."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.messages import Text, text_hook
from core.runs.store import Store

if TYPE_CHECKING:
    from core.jobs.job import Job

PACE_SECONDS = 4.0  # what the speed is measured over
OUTCOME = ("index", "status", "problem", "accuracy", "moments", "noticed")


class Pace:
    """Steps per second of wall time over the last moments, with all that shares the workers."""

    def __init__(self):
        self.marks: deque[tuple[float, int]] = deque()  # (when, steps made)

    def note(self, progress: int) -> None:
        now = time.monotonic()
        if self.marks and (progress < self.marks[-1][1] or now - self.marks[-1][0] > PACE_SECONDS):
            self.marks.clear()  # rewound, or it has rested
        self.marks.append((now, progress))
        while now - self.marks[0][0] > PACE_SECONDS:
            self.marks.popleft()

    def seconds_for(self, steps: int) -> float | None:
        if len(self.marks) < 2:
            return None
        (began, first), (now, last) = self.marks[0], self.marks[-1]
        return steps * (now - began) / (last - first) if last > first and now > began else None


class Seen:
    """What workers told of a run. `shares` is what its moments are found from; a worker that takes over gets it back."""

    def __init__(self):
        self.sight: dict[str, Any] | None = None
        self.moments: list[dict[str, Any]] = []
        self.noticed: list[dict[str, Any]] = []
        self.shares: dict[int, Any] = {}  # by the step of a snapshot
        self.accuracy: float | None = None  # on held-out problems, at the end

    def learn(self, news: dict[str, Any]) -> None:
        self.shares.update(news.pop("shares", {}))
        for name, value in news.items():
            setattr(self, name, value)


def outcome_path(store: Store, key: str) -> Path:
    return store.folder / f"{key}.seen.json"


def keep_outcome(store: Store, job: Job) -> None:
    """Beside the run, for whoever asks when nobody remembers it."""
    problem = job.problem and job.problem.to_dict()
    seen = (job.seen.accuracy, job.seen.moments, job.seen.noticed)
    facts = dict(zip(OUTCOME, (job.progress, job.status, problem, *seen), strict=True))
    part = store.folder / f"{job.key}.seen.{os.getpid()}.part"  # a name that the store removes if this process dies
    part.write_text(json.dumps(facts, default=Text.to_dict))
    part.replace(outcome_path(store, job.key))


def outcome_of(store: Store, key: str, steps: int) -> dict[str, Any] | None:
    """What was kept, if it is about the run with so many steps; None: it is not there, or damaged."""
    try:
        facts = json.loads(outcome_path(store, key).read_text(), object_hook=text_hook)
    except (OSError, ValueError):
        return None
    whole = isinstance(facts, dict) and set(facts) == set(OUTCOME)
    return facts if whole and facts["index"] == steps else None


def recall_outcome(store: Store, job: Job) -> None:
    if facts := outcome_of(store, job.key, job.progress):
        job.seen.learn({name: facts[name] for name in ("accuracy", "moments", "noticed")})
        if facts["status"] == "failed":
            job.turn("failed", facts["problem"])
