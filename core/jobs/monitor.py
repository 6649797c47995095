"""Looks into a run between two slices of its training, for a small share of the time that takes.

Sights about twice a second; the moments up to the newest snapshot; and, ten times in a run, what seems wrong. What there
was no time for is made up for when the run ends: then the moments are those of all snapshots.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import torch

from core.analysis.diagnosis.diagnose import collect_evidence, diagnose
from core.analysis.training_events import HeadHistory, compute_head_history, find_training_events
from core.jobs.probe import Sitting
from core.runs.run import Run

SHARES = {"sight": 0.04, "heads": 0.02, "judgement": 0.01}  # of the processor time of training, at most
SIGHT_SECONDS = 0.5
JUDGEMENTS = 10  # in a run
JUDGED_ON, EVALUATED_ON = 64, 512  # held-out problems, on the way and at the end
News = dict[str, Any]


class Witness:
    """`shares`: what is already known of the heads, by the step of a snapshot; grows, and is told with the moments."""

    def __init__(self, run: Run, shares: dict[int, Any]):
        self.run, self.shares = run, shares
        self.sitting = Sitting(run)
        self.trained = 0.0  # processor seconds, as below
        self.spent = dict.fromkeys(SHARES, 0.0)
        self.sighted_at, self.sighted_step = 0.0, -1
        self.judged = self._tenths()
        self.moments: list[dict[str, Any]] = []

    def glance(self) -> News:
        """What is due and can be afforded."""
        news: News = {}
        if time.monotonic() - self.sighted_at >= SIGHT_SECONDS:
            news |= self._afforded("sight", self.sight)
        if unseen := self._unseen():
            news |= self._afforded("heads", lambda: self._look_at_heads(unseen[-1]))
        if self._tenths() > self.judged:
            news |= self._afforded("judgement", lambda: self.judge(JUDGED_ON))
        return news

    def sight(self) -> News:
        """The run as it stands, unless that has been told."""
        if self.run.trainer.index == self.sighted_step:
            return {}
        self.sighted_at, self.sighted_step = time.monotonic(), self.run.trainer.index
        return {"sight": self.sitting.look()}

    def conclude(self) -> Iterator[News]:
        """All there is to tell at the end, what is waited for most first."""
        yield self.sight()
        yield {**self.judge(EVALUATED_ON), "accuracy": self._accuracy}
        for step in self._unseen():
            yield self._look_at_heads(step)
        yield {"moments": self._found()}

    def judge(self, problems: int | None, diverged: bool = False) -> News:
        """What seems wrong; a run that has diverged is not asked how good it is."""
        self.judged = self._tenths()
        self._accuracy = None if problems is None else self.run.evaluate(problems).accuracy
        found = diagnose(collect_evidence(self.run, self._accuracy, diverged))
        return {"noticed": [one.to_dict() for one in found]}

    def _afforded(self, what: str, look: Callable[[], News]) -> News:
        if self.spent[what] > SHARES[what] * self.trained:
            return {}
        began = time.process_time()
        news = look()
        self.spent[what] += time.process_time() - began
        return news

    def _tenths(self) -> int:
        return JUDGEMENTS * self.run.trainer.index // self.run.recipe.training.steps

    def _unseen(self) -> list[int]:
        return [snapshot.step for snapshot in self.run.snapshots if snapshot.step not in self.shares]

    def _look_at_heads(self, step: int) -> News:
        """One snapshot more, and the moments as they are with it."""
        snapshot = next(one for one in self.run.snapshots if one.step == step)
        history = compute_head_history(self.run, snapshots=[snapshot])
        self.shares[step] = {
            name: {role: shares[0].tolist() for role, shares in roles.items()} for name, roles in history.items()
        }
        return {"shares": {step: self.shares[step]}, **self._changed()}

    def _changed(self) -> News:
        found = self._found()
        if found == self.moments:
            return {}
        self.moments = found
        return {"moments": found}

    def _found(self) -> list[dict[str, Any]]:
        return [asdict(moment) for moment in find_training_events(self.run, self._known())]

    def _known(self) -> tuple[list[int], HeadHistory]:
        """Of the snapshots that have been looked at."""
        steps = [one.step for one in self.run.snapshots if one.step in self.shares]
        first = self.shares[steps[0]] if steps else {}
        return steps, {
            name: {role: torch.tensor([self.shares[step][name][role] for step in steps]) for role in roles}
            for name, roles in first.items()
        }
