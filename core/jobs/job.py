"""The caller's end of one run that is trained elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.options import Text
from core.recipes import Recipe
from core.training.loop import Step

if TYPE_CHECKING:
    from core.jobs.pool import Jobs
    from core.jobs.staff import Worker

ENDED = ("done", "stopped", "failed")
STOP_SECONDS = 0.8  # a step that takes longer ends by itself, later: nobody waits for it


class Job:
    """A run being trained. Every method may be called from any thread."""

    def __init__(self, jobs: Jobs, key: str, recipe: Recipe, seed: int):
        jobs.store.begin(recipe, seed)
        self.key, self.recipe, self.seed = key, recipe, seed
        self.status = "queued"  # then running, paused; at last done, stopped or failed
        self.problem: Text | None = None  # why it failed, or what happened while it recovers
        self.diverged = False  # failed for good: it would fail in the same way again
        self.deaths = 0  # how often a worker died while it trained this run
        self.cpu_seconds = 0.0  # spent on its training since it was started here
        self._jobs = jobs
        self._steps: list[Step] = []
        self._changed = threading.Condition(jobs.lock)
        self.place = Place()

    @property
    def steps(self) -> list[Step]:
        """Those made so far."""
        return self.poll()

    def poll(self, since: int = 0) -> list[Step]:
        """The steps after the first `since`: those that are new to whoever has seen so many."""
        with self._jobs.lock:
            return self._steps[since:]

    @property
    def progress(self) -> int:
        """How many steps it has made."""
        return len(self._steps)

    def __iter__(self) -> Iterator[Step]:
        """Each step as it comes, until the run ends or is stopped."""
        seen = 0
        while True:
            with self._jobs.lock:
                while not (fresh := self._steps[seen:]) and not self.ended:
                    self._changed.wait()
            if not fresh:
                return
            seen += len(fresh)
            yield from fresh

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is done, stopped or failed; False if that takes longer than so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._jobs.lock:
            while not self.ended:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def stop(self) -> None:
        """End it here, stored as it stands; started again, it goes on from there."""
        self._jobs.withdraw(self, "stopped")
        if not self.wait(STOP_SECONDS):
            self._jobs.give_up(self)

    def pause(self) -> None:
        """Let the others have the workers until `resume`."""
        self._jobs.withdraw(self, "paused")

    def resume(self) -> None:
        self._jobs.readmit(self)

    # For Jobs, which holds the lock

    def take(self, steps: list[Step]) -> None:
        """New steps, or again those after the last checkpoint: they take the place of the old ones."""
        if steps:
            start = steps[0].index - 1
            self._steps[start : start + len(steps)] = steps
            self._changed.notify_all()

    def keep_only(self, steps: int) -> None:
        """Forget what was made after the last stored state."""
        del self._steps[steps:]

    def turn(self, status: str, problem: Text | None = None) -> None:
        self.status, self.problem = status, problem
        self._changed.notify_all()


class Place:
    """Where a run stands in the queue for the workers."""

    def __init__(self):
        self.worker: Worker | None = None  # the one that has it in memory
        self.bound_for: Worker | None = None  # the one it is moving to
        self.leaving = False  # its worker was asked to store it and let it go
        self.then: str | None = None  # the status it gets when it has left: stopped or paused
        self.served = 0.0  # processor seconds it has had, counted from those of the others when it joined
        self.turn = 0  # when it last had a worker
        self.moving_seconds = 0.0  # what it last cost to store it
