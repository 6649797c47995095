"""A few worker processes, on this machine or on a Ray cluster, that share many runs fairly.

One thread listens to the workers; every method may be called from any other. All state is guarded by one lock.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from core.errors import InputError
from core.jobs.failures import DIED_TOO_OFTEN, MOST_DEATHS, NOT_PAUSED, RESUMES, STILL_BUSY
from core.jobs.job import Job
from core.jobs.messages import (
    LogLine,
    ProbeUpdate,
    RunDone,
    RunFailed,
    RunOpened,
    RunReleased,
    RunReply,
    SliceDone,
    StepsMade,
    WorkerReady,
    WorkerReply,
)
from core.jobs.outcome import restore_job, save_outcome
from core.jobs.ray.worker_launcher import RayWorkerLauncher
from core.jobs.scheduler import Scheduler
from core.jobs.worker_handle import WorkerHandle
from core.jobs.worker_launcher import WorkerLauncher
from core.jobs.worker_pool import WorkerPool
from core.runs.fork import ForkRecipe
from core.runs.recipes import Recipe
from core.runs.run import key_of
from core.runs.store import Store, StoreError
from core.translatable import Text

MOST_PAUSED = 100  # beyond it, those paused longest are stopped; their training so far is stored
log = logging.getLogger(__name__)


class Jobs:
    """Starts runs in workers. `with Jobs(store) as jobs: job = jobs.start(recipe, seed)`.

    workers             how many; two processes here, or one for every processor of the Ray cluster
    checkpoint_seconds  each run is stored after so much of its training: so much is repeated when its worker dies
    ray                 None for this machine, or a cluster: "auto" for the one this machine is part of, or the
                        "host:port" of its head; `ConfigError` if it cannot be reached
    monitor             workers also probe the runs they train (`core.jobs.worker.monitor`), for a small share of the time
    """

    def __init__(
        self,
        store: Store,
        workers: int | None = None,
        checkpoint_seconds: float = 2.0,
        *,
        ray: str | None = None,
        monitor: bool = False,
    ):
        self.store, self.monitor = store, monitor
        self.lock = threading.RLock()
        self._known: WeakValueDictionary[str, Job] = WeakValueDictionary()  # also those that ended, while in use
        self._scheduler = Scheduler(monitor)
        launcher = (
            WorkerLauncher(store, checkpoint_seconds)
            if ray is None
            else RayWorkerLauncher(store, checkpoint_seconds, ray)
        )
        self._worker_pool = WorkerPool(launcher, workers, self.lock, self._on_message, self._on_exit)
        self.size = self._worker_pool.size
        self._handlers: dict[type[WorkerReply], Callable[[WorkerHandle, Any], None]] = {
            WorkerReady: self._on_ready,
            LogLine: self._on_log,
            RunOpened: self._on_opened,
            StepsMade: self._on_steps,
            ProbeUpdate: self._on_probe,
            SliceDone: self._on_slice_done,
            RunDone: self._on_done,
            RunReleased: self._on_released,
            RunFailed: self._on_failed,
        }
        self._worker_pool.start()

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """Those of the workers that are ready."""
        with self.lock:
            return self._worker_pool.pids

    @property
    def queued(self) -> list[Job]:
        """Jobs that no worker has begun with, in the order in which they will be."""
        with self.lock:
            return self._scheduler.queued

    @property
    def in_progress(self) -> list[Job]:
        """Jobs being trained, or about to be."""
        with self.lock:
            return self._scheduler.in_progress

    def start(self, recipe: Recipe, seed: int = 0) -> Job:
        """The job of this run: a new one, the one there is, or at once done when it is stored finished."""
        key = key_of(recipe, seed)
        with self.lock:
            if self._worker_pool.closed:
                raise RuntimeError("These jobs are closed.")
            job = self._known.get(key)
            if job is None or (job.status == "done" and not self.store.path(key).exists()):
                job = self._known[key] = Job(self, key, recipe, seed)
                restore_job(self.store, job)
            inactive = job.status != "done" and key not in self._scheduler.active
            if inactive or job.schedule.next_status == "stopped":
                job.deaths, job.diverged = 0, False
                self._admit(job)
            return job

    def find(self, key: str) -> Job | None:
        """The job of a run that is being trained, or has been; None: it is neither known nor stored."""
        with self.lock:
            job = self._known.get(key)
            if job is not None and (key in self._scheduler.active or self.store.path(key).exists()):
                return job
        try:
            recipe, seed = self.store.recipe(key)
        except StoreError:
            return None
        with self.lock:
            if key not in self._known:
                job = self._known[key] = Job(self, key, recipe, seed)
                job.set_status("stopped")
                restore_job(self.store, job)
            return self._known[key]

    def close(self) -> None:
        """Store the runs being trained and end all workers. Runs that were not done are stopped."""
        self._worker_pool.close()
        with self.lock:
            for job in list(self._scheduler.active.values()):
                self._finish(job, "stopped")
        self.store.remove_stale_files()

    # Called by Job

    def withdraw(self, job: Job, status: str) -> None:
        """Take a run from the workers; it is stored, then `stopped` or `paused`."""
        with self.lock:
            if job.ended or job.schedule.next_status == "stopped":
                return
            if job.schedule.worker is None:
                self._finish(job, status)
            else:
                job.schedule.next_status = status
                self._scheduler.release(job)

    def abandon(self, job: Job) -> None:
        """Stop a run without waiting for its worker, which releases it after its step."""
        with self.lock:
            if job.schedule.next_status == "stopped":
                self._finish(job, "stopped")

    def resume(self, job: Job) -> None:
        with self.lock:
            if job.status == "paused" or job.schedule.next_status == "paused":
                self._admit(job)

    def advance(self, job: Job) -> None:
        """Make one step of a paused run, or one more if it is about to make some, and pause it again."""
        with self.lock:
            pause_at = job.schedule.pause_at
            if pause_at is None and job.status != "paused":
                raise InputError(NOT_PAUSED)
            if pause_at is None or job.schedule.next_status == "paused":
                self._admit(job, (pause_at or job.progress) + 1)
            else:
                job.schedule.pause_at = pause_at + 1

    def reset(self, job: Job) -> None:
        """Forget all training of a run that is with no worker; a fork goes back to the step where it began."""
        with self.lock:
            if job.schedule.worker is not None:  # it was resumed after the caller had waited for its release
                raise InputError(STILL_BUSY)
            self.store.reset(job.recipe, job.seed)
            job.reset(job.recipe.start_step if isinstance(job.recipe, ForkRecipe) else 0)
            self._finish(job, "paused")

    # Changes of a job's status; the lock is held

    def _admit(self, job: Job, pause_at: int | None = None) -> None:
        self._scheduler.add(job, pause_at)
        job.set_status("queued")
        self._worker_pool.spawn()
        self._assign()

    def _assign(self) -> None:
        if not self._worker_pool.closed:
            self._scheduler.assign(self._worker_pool.workers)

    def _finish(self, job: Job, status: str, problem: Text | None = None) -> None:
        """End the scheduling of a job: it is done, stopped, failed, or paused until it is resumed."""
        self._scheduler.remove(job)
        job.set_status(status, problem)
        if status == "paused":
            active = self._scheduler.active
            active[job.key] = job  # behind those paused before it
            paused = [other for other in active.values() if other.status == "paused"]
            for oldest in paused[:-MOST_PAUSED]:
                self._finish(oldest, "stopped")

    def _detach(self, worker: WorkerHandle, job: Job) -> None:
        """The worker no longer has the run in memory."""
        del worker.jobs[job.key]
        job.schedule.worker, job.schedule.releasing = None, False
        if worker.busy is job:
            worker.busy = None

    def _save_outcome(self, job: Job) -> None:
        if self.monitor:
            try:
                save_outcome(self.store, job)
            except OSError:  # the run itself is stored, and can be probed again
                log.exception("The outcome of %s could not be stored.", job.key)

    # Replies and exits of workers; the lock is held

    def _on_message(self, worker: WorkerHandle, reply: WorkerReply) -> None:
        if not isinstance(reply, RunReply) or reply.key in worker.jobs:  # else: about a run that it no longer has
            self._handlers[type(reply)](worker, reply)
        self._assign()

    def _on_ready(self, worker: WorkerHandle, reply: WorkerReady) -> None:
        self._worker_pool.mark_ready(worker, reply.pid)
        self.store.remove_stale_files()  # of the worker that this one may have replaced

    def _on_log(self, worker: WorkerHandle, reply: LogLine) -> None:
        log.warning("%s", reply.text)

    def _on_opened(self, worker: WorkerHandle, reply: RunOpened) -> None:
        job = worker.jobs[reply.key]
        job.add_steps(reply.steps)
        if job.status == "queued":
            job.set_status("running", job.problem)

    def _on_steps(self, worker: WorkerHandle, reply: StepsMade) -> None:
        job = worker.jobs[reply.key]
        job.problem = None if job.status == "running" else job.problem
        job.add_steps(reply.steps, reply.seconds)

    def _on_probe(self, worker: WorkerHandle, reply: ProbeUpdate) -> None:
        worker.jobs[reply.key].add_probe_update(reply.update)

    def _on_slice_done(self, worker: WorkerHandle, reply: SliceDone) -> None:
        worker.busy, job = None, worker.jobs[reply.key]
        job.cpu_seconds += reply.cpu_seconds
        job.schedule.served_seconds += reply.cpu_seconds
        job.schedule.storing_seconds = reply.storing_seconds
        pause_at = job.schedule.pause_at
        if pause_at is not None and job.progress >= pause_at and job.schedule.next_status is None:
            self.withdraw(job, "paused")

    def _on_done(self, worker: WorkerHandle, reply: RunDone) -> None:
        job = worker.jobs[reply.key]
        self._detach(worker, job)
        self._finish(job, "done")
        self._save_outcome(job)

    def _on_released(self, worker: WorkerHandle, reply: RunReleased) -> None:
        job = worker.jobs[reply.key]
        self._detach(worker, job)
        job.truncate(reply.stored_steps)
        if job.schedule.next_status:
            self._finish(job, job.schedule.next_status)

    def _on_failed(self, worker: WorkerHandle, reply: RunFailed) -> None:
        job = worker.jobs[reply.key]
        self._detach(worker, job)
        job.diverged = reply.traceback is None
        self._finish(job, "failed", reply.why)
        self._save_outcome(job)
        if reply.traceback:
            log.error("Training of %s failed.\n%s", job.key, reply.traceback)

    def _on_exit(self, worker: WorkerHandle) -> None:
        """Its runs go on elsewhere from their last checkpoints; the one it was training may have killed it."""
        suspect = worker.busy
        self._scheduler.remove_worker(worker)
        for job in list(worker.jobs.values()):
            self._detach(worker, job)
            if not self._worker_pool.closed:
                self._recover(job, suspected=job is suspect)
        if self._worker_pool.closed:
            return
        if not self._worker_pool.replace(worker):
            for job in list(self._scheduler.active.values()):
                self._finish(job, "failed", self._worker_pool.launcher.failure)
        self._assign()

    def _recover(self, job: Job, suspected: bool) -> None:
        job.deaths += suspected
        if job.ended:
            return
        if job.schedule.next_status:
            self._finish(job, job.schedule.next_status)
        elif job.deaths >= MOST_DEATHS:
            self._finish(job, "failed", DIED_TOO_OFTEN)
        else:
            job.set_status(job.status, RESUMES)
            log.warning("A worker died; run %s resumes from its last checkpoint.", job.key)
