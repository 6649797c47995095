"""Fair scheduling: the next run to train is the one that has had the least processor time.

Runs stay with the worker that has them in memory. One whose processor time lags behind another worker's runs by more than
a margin (`LAG_SHARE`) is moved there: stored by the one, loaded by the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from core.jobs.job import Job
from core.jobs.messages import OpenRun, ReleaseRun, TrainSlice
from core.jobs.worker_handle import WorkerHandle

SLICE_SECONDS, FIRST_SLICE = 0.05, 0.01  # of processor time; sending the next order takes about a millisecond
SLICE_SHARE = 0.1  # of the time a run has had: all of a short one may be a few tenths of a second
LAG_SHARE, MOST_LAG_SECONDS = 0.1, 2.0  # how far a run may fall behind, of the time it has had


class Scheduler:
    """The jobs that are queued, running or paused, and the orders that share the workers among them."""

    def __init__(self, monitor: bool):
        self.active: dict[str, Job] = {}
        self._monitor = monitor
        self._turns = count(1)

    @property
    def queued(self) -> list[Job]:
        """Jobs that no worker has begun with, in the order in which they will be."""
        queued = [job for job in self.active.values() if job.status == "queued"]
        return sorted(queued, key=_priority)

    @property
    def in_progress(self) -> list[Job]:
        return [job for job in self.active.values() if job.status in ("queued", "running")]

    def add(self, job: Job, pause_at: int | None) -> None:
        """Schedule a job as if it had so far had as much processor time as the one that had least."""
        others = [other.schedule.served_seconds for other in self.active.values() if other is not job]
        job.schedule.next_status, job.schedule.pause_at = None, pause_at
        job.schedule.served_seconds = max(job.schedule.served_seconds, min(others, default=0.0))
        self.active[job.key] = job

    def remove(self, job: Job) -> None:
        job.schedule.next_status = job.schedule.moving_to = job.schedule.pause_at = None
        self.active.pop(job.key, None)

    def remove_worker(self, worker: WorkerHandle) -> None:
        """Nothing moves to a worker that has exited."""
        for job in self.active.values():
            if job.schedule.moving_to is worker:
                job.schedule.moving_to = None

    def assign(self, workers: Iterable[WorkerHandle]) -> None:
        """Send every free worker its next slice, those with the fewest runs first."""
        for worker in sorted((w for w in workers if w.free), key=lambda w: len(w.jobs)):
            job = next_job(worker, self.active.values())
            distant = job_to_move(worker, job, self.active.values())
            if distant is not None:
                distant.schedule.moving_to = worker
                self.release(distant)
            if job is not None:
                self._train(worker, job)

    def release(self, job: Job) -> None:
        """Order the job's worker, once, to store the run and let go of it."""
        worker = job.schedule.worker
        if worker is not None and not job.schedule.releasing:
            job.schedule.releasing = True
            worker.send(ReleaseRun(job.key))

    def _train(self, worker: WorkerHandle, job: Job) -> None:
        if job.schedule.worker is None:
            job.schedule.worker, job.schedule.moving_to = worker, None
            worker.jobs[job.key] = job
            head_shares = job.probe_results.head_shares if self._monitor else None
            worker.send(OpenRun(job.key, job.recipe.to_dict(), job.seed, job.progress, head_shares))
        job.schedule.last_turn = next(self._turns)
        worker.busy = job
        worker.send(TrainSlice(job.key, slice_seconds(job), job.schedule.pause_at))


def slice_seconds(job: Job) -> float:
    """Processor time of the next slice: small beside the time that the run has had so far."""
    return max(FIRST_SLICE, min(SLICE_SHARE * job.schedule.served_seconds, SLICE_SECONDS))


def next_job(worker: WorkerHandle, jobs: Iterable[Job]) -> Job | None:
    """The run this worker should train now: one of its own, or one that is with no worker."""
    return _least_served(
        job
        for job in jobs
        if is_trainable(job)
        and (
            job.schedule.worker is worker
            or (job.schedule.worker is None and job.schedule.moving_to in (None, worker))
        )
    )


def job_to_move(worker: WorkerHandle, own: Job | None, jobs: Iterable[Job]) -> Job | None:
    """A run of another worker that should move here: any if there is no `own` run to train, else one that lags behind.

    Moving has a cost, so the lag must exceed it; a worker's only run is left where it is.
    """
    jobs = [job for job in jobs if job.status in ("queued", "running")]
    if any(job.schedule.moving_to is worker for job in jobs):
        return None
    distant = [job for job in jobs if is_trainable(job) and job.schedule.worker not in (None, worker)]
    owners = [job.schedule.worker for job in distant]
    behind = _least_served(job for job in distant if owners.count(job.schedule.worker) > 1)
    if behind is None or own is None:
        return behind
    lag = max(slice_seconds(behind), min(LAG_SHARE * behind.schedule.served_seconds, MOST_LAG_SECONDS))
    margin = lag + 3 * behind.schedule.storing_seconds
    return behind if own.schedule.served_seconds - behind.schedule.served_seconds > margin else None


def is_trainable(job: Job) -> bool:
    return job.status in ("queued", "running") and not job.schedule.releasing


def _least_served(jobs: Iterable[Job]) -> Job | None:
    return min(jobs, key=_priority, default=None)


def _priority(job: Job) -> tuple[float, int]:
    return job.schedule.served_seconds, job.schedule.last_turn
