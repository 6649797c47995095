"""Starting the training of a run, within the limits on jobs that are queued or running at the same time."""

from __future__ import annotations

from app.service.runs.job_service import job_service
from core import ConfigError, InputError, Text
from core.jobs import Job, Jobs
from core.runs.recipes import Recipe
from core.runs.run import key_of
from core.runs.store import StoreError

MAX_JOBS_PER_PAGE, MAX_JOBS = 8, 40  # queued or running
_page_jobs: dict[str, set[str]] = {}  # page → keys of the runs it has started, while they are queued or running


def start_job(recipe: Recipe, seed: int, page: str) -> Job:
    """Start or resume the job of a run; `page` identifies who asks: a page, or the address of another client."""
    jobs = job_service.jobs
    with jobs.lock:  # so that simultaneous requests are counted
        _check_job_limits(jobs, key_of(recipe, seed), page)
        try:
            job = jobs.start(recipe, seed)
        except StoreError as error:
            raise InputError(error.text) from error
        job.resume()
    return job_service.keep_recent(job)


def _check_job_limits(jobs: Jobs, key: str, page: str) -> None:
    """Limit the jobs of all pages, to protect the machine, and those of one page, for a fair share of the workers.

    A page identifies itself, so the second limit guards against mistakes only, not against abuse.
    """
    active = {job.key for job in jobs.in_progress}
    for other in list(_page_jobs):
        _page_jobs[other] &= active
        if not _page_jobs[other]:
            del _page_jobs[other]
    of_page = _page_jobs.get(page, set())
    if key in active:
        return
    if len(of_page) >= MAX_JOBS_PER_PAGE or len(active) >= MAX_JOBS:
        per_page = len(of_page) >= MAX_JOBS_PER_PAGE
        count, most = (len(of_page), MAX_JOBS_PER_PAGE) if per_page else (len(active), MAX_JOBS)
        raise ConfigError(
            "page",
            count,
            Text("at most {most} runs are trained at once.", most=most),
            Text("Stop or pause one of them first."),
        )
    _page_jobs.setdefault(page, set()).add(key)
