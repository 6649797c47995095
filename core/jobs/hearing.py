"""What becomes of a worker's answers, and of its death: the listening half of `Jobs`, which holds the lock meanwhile."""

from __future__ import annotations

import logging
from multiprocessing.connection import wait
from typing import Any

from core.jobs.failures import DIED_TOO_OFTEN, MOST_DEATHS, RESUMES
from core.jobs.job import Job
from core.jobs.outcome import keep_outcome
from core.jobs.worker_handle import Worker
from core.messages import Text
from core.training.loop import Step

LISTEN_SECONDS = 0.2  # until a worker that another thread has started is listened to
log = logging.getLogger(__name__)


class Hearing:
    """Expects of `Jobs`: lock, store, size, and what it knows of its runs and workers."""

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

    def _steps(self, worker: Worker, job: Job, steps: list[Step], seconds: float) -> None:
        job.problem = None if job.status == "running" else job.problem
        job.take(steps, seconds)

    def _seen(self, worker: Worker, job: Job, news: dict[str, Any]) -> None:
        job.learn(news)

    def _rested(self, worker: Worker, job: Job, cpu_seconds: float, storing_seconds: float) -> None:
        worker.busy = None
        job.cpu_seconds += cpu_seconds
        job.place.served += cpu_seconds
        job.place.moving_seconds = storing_seconds
        if job.place.until is not None and job.progress >= job.place.until and job.place.then is None:
            self.withdraw(job, "paused")

    def _done(self, worker: Worker, job: Job) -> None:
        self._part(worker, job)
        self._conclude(job, "done")

    def _left(self, worker: Worker, job: Job, stored_steps: int) -> None:
        self._part(worker, job)
        job.keep_only(stored_steps)
        if job.place.then:
            self._settle(job, job.place.then)

    def _failed(self, worker: Worker, job: Job, why: Text, trace: str | None) -> None:
        self._part(worker, job)
        job.diverged = trace is None
        self._conclude(job, "failed", why)
        if trace:
            log.error("Training of %s failed.\n%s", job.key, trace)

    def _conclude(self, job: Job, status: str, why: Text | None = None) -> None:
        self._settle(job, status, why)
        if self.watching:
            try:
                keep_outcome(self.store, job)
            except OSError:  # the run itself is stored; what was seen in it can be seen again
                log.exception("What was seen in %s could not be kept.", job.key)

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
