"""Findings about a run beside its steps, and the file `<key>.seen.json` that keeps them when it has ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.jobs.messages import HeadShares, Update
from core.runs.atomic_files import write_atomically
from core.runs.store import Store, StoreError
from core.training.loop import Step
from core.translatable import Text, text_hook

if TYPE_CHECKING:
    from core.jobs.job import Job
    from core.jobs.worker.probe import ProbeResult

OUTCOME_KEYS = ("index", "status", "problem", "accuracy", "moments", "noticed")


class ProbeResults:
    """All that the monitors of a run have reported so far.

    `head_shares` is what training events are found from; a worker that takes the run over gets it back.
    """

    def __init__(self) -> None:
        self.latest: ProbeResult | None = None
        self.events: list[dict[str, Any]] = []
        self.diagnoses: list[dict[str, Any]] = []
        self.head_shares: dict[int, HeadShares] = {}  # by the step of a snapshot
        self.accuracy: float | None = None  # on held-out problems, at the end

    def apply(self, update: Update) -> None:
        self.head_shares.update(update.get("head_shares", {}))
        if "probe" in update:
            self.latest = update["probe"]
        if "events" in update:
            self.events = update["events"]
        if "diagnoses" in update:
            self.diagnoses = update["diagnoses"]
        if "accuracy" in update:
            self.accuracy = update["accuracy"]


def outcome_path(store: Store, key: str) -> Path:
    return store.folder / f"{key}.seen.json"


def save_outcome(store: Store, job: Job) -> None:
    """Write the outcome of an ended job beside its run."""
    results = job.probe_results
    problem = job.problem and job.problem.to_dict()
    values = (job.progress, job.status, problem, results.accuracy, results.events, results.diagnoses)
    content = json.dumps(dict(zip(OUTCOME_KEYS, values, strict=True)), default=Text.to_dict)
    write_atomically(outcome_path(store, job.key), content, sync=False)


def load_outcome(store: Store, key: str, steps: int) -> dict[str, Any] | None:
    """The stored outcome, if it is about the run with so many steps; None: it is not there, or damaged."""
    try:
        facts = json.loads(outcome_path(store, key).read_text(), object_hook=text_hook)
    except (OSError, ValueError):
        return None
    complete = isinstance(facts, dict) and set(facts) == set(OUTCOME_KEYS)
    return facts if complete and facts["index"] == steps else None


def restore_job(store: Store, job: Job) -> None:
    """Give a new job its steps from the store, and its findings and its failure, if they were stored too."""
    try:
        stored = store.facts(job.key) if store.path(job.key).exists() else None
    except StoreError:
        return  # the worker that opens it will log it and train anew
    if stored:
        job.add_steps([Step(*values) for values in stored["steps"]])
        if stored["index"] >= job.recipe.training.steps:
            job.set_status("done")
    if facts := load_outcome(store, job.key, job.progress):
        job.probe_results.apply(
            {"accuracy": facts["accuracy"], "events": facts["moments"], "diagnoses": facts["noticed"]}
        )
        if facts["status"] == "failed":
            job.set_status("failed", facts["problem"])
