"""A run in memory with its metadata: a shipped run, one that was trained here, or a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.analysis.measures import count_parameters
from core.analysis.training_events import TrainingEvent
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run


@dataclass(frozen=True)
class LoadedRun:
    """`facts` has at least seed, accuracy and accuracy_by_length; of a trained run also its recipe."""

    name: str
    run: Run | PretrainedRun
    events: list[TrainingEvent]
    facts: dict[str, Any]

    @property
    def parameters(self) -> int:
        return sum(count_parameters(self.run.model).values())
