"""Who is next: the run that has had the least, wherever it is.

Runs stay with their worker, which has them in memory, as long as that is fair. One that falls behind is moved to a
worker whose own runs are ahead, through the store.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.jobs.job import Job
from core.jobs.worker_handle import Worker

SLICE_SECONDS, FIRST_SLICE = (
    0.05,
    0.01,
)  # of processor time; telling the worker what is next takes about a millisecond
SLICE_SHARE = 0.1  # of what a run has had: all of a short one may be a few tenths of a second
LAG_SHARE, MOST_LAG_SECONDS = 0.1, 2.0  # how far a run may fall behind, of what it has had


def slice_of(job: Job) -> float:
    """Seconds of processor time, small beside what the run has had so far."""
    return max(FIRST_SLICE, min(SLICE_SHARE * job.place.served, SLICE_SECONDS))


def next_for(worker: Worker, jobs: Iterable[Job]) -> Job | None:
    """The run this worker should train now: one of its own, or one that nobody has."""
    return _least_served(
        job
        for job in jobs
        if wants_work(job)
        and (job.place.worker is worker or (job.place.worker is None and job.place.bound_for in (None, worker)))
    )


def to_fetch(worker: Worker, mine: Job | None, jobs: Iterable[Job]) -> Job | None:
    """A run that should move here: any when there is nothing else to do, otherwise one that lags behind.

    Moving costs something, so it has to be worth it; a worker's only run is left where it is.
    """
    jobs = [job for job in jobs if job.status in ("queued", "running")]
    if any(job.place.bound_for is worker for job in jobs):
        return None
    settled = [job for job in jobs if wants_work(job) and job.place.worker not in (None, worker)]
    at_home = [job.place.worker for job in settled]
    behind = _least_served(job for job in settled if at_home.count(job.place.worker) > 1)
    if behind is None or mine is None:
        return behind
    lag = max(slice_of(behind), min(LAG_SHARE * behind.place.served, MOST_LAG_SECONDS))
    margin = lag + 3 * behind.place.moving_seconds
    return behind if mine.place.served - behind.place.served > margin else None


def wants_work(job: Job) -> bool:
    return job.status in ("queued", "running") and not job.place.leaving


def _least_served(jobs: Iterable[Job]) -> Job | None:
    return min(jobs, key=lambda job: (job.place.served, job.place.turn), default=None)
