"""A job as the page sees it."""

from __future__ import annotations

from typing import Any

from app.i18n import in_all_languages, translate_all
from app.service.runs.job_service import job_service
from app.service.training import requests
from app.service.training.run_titles import run_marks, run_title
from app.service.training.titles import task_title
from core.jobs import Job
from core.runs.fork import Forked
from core.tasks.custom.files import without_text

MOST_ROWS = 1500  # of the steps so far, when somebody begins to listen


def job_facts(job: Job) -> dict[str, Any]:
    recipe = job.recipe
    options = recipe.training
    queue = [other.key for other in job_service.jobs.waiting]
    rates = job.rates(max(0, job.progress - 1))
    stored, forkable = stored_state(job)
    return {
        "key": job.key,
        "family": recipe.family,
        "task": recipe.task.name,
        "task_title": in_all_languages(task_title(recipe.task.name)),
        "seed": job.seed,
        "title": in_all_languages(run_title(recipe, job.seed)),
        "marks": [in_all_languages(mark) for mark in run_marks(recipe)],
        "status": job.status,
        "problem": in_all_languages(job.problem) if job.problem else None,
        "index": job.progress,
        "steps": options.steps,
        "place": queue.index(job.key) + 1 if job.key in queue else None,
        "sharing": {"runs": len(job_service.jobs.moving), "workers": job_service.jobs.size},
        "seconds_left": job.seconds_left,
        "tokens_per_s": rates[-1] if rates else None,
        "accuracy": job.seen.accuracy,
        "chance": recipe.task.chance,
        "goal": requests.known_goal(recipe),
        "parameters": requests.count(recipe),
        "recipe": without_text(recipe.to_dict())[0],
        "parent": recipe.origin.parent if isinstance(recipe, Forked) else None,
        "stored": stored,
        "forkable": forkable,
        "moments": translate_all(job.seen.moments),
        "noticed": translate_all(job.seen.noticed),
    }


def stored_state(job: Job) -> tuple[int | None, list[int] | None]:
    """How far what other tabs can look at goes, and the steps at which it can be forked."""
    facts = job_service.stored(job.key)
    if facts is None:
        return None, None
    return facts["index"], sorted({*facts["snapshots"], facts["index"]})


def rows_of(job: Job, since: int) -> list[list[float | None]]:
    """One row per step after the first `since`."""
    with_rates = zip(job.poll(since), job.rates(since), strict=False)
    return [[s.index, s.loss, s.accuracy, s.lr, s.grad_norm, rate] for s, rate in with_rates]


def thinned(rows: list[list[float | None]], most: int = MOST_ROWS) -> list[list[float | None]]:
    """At most so many, evenly, the first and the last among them."""
    if len(rows) <= most:
        return rows
    return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]
