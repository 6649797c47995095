"""A training job as JSON for the page: its facts, and the rows of its training curve."""

from __future__ import annotations

from typing import Any

from app.i18n import in_all_languages, translate_all
from app.service.runs.job_service import job_service
from app.service.training import requests
from app.service.training.run_titles import run_marks, run_title
from app.service.training.titles import task_title
from core.jobs import Job
from core.runs.fork import ForkRecipe
from core.tasks.custom.files import without_text


def job_facts(job: Job) -> dict[str, Any]:
    recipe = job.recipe
    options = recipe.training
    queue = [waiting.key for waiting in job_service.jobs.queued]
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
        "sharing": {"runs": len(job_service.jobs.in_progress), "workers": job_service.jobs.size},
        "seconds_left": job.seconds_left,
        "tokens_per_s": rates[-1] if rates else None,
        "accuracy": job.probe_results.accuracy,
        "chance": recipe.task.chance,
        "goal": requests.accuracy_goal(recipe),
        "parameters": requests.parameter_count(recipe),
        "recipe": without_text(recipe.to_dict())[0],
        "parent": recipe.origin.parent if isinstance(recipe, ForkRecipe) and recipe.origin else None,
        "stored": stored,
        "forkable": forkable,
        "moments": translate_all(job.probe_results.events),
        "noticed": translate_all(job.probe_results.diagnoses),
    }


def stored_state(job: Job) -> tuple[int | None, list[int] | None]:
    """The last stored step, and the steps at which the run can be forked; None, None if nothing is stored."""
    facts = job_service.stored_facts(job.key)
    if facts is None:
        return None, None
    return facts["index"], sorted({*facts["snapshots"], facts["index"]})


def step_rows(job: Job, since: int) -> list[list[float | None]]:
    """(index, loss, accuracy, learning rate, gradient norm, tokens/s) of each step after the first `since`."""
    with_rates = zip(job.poll(since), job.rates(since), strict=False)
    return [[s.index, s.loss, s.accuracy, s.lr, s.grad_norm, rate] for s, rate in with_rates]
