"""The caller's end of one run that is trained elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.jobs.failures import STILL_BUSY
from core.jobs.outcome import Pace, Seen
from core.messages import Text
from core.runs.recipes import Recipe
from core.training.loop import Step

if TYPE_CHECKING:
    from core.jobs.pool import Jobs
    from core.jobs.worker_handle import Worker

ENDED = ("done", "stopped", "failed")
STOP_SECONDS = 0.8  # a step that takes longer ends by itself, later: nobody waits for it
RELEASE_SECONDS = 10.0  # for a worker to let go of a run that is to be rewound


class Job:
    """A run being trained. Every method may be called from any thread."""

    def __init__(self, jobs: Jobs, key: str, recipe: Recipe, seed: int):
        jobs.store.create_fork(recipe, seed)
        self.key, self.recipe, self.seed = key, recipe, seed
        self.status = "queued"  # then running, paused; at last done, stopped or failed
        self.problem: Text | None = None  # why it failed, or what happened while it recovers
        self.diverged = False  # failed for good: it would fail in the same way again
        self.deaths = 0  # how often a worker died while it trained this run
        self.cpu_seconds = 0.0  # spent on its training since it was started here
        self._jobs = jobs
        self._steps: list[Step] = []
        self._rates: list[float | None] = []  # tokens per second of training, for each step made here
        self.rewinds = 0
        self.seen, self.pace = Seen(), Pace()
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

    def rates(self, since: int = 0) -> list[float | None]:
        """Tokens per second in the steps after the first `since`; None where nobody knows."""
        with self._jobs.lock:
            return self._rates[since:]

    @property
    def seconds_left(self) -> float | None:
        """Until its last step, going on as it went in the last moments."""
        if self.status != "running":
            return None
        with self._jobs.lock:
            return self.pace.seconds_for(self.recipe.training.steps - self.progress)

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
        return self._until(lambda: self.ended, timeout)

    def _until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
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
            self._jobs.give_up(self)

    def pause(self) -> None:
        """Let the others have the workers until `resume`."""
        self._jobs.withdraw(self, "paused")

    def resume(self) -> None:
        self._jobs.readmit(self)

    def step(self, timeout: float | None = None) -> bool:
        """Exactly one step of a paused run; False if that takes longer than so many seconds."""
        self._until(lambda: self.place.then is None, timeout)
        self._jobs.advance(self)
        return self._until(lambda: self.ended or (self.status == "paused" and self.place.until is None), timeout)

    def rewind(self) -> None:
        """Back to its beginning, paused there: trained again, it makes the very same steps."""
        self._jobs.withdraw(self, "paused")
        if not self._until(lambda: self.place.worker is None, RELEASE_SECONDS):
            raise InputError(STILL_BUSY)
        self._jobs.begin_again(self)

    # For Jobs, which holds the lock

    def take(self, steps: list[Step], seconds: float | None = None) -> None:
        """New steps, or again those after the last checkpoint: they take the place of the old ones."""
        if steps:
            start = steps[0].index - 1
            rate = sum(step.tokens for step in steps) / seconds if seconds else None
            self._steps[start : start + len(steps)] = steps
            self._rates[start : start + len(steps)] = [rate] * len(steps)
            self.pace.note(self.progress)
            self._changed.notify_all()

    def keep_only(self, steps: int) -> None:
        """Forget what was made after the last stored state."""
        del self._steps[steps:], self._rates[steps:]

    def rewound(self, steps: int) -> None:
        self.keep_only(steps)
        self.seen, self.pace = Seen(), Pace()
        self.deaths, self.diverged = 0, False
        self.rewinds += 1

    def learn(self, news: dict[str, Any]) -> None:
        self.seen.learn(news)
        self._changed.notify_all()

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
        self.until: int | None = None  # the step at which it is paused again
        self.served = 0.0  # processor seconds it has had, counted from those of the others when it joined
        self.turn = 0  # when it last had a worker
        self.moving_seconds = 0.0  # what it last cost to store it
