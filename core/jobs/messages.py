"""Messages between the caller (`Jobs`) and a worker: orders one way, replies the other, each a pickled dataclass.

A worker sends `WorkerReady` once, then executes one order at a time, in their order:

    OpenRun     → RunOpened [ProbeUpdate]                                   the run is in the worker's memory
    TrainSlice  → StepsMade* [ProbeUpdate*] SliceDone [RunDone]             RunDone: the last step is made, it is stored
    ReleaseRun  → [ProbeUpdate] RunReleased                                 stored, and no longer in memory
    Shutdown    → as for ReleaseRun, for every run; then the connection closes
    any of them → RunFailed instead of the rest; the run is no longer in memory, other runs are not affected

A further order waiting ends a slice early. An order for a run that is not in memory (it has just ended, or could not be
opened) has no reply. `LogLine` may come at any time. A connection that closes means that the worker has exited.

Between the driver of a Ray cluster and its actors there are three more: `Kill`, `RunStored` and `LoopEnded`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from core.jobs.worker.probe import ProbeResult
    from core.training.loop import Step
    from core.translatable import Text

HeadShares = dict[str, dict[str, list[float]]]  # point → role → the share of its weight that each head gives to it


class Update(TypedDict, total=False):
    """New findings about a run; a key that is absent has nothing new."""

    probe: ProbeResult
    events: list[dict[str, Any]]  # all training events found so far, as dicts
    diagnoses: list[dict[str, Any]]
    head_shares: dict[int, HeadShares]  # by the step of a snapshot; only the snapshots measured since the last update
    accuracy: float | None  # on held-out problems, when training has ended


@dataclass(frozen=True)
class WorkerOrder:
    """From the caller to a worker."""


@dataclass(frozen=True)
class RunOrder(WorkerOrder):
    key: str  # of the run


@dataclass(frozen=True)
class OpenRun(RunOrder):
    """Load the run from the store, or begin it."""

    recipe: dict[str, Any]  # `Recipe.to_dict`
    seed: int
    known_steps: int = 0  # so many steps need not be sent again
    head_shares: dict[int, HeadShares] | None = None  # those measured before; None: the run is not monitored


@dataclass(frozen=True)
class TrainSlice(RunOrder):
    cpu_seconds: float
    until: int | None = None  # no step past this one


@dataclass(frozen=True)
class ReleaseRun(RunOrder):
    """Store the run and remove it from memory."""


@dataclass(frozen=True)
class Shutdown(WorkerOrder):
    """Release all runs and exit."""


@dataclass(frozen=True)
class Kill(WorkerOrder):
    """End the actor at once; for the Ray driver, which cannot send a signal to another machine."""


@dataclass(frozen=True)
class WorkerReply:
    """From a worker to the caller."""


@dataclass(frozen=True)
class WorkerReady(WorkerReply):
    pid: int


@dataclass(frozen=True)
class LogLine(WorkerReply):
    text: str


@dataclass(frozen=True)
class RunReply(WorkerReply):
    key: str  # of the run


@dataclass(frozen=True)
class RunOpened(RunReply):
    steps: list[Step]  # those after the first `known_steps`


@dataclass(frozen=True)
class StepsMade(RunReply):
    steps: list[Step]
    seconds: float  # of wall time


@dataclass(frozen=True)
class ProbeUpdate(RunReply):
    update: Update


@dataclass(frozen=True)
class SliceDone(RunReply):
    cpu_seconds: float
    storing_seconds: float  # that its last checkpoint took


@dataclass(frozen=True)
class RunDone(RunReply):
    """Its last step is made; it is stored and no longer in memory."""


@dataclass(frozen=True)
class RunReleased(RunReply):
    stored_steps: int


@dataclass(frozen=True)
class RunFailed(RunReply):
    why: Text
    traceback: str | None  # None: it diverged, which is no bug


@dataclass(frozen=True)
class RunStored(RunReply):
    """A checkpoint made by an actor, as the bytes of its file; confirmed once it is on the caller's disk."""

    content: bytes


@dataclass(frozen=True)
class LoopEnded(WorkerReply):
    """An actor's last reply."""
