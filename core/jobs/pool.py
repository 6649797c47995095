"""A few worker processes, on this machine or on a Ray cluster, that share many runs fairly.

One thread listens to the workers; every method may be called from any other. All that is known is guarded by one lock.
"""

from __future__ import annotations

import threading
from itertools import count
from weakref import WeakValueDictionary

from core.errors import InputError
from core.jobs.failures import NOT_PAUSED, STILL_BUSY
from core.jobs.hearing import Hearing
from core.jobs.job import Job
from core.jobs.outcome import recall_outcome
from core.jobs.ray.worker_handle import RayNursery
from core.jobs.scheduler import next_for, slice_of, to_fetch
from core.jobs.worker_handle import Nursery, Worker
from core.messages import Text
from core.runs.fork import ForkRecipe
from core.runs.recipes import Recipe
from core.runs.run import key_of
from core.runs.store import Store, StoreError
from core.training.loop import Step

MOST_PAUSED = 100  # those paused longest are stopped then; whatever was trained of them is stored


class Jobs(Hearing):
    """Starts runs in workers. `with Jobs(store) as jobs: job = jobs.start(recipe, seed)`.

    workers             how many; two processes here, or one for every processor of the Ray cluster
    checkpoint_seconds  each run is stored after so much of its training: so much is repeated when its worker dies
    ray                 None for this machine, or a cluster: "auto" for the one this machine is part of, or the
                        "host:port" of its head; `ConfigError` if it cannot be reached
    watching            workers also look into the runs they train (`core.jobs.monitor`), for a small share of the time
    """

    def __init__(
        self,
        store: Store,
        workers: int | None = None,
        checkpoint_seconds: float = 2.0,
        *,
        ray: str | None = None,
        watching: bool = False,
    ):
        self.store, self.watching = store, watching
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

    def find(self, key: str) -> Job | None:
        """The job of a run that is being trained, or has been; None: it is neither known nor stored."""
        with self.lock:
            job = self._known.get(key)
            if job is not None and (key in self._active or self.store.path(key).exists()):
                return job
        try:
            recipe, seed = self.store.recipe(key)
        except StoreError:
            return None
        with self.lock:
            if key not in self._known:
                job = self._known[key] = Job(self, key, recipe, seed)
                job.turn("stopped")
                self._look_up(job)
            return self._known[key]

    @property
    def waiting(self) -> list[Job]:
        """Those that no worker has begun with, in the order in which they will be."""
        with self.lock:
            queued = [job for job in self._active.values() if job.status == "queued"]
            return sorted(queued, key=lambda job: (job.place.served, job.place.turn))

    @property
    def moving(self) -> list[Job]:
        """Those being trained, or about to be."""
        with self.lock:
            return [job for job in self._active.values() if job.status in ("queued", "running")]

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

    def advance(self, job: Job) -> None:
        """Make one step of a paused run, or one more if it is about to make some, and pause it again."""
        with self.lock:
            until = job.place.until
            if until is None and job.status != "paused":
                raise InputError(NOT_PAUSED)
            if until is None or job.place.then == "paused":
                self._admit(job, (until or job.progress) + 1)
            else:
                job.place.until = until + 1

    def begin_again(self, job: Job) -> None:
        """Forget all that was trained of a run which no worker has; a fork goes back to where it began."""
        with self.lock:
            if job.place.worker is not None:  # it was told to go on while somebody waited for it to be let go
                raise InputError(STILL_BUSY)
            self.store.reset(job.recipe, job.seed)
            job.rewound(job.recipe.start_step if isinstance(job.recipe, ForkRecipe) else 0)
            self._settle(job, "paused")

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
        recall_outcome(self.store, job)

    def _admit(self, job: Job, until: int | None = None) -> None:
        """To the workers, as if it had so far had as much of them as the one that had least."""
        others = [other.place.served for other in self._active.values() if other is not job]
        job.place.then, job.place.until = None, until
        job.place.served = max(job.place.served, min(others, default=0.0))
        self._active[job.key] = job
        job.turn("queued")
        self._hire()
        self._assign()

    def _settle(self, job: Job, status: str, problem: Text | None = None) -> None:
        job.place.then = job.place.bound_for = job.place.until = None
        self._active.pop(job.key, None)
        job.turn(status, problem)
        if status == "paused":
            self._active[job.key] = job  # behind those paused before it
            paused = [other for other in self._active.values() if other.status == "paused"]
            for oldest in paused[:-MOST_PAUSED]:
                self._settle(oldest, "stopped")

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
            known = job.seen.shares if self.watching else None
            worker.tell("open", job.key, job.recipe.to_dict(), job.seed, job.progress, known)
        job.place.turn = next(self._turns)
        worker.busy = job
        worker.tell("train", job.key, slice_of(job), job.place.until)

    def _sweep(self) -> None:
        """Opening the store removes what dead writers left behind."""
        Store(self.store.folder, self.store.most_bytes)
