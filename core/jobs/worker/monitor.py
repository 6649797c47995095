"""Monitors a run between two slices of its training, for a small share of the time that training takes.

Probes about twice a second; training events up to the newest snapshot; and, ten times in a run, a diagnosis. Snapshots
there was no time for are measured when the run ends, so that its events are then those of all snapshots.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import torch

from core.analysis.diagnosis.diagnose import collect_evidence, diagnose
from core.analysis.training_events import HeadHistory, compute_head_history, find_training_events
from core.jobs.messages import HeadShares, Update
from core.jobs.worker.probe import Probe
from core.runs.run import Run

BUDGETS = {"probe": 0.04, "heads": 0.02, "diagnosis": 0.01}  # of the processor time of training, at most
PROBE_SECONDS = 0.5  # between two probes, at least
DIAGNOSES = 10  # in a run
DIAGNOSIS_PROBLEMS, FINAL_PROBLEMS = 64, 512  # held-out problems evaluated, on the way and at the end


class Monitor:
    """`head_shares`: measured before, by the step of a snapshot; extended here, and reported with the training events."""

    def __init__(self, run: Run, head_shares: dict[int, HeadShares]):
        self.run, self.head_shares = run, head_shares
        self.probe = Probe(run)
        self.training_seconds = 0.0  # of processor time, as below
        self.spent_seconds = dict.fromkeys(BUDGETS, 0.0)
        self.probed_at, self.probed_step = 0.0, -1
        self.diagnosed_part = self._progress_part()
        self.accuracy: float | None = None  # at the last diagnosis
        self.events: list[dict[str, Any]] = []

    def poll(self) -> Update:
        """All that is due and within its budget."""
        update: Update = {}
        if time.monotonic() - self.probed_at >= PROBE_SECONDS:
            update |= self._within_budget("probe", self.run_probe)
        if unmeasured := self._unmeasured_steps():
            update |= self._within_budget("heads", lambda: self._measure_heads(unmeasured[-1]))
        if self._progress_part() > self.diagnosed_part:
            update |= self._within_budget("diagnosis", lambda: self.diagnose(DIAGNOSIS_PROBLEMS))
        return update

    def run_probe(self) -> Update:
        """A probe of the run as it is, unless one of this step has been reported."""
        if self.run.trainer.index == self.probed_step:
            return {}
        self.probed_at, self.probed_step = time.monotonic(), self.run.trainer.index
        return {"probe": self.probe.measure()}

    def finish(self) -> Iterator[Update]:
        """All updates due at the end of training, the most urgent first."""
        yield self.run_probe()
        yield {**self.diagnose(FINAL_PROBLEMS), "accuracy": self.accuracy}
        for step in self._unmeasured_steps():
            yield self._measure_heads(step)
        yield {"events": self._find_events()}

    def diagnose(self, problems: int | None, diverged: bool = False) -> Update:
        """Diagnoses from the curves and from the accuracy on so many held-out problems; None: it is not evaluated."""
        self.diagnosed_part = self._progress_part()
        self.accuracy = None if problems is None else self.run.evaluate(problems).accuracy
        diagnoses = diagnose(collect_evidence(self.run, self.accuracy, diverged))
        return {"diagnoses": [diagnosis.to_dict() for diagnosis in diagnoses]}

    def _within_budget(self, name: str, measure: Callable[[], Update]) -> Update:
        if self.spent_seconds[name] > BUDGETS[name] * self.training_seconds:
            return {}
        began = time.process_time()
        update = measure()
        self.spent_seconds[name] += time.process_time() - began
        return update

    def _progress_part(self) -> int:
        """Tenths of the training that are done: one diagnosis is due in each."""
        return DIAGNOSES * self.run.trainer.index // self.run.recipe.training.steps

    def _unmeasured_steps(self) -> list[int]:
        return [snapshot.step for snapshot in self.run.snapshots if snapshot.step not in self.head_shares]

    def _measure_heads(self, step: int) -> Update:
        """The roles of all heads at one more snapshot, and the training events if they change with it."""
        snapshot = next(snapshot for snapshot in self.run.snapshots if snapshot.step == step)
        history = compute_head_history(self.run, snapshots=[snapshot])
        self.head_shares[step] = {
            name: {role: shares[0].tolist() for role, shares in roles.items()} for name, roles in history.items()
        }
        update: Update = {"head_shares": {step: self.head_shares[step]}}
        events = self._find_events()
        if events != self.events:
            self.events = update["events"] = events
        return update

    def _find_events(self) -> list[dict[str, Any]]:
        return [asdict(event) for event in find_training_events(self.run, self._measured_history())]

    def _measured_history(self) -> tuple[list[int], HeadHistory]:
        """The steps of the snapshots measured so far, and point → role → (snapshot, head)."""
        steps = [snapshot.step for snapshot in self.run.snapshots if snapshot.step in self.head_shares]
        first = self.head_shares[steps[0]] if steps else {}
        return steps, {
            name: {role: torch.tensor([self.head_shares[step][name][role] for step in steps]) for role in roles}
            for name, roles in first.items()
        }
