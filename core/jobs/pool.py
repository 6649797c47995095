"""A few worker processes, on this machine or on a Ray cluster, that share many runs fairly.

One thread listens to the workers; every method may be called from any other. All that is known is guarded by one lock.
"""

from __future__ import annotations

import logging
import threading
from itertools import count
from multiprocessing.connection import wait
from typing import Any
from weakref import WeakValueDictionary

from core.jobs.job import Job
from core.jobs.problems import DIED_TOO_OFTEN, MOST_DEATHS, RESUMES
from core.jobs.ray_staff import RayNursery
from core.jobs.schedule import SLICE_SECONDS, next_for, to_fetch
from core.jobs.staff import Nursery, Worker
from core.options import Text
from core.recipes import Recipe
from core.run import key_of
from core.store import Store, StoreError
from core.training.loop import Step

LISTEN_SECONDS = 0.2  # until a worker that another thread has started is listened to
log = logging.getLogger(__name__)


class Jobs:
    """Starts runs in workers. `with Jobs(store) as jobs: job = jobs.start(recipe, seed)`.

    workers             how many; two processes here, or one for every processor of the Ray cluster
    checkpoint_seconds  each run is stored after so much of its training: so much is repeated when its worker dies
    ray                 None for this machine, or a cluster: "auto" for the one this machine is part of, or the
                        "host:port" of its head; `ConfigError` if it cannot be reached
    """

    def __init__(
        self, store: Store, workers: int | None = None, checkpoint_seconds: float = 2.0, *, ray: str | None = None
    ):
        self.store = store
        self._nursery = (
            Nursery(store, checkpoint_seconds) if ray is None else RayNursery(store, checkpoint_seconds, ray)
        )
        self.size = workers or self._nursery.places
        self.lock = threading.RLock()
        self._active: dict[str, Job] = {}  # queued, running or paused
        self._known: WeakValueDictionary[str, Job] = WeakValueDictionary()  # also those that ended, while in use
        self._turns = count(1)
        self._closed = False
        self._stillborn = 0  # workers in a row that ended before they were ready
        self._workers: list[Worker] = []
        self._hire()
        self._listener = threading.Thread(target=self._listen, name="jobs", daemon=True)
        self._listener.start()

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """The workers that are ready."""
        with self.lock:
            return [worker.pid for worker in self._workers if worker.pid is not None]

    def start(self, recipe: Recipe, seed: int = 0) -> Job:
        """The job of this run: a new one, the one there is, or at once done when it is stored finished."""
        key = key_of(recipe, seed)
        with self.lock:
            if self._closed:
                raise RuntimeError("These jobs are closed.")
            job = self._known.get(key)
            if job is None or (job.status == "done" and not self.store.path(key).exists()):
                job = self._known[key] = Job(self, key, recipe, seed)
                self._look_up(job)
            if (job.status != "done" and key not in self._active) or job.place.then == "stopped":
                job.deaths, job.diverged = 0, False
                self._admit(job)
            return job

    def withdraw(self, job: Job, then: str) -> None:
        """Take a run from the workers; it is stored, then `stopped` or `paused`."""
        with self.lock:
            if job.ended or job.place.then == "stopped":
                return
            if job.place.worker is None:
                self._settle(job, then)
            else:
                job.place.then = then
                self._ask_to_leave(job)

    def give_up(self, job: Job) -> None:
        """Do not wait any longer for a worker to let a run go; it will, after its step."""
        with self.lock:
            if job.place.then == "stopped":
                self._settle(job, "stopped")

    def readmit(self, job: Job) -> None:
        with self.lock:
            if job.status == "paused" or job.place.then == "paused":
                self._admit(job)

    def close(self) -> None:
        """Store what is being trained and end all workers. Runs that were not done are stopped."""
        pids = self.pids
        with self.lock:
            if not self._closed:
                self._closed = True
                for worker in self._workers:
                    worker.tell("end")
                if not pids:  # still importing; their connections close with it
                    self._nursery.end()
        self._listener.join(self._nursery.close_seconds)
        with self.lock:
            for worker in self._workers:
                worker.kill()
        self._listener.join(self._nursery.close_seconds)
        self._nursery.wait_until_gone(pids)
        with self.lock:
            self._nursery.end()
            for job in list(self._active.values()):
                self._settle(job, "stopped")
        self._sweep()

    # The runs

    def _look_up(self, job: Job) -> None:
        """What the store has of it."""
        try:
            facts = self.store.facts(job.key) if self.store.path(job.key).exists() else None
        except StoreError:
            return  # the worker that opens it will say so and train anew
        if facts:
            job.take([Step(*values) for values in facts["steps"]])
            if facts["index"] >= job.recipe.training.steps:
                job.turn("done")

    def _admit(self, job: Job) -> None:
        """To the workers, as if it had so far had as much of them as the one that had least."""
        others = [other.place.served for other in self._active.values() if other is not job]
        job.place.then = None
        job.place.served = max(job.place.served, min(others, default=0.0))
        self._active[job.key] = job
        job.turn("queued")
        self._hire()
        self._assign()

    def _settle(self, job: Job, status: str, problem: Text | None = None) -> None:
        job.place.then = job.place.bound_for = None
        if status != "paused":
            self._active.pop(job.key, None)
        job.turn(status, problem)

    def _ask_to_leave(self, job: Job) -> None:
        if not job.place.leaving:
            job.place.leaving = True
            job.place.worker.tell("leave", job.key)

    # The workers

    def _hire(self) -> None:
        while len(self._workers) < self.size:
            self._workers.append(self._nursery.fork())

    def _assign(self) -> None:
        """Give every free worker something to do, those with the fewest runs first."""
        if self._closed:
            return
        for worker in sorted((w for w in self._workers if w.free), key=lambda w: len(w.jobs)):
            job = next_for(worker, self._active.values())
            distant = to_fetch(worker, job, self._active.values())
            if distant is not None:
                distant.place.bound_for = worker
                self._ask_to_leave(distant)
            if job is not None:
                self._train(worker, job)

    def _train(self, worker: Worker, job: Job) -> None:
        if job.place.worker is None:
            job.place.worker, job.place.bound_for = worker, None
            worker.jobs[job.key] = job
            worker.tell("open", job.key, job.recipe.to_dict(), job.seed, job.progress)
        job.place.turn = next(self._turns)
        worker.busy = job
        worker.tell("train", job.key, SLICE_SECONDS)

    def _listen(self) -> None:
        while True:
            with self.lock:
                workers = {worker.connection: worker for worker in self._workers}
            if self._closed and not workers:
                return
            for connection in wait(list(workers), LISTEN_SECONDS):
                try:
                    answer = connection.recv()
                except (EOFError, OSError):
                    answer = None
                with self.lock:
                    self._react(workers[connection], answer)

    def _react(self, worker: Worker, answer: tuple | None) -> None:
        try:
            if answer is None:
                self._bury(worker)
            else:
                self._hear(worker, *answer)
            self._assign()
        except Exception:  # one that is not heard must not keep the others from being heard
            log.exception("An answer of a worker could not be used.")

    def _hear(self, worker: Worker, answer: str, *details: Any) -> None:
        if answer == "ready":
            worker.pid, self._stillborn = details[0], 0
            self._sweep()
        elif answer == "log":
            log.warning("%s", details[0])
        elif details[0] in worker.jobs:
            getattr(self, f"_{answer}")(worker, worker.jobs[details[0]], *details[1:])

    def _opened(self, worker: Worker, job: Job, steps: list[Step]) -> None:
        job.take(steps)
        if job.status == "queued":
            job.turn("running", job.problem)

    def _steps(self, worker: Worker, job: Job, steps: list[Step]) -> None:
        job.problem = None if job.status == "running" else job.problem
        job.take(steps)

    def _rested(self, worker: Worker, job: Job, cpu_seconds: float, storing_seconds: float) -> None:
        worker.busy = None
        job.cpu_seconds += cpu_seconds
        job.place.served += cpu_seconds
        job.place.moving_seconds = storing_seconds

    def _done(self, worker: Worker, job: Job) -> None:
        self._part(worker, job)
        self._settle(job, "done")

    def _left(self, worker: Worker, job: Job, stored_steps: int) -> None:
        self._part(worker, job)
        job.keep_only(stored_steps)
        if job.place.then:
            self._settle(job, job.place.then)

    def _failed(self, worker: Worker, job: Job, why: Text, trace: str | None) -> None:
        self._part(worker, job)
        job.diverged = trace is None
        self._settle(job, "failed", why)
        if trace:
            log.error("Training of %s failed.\n%s", job.key, trace)

    def _part(self, worker: Worker, job: Job) -> None:
        del worker.jobs[job.key]
        job.place.worker, job.place.leaving = None, False
        if worker.busy is job:
            worker.busy = None

    def _bury(self, worker: Worker) -> None:
        """A worker has ended: its runs go on elsewhere from where they were stored; the one it was training is
        suspected of having killed it."""
        suspect = worker.busy
        worker.connection.close()
        self._workers.remove(worker)
        for job in self._active.values():
            if job.place.bound_for is worker:
                job.place.bound_for = None
        for job in list(worker.jobs.values()):
            self._part(worker, job)
            if not self._closed:
                self._recover(job, blamed=job is suspect)
        if self._closed:
            return
        self._stillborn += worker.pid is None
        if self._stillborn >= MOST_DEATHS * self.size:
            self._stillborn = 0
            for job in list(self._active.values()):
                self._settle(job, "failed", self._nursery.no_workers)
            return
        self._hire()

    def _recover(self, job: Job, blamed: bool) -> None:
        job.deaths += blamed
        if job.ended:
            return
        if job.place.then:
            self._settle(job, job.place.then)
        elif job.deaths >= MOST_DEATHS:
            self._settle(job, "failed", DIED_TOO_OFTEN)
        else:
            job.turn(job.status, RESUMES)
            log.warning("A worker died; run %s resumes from its last checkpoint.", job.key)

    def _sweep(self) -> None:
        """Opening the store removes what dead writers left behind."""
        Store(self.store.folder, self.store.most_bytes)
