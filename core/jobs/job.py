"""The caller's view of one run that is trained by workers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from core.errors import InputError
from core.jobs.failures import STILL_BUSY
from core.jobs.messages import Update
from core.jobs.outcome import ProbeResults
from core.runs.recipes import Recipe
from core.training.loop import Step
from core.translatable import Text

if TYPE_CHECKING:
    from core.jobs.jobs import Jobs
    from core.jobs.worker_handle import WorkerHandle

ENDED = ("done", "stopped", "failed")
STOP_SECONDS = 0.8  # a step that takes longer ends by itself, later; `stop` does not wait for it
RELEASE_SECONDS = 10.0  # for a worker to let go of a run that is to be rewound
RATE_SECONDS = 4.0  # that the speed is measured over


class Job:
    """A run being trained. Every method may be called from any thread."""

    def __init__(self, jobs: Jobs, key: str, recipe: Recipe, seed: int):
        jobs.store.create_fork(recipe, seed)
        self.key, self.recipe, self.seed = key, recipe, seed
        self.status = "queued"  # then running, paused; at last done, stopped or failed
        self.problem: Text | None = None  # why it failed, or what happened while it recovers
        self.diverged = False  # failed for good: it would fail in the same way again
        self.deaths = 0  # how often a worker died while it trained this run
        self.rewinds = 0
        self.cpu_seconds = 0.0  # spent on its training since it was started here
        self.probe_results, self.rate_meter = ProbeResults(), RateMeter()
        self.schedule = ScheduleState()
        self._jobs = jobs
        self._steps: list[Step] = []
        self._rates: list[float | None] = []  # tokens per second of training, for each step made here
        self._changed = threading.Condition(jobs.lock)

    @property
    def steps(self) -> list[Step]:
        """Those made so far."""
        return self.poll()

    def poll(self, since: int = 0) -> list[Step]:
        """The steps after the first `since`."""
        with self._jobs.lock:
            return self._steps[since:]

    @property
    def progress(self) -> int:
        """The number of steps made."""
        return len(self._steps)

    def rates(self, since: int = 0) -> list[float | None]:
        """Tokens per second in the steps after the first `since`; None: not measured."""
        with self._jobs.lock:
            return self._rates[since:]

    @property
    def seconds_left(self) -> float | None:
        """Until its last step, at the speed of the last seconds."""
        if self.status != "running":
            return None
        with self._jobs.lock:
            return self.rate_meter.seconds_for(self.recipe.training.steps - self.progress)

    def __iter__(self) -> Iterator[Step]:
        """Each step as it comes, until the run ends or is stopped."""
        count = 0
        while True:
            with self._jobs.lock:
                while not (fresh := self._steps[count:]) and not self.ended:
                    self._changed.wait()
            if not fresh:
                return
            count += len(fresh)
            yield from fresh

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is done, stopped or failed; False if that takes longer than so many seconds."""
        return self._wait_for(lambda: self.ended, timeout)

    def _wait_for(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._jobs.lock:
            while not condition():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def stop(self) -> None:
        """End it here, stored as it stands; started again, it goes on from there."""
        self._jobs.withdraw(self, "stopped")
        if not self.wait(STOP_SECONDS):
            self._jobs.abandon(self)

    def pause(self) -> None:
        """Leave the workers to other runs until `resume`."""
        self._jobs.withdraw(self, "paused")

    def resume(self) -> None:
        self._jobs.resume(self)

    def step(self, timeout: float | None = None) -> bool:
        """Exactly one step of a paused run; False if that takes longer than so many seconds."""
        self._wait_for(lambda: self.schedule.next_status is None, timeout)
        self._jobs.advance(self)
        return self._wait_for(
            lambda: self.ended or (self.status == "paused" and self.schedule.pause_at is None), timeout
        )

    def rewind(self) -> None:
        """Back to its beginning, paused there: trained again, it makes the very same steps."""
        self._jobs.withdraw(self, "paused")
        if not self._wait_for(lambda: self.schedule.worker is None, RELEASE_SECONDS):
            raise InputError(STILL_BUSY)
        self._jobs.reset(self)

    # For Jobs, which holds the lock

    def add_steps(self, steps: list[Step], seconds: float | None = None) -> None:
        """New steps, or again those after the last checkpoint, which replace the old ones."""
        if steps:
            start = steps[0].index - 1
            rate = sum(step.tokens for step in steps) / seconds if seconds else None
            self._steps[start : start + len(steps)] = steps
            self._rates[start : start + len(steps)] = [rate] * len(steps)
            self.rate_meter.record(self.progress)
            self._changed.notify_all()

    def truncate(self, steps: int) -> None:
        """Forget the steps after the last stored state."""
        del self._steps[steps:], self._rates[steps:]

    def reset(self, steps: int) -> None:
        self.truncate(steps)
        self.probe_results, self.rate_meter = ProbeResults(), RateMeter()
        self.deaths, self.diverged = 0, False
        self.rewinds += 1

    def add_probe_update(self, update: Update) -> None:
        self.probe_results.apply(update)
        self._changed.notify_all()

    def set_status(self, status: str, problem: Text | None = None) -> None:
        self.status, self.problem = status, problem
        self._changed.notify_all()


class ScheduleState:
    """Where a job's run is, and how much processor time it has had; kept by `Jobs` and its scheduler."""

    def __init__(self) -> None:
        self.worker: WorkerHandle | None = None  # the one that has it in memory
        self.moving_to: WorkerHandle | None = None
        self.releasing = False  # its worker has the order to store it and let it go
        self.next_status: str | None = None  # stopped or paused, as soon as it is released
        self.pause_at: int | None = None  # the step at which it is paused again
        self.served_seconds = 0.0  # of processor time, counted from those of the others when it joined
        self.last_turn = 0  # number of its last slice among those of all jobs
        self.storing_seconds = 0.0  # that its last checkpoint took


class RateMeter:
    """Steps per second of wall time over the last `RATE_SECONDS`, with all that shares the workers."""

    def __init__(self) -> None:
        self.marks: deque[tuple[float, int]] = deque()  # (time, steps made)

    def record(self, progress: int) -> None:
        now = time.monotonic()
        if self.marks and (progress < self.marks[-1][1] or now - self.marks[-1][0] > RATE_SECONDS):
            self.marks.clear()  # it was rewound or paused
        self.marks.append((now, progress))
        while now - self.marks[0][0] > RATE_SECONDS:
            self.marks.popleft()

    def seconds_for(self, steps: int) -> float | None:
        if len(self.marks) < 2:
            return None
        (began, first), (now, last) = self.marks[0], self.marks[-1]
        return steps * (now - began) / (last - first) if last > first and now > began else None
