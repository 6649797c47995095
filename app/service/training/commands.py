"""What can be asked of training: checking a recipe, starting its run, forking one, and commands to its job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

import core
from app.service.runs.job_service import job_service
from app.service.training import requests
from app.service.training.job_view import job_facts
from app.service.training.uploaded_files import MAX_FILE_BYTES
from core import ConfigError, InputError, Text
from core.jobs import Jobs
from core.runs.fork import fork_recipe
from core.runs.recipes import RECIPES, Recipe
from core.runs.run import key_of
from core.runs.store import StoreError

MAX_JOBS_PER_PAGE, MAX_JOBS = 8, 40  # queued or running
STEP_TIMEOUT_SECONDS = 1.0  # a `step` command waits so long for its step
COMMANDS = ("pause", "go", "step", "stop", "rewind")
Options = dict[str, Any]


class UploadedFile(BaseModel):
    name: str = Field("own.txt", max_length=200)
    text: str | None = Field(None, max_length=4 * MAX_FILE_BYTES)
    digest: str = Field("", max_length=24)


class TrainBody(BaseModel):
    """A run to be trained: the options that differ from those of its variant, and a seed."""

    family: str = Field(max_length=40)
    task: str = Field(max_length=40)
    variant: str | None = Field(None, max_length=40)
    model: Options = {}
    task_options: Options = {}
    training: Options = {}
    seed: int = 0
    file: UploadedFile | None = None

    def recipe(self) -> Recipe:
        requests.check_seed(self.seed)
        fields = {name: getattr(self, name) for name in ("family", "task", "variant", *requests.PARTS)}
        file = self.file.model_dump(exclude_none=True) if self.file else None
        return requests.recipe_from_request(requests.TrainRequest(**fields, file=file, seed=self.seed))


class ForkBody(BaseModel):
    step: int
    seed: int | None = None
    model: Options = {}
    training: Options = {}


def check(body: TrainBody) -> dict[str, Any]:
    """Key, size, baseline and first problem of what would be trained."""
    recipe = body.recipe()
    key = key_of(recipe, body.seed)
    job = job_service.find(key)
    variants = RECIPES.get((body.family, body.task), {})
    variant = body.variant or ("default" if "default" in variants else None)
    return {
        "key": key,
        "parameters": requests.parameter_count(recipe),
        "steps": recipe.training.steps,
        "chance": recipe.task.chance,
        "goal": requests.accuracy_goal(recipe),
        "example": requests.example_problem(recipe),
        "known": job.status if job else None,
        "differs": (
            requests.option_differences(recipe, core.recipe(body.family, body.task, variant)) if variant else []
        ),
    }


def start(body: TrainBody, page: str) -> dict[str, Any]:
    """Starts a run, or resumes it; page: who asks, for a fair share of the workers."""
    recipe = body.recipe()
    recipe.task.evaluation(1)  # raises if there are too few problems to hold some out
    return _start_job(recipe, body.seed, page)


def fork(key: str, body: ForkBody, page: str) -> dict[str, Any]:
    parent = job_service.job(key)
    try:
        run = job_service.store.load(parent.key)
    except StoreError as error:
        raise InputError("Nothing of this run is stored yet. Pause it, then fork it.") from error
    seed = run.seed if body.seed is None else requests.check_seed(body.seed)
    requests.check_no_task_sizes(body.model)
    recipe = fork_recipe(run, body.step, {**body.model, **body.training})
    requests.check_size(recipe)
    run.derive(recipe, seed)  # raises if the shapes of the weights would change
    return _start_job(recipe, seed, page)


def command(key: str, order: str, page: str) -> dict[str, Any]:
    """One of `COMMANDS` to a job."""
    job = job_service.job(key)
    if order == "go":
        return _start_job(job.recipe, job.seed, page)
    commands = {
        "pause": job.pause,
        "stop": job.stop,
        "rewind": job.rewind,
        "step": lambda: job.step(STEP_TIMEOUT_SECONDS),
    }
    if order not in commands:
        raise InputError("There is no such command.")
    try:
        commands[order]()
    except StoreError as error:
        raise InputError(error.text) from error
    return job_facts(job)


_page_jobs: dict[str, set[str]] = {}  # page → keys of the runs it has started, while they are queued or running


def _start_job(recipe: Recipe, seed: int, page: str) -> dict[str, Any]:
    """Start or resume the job of a run."""
    jobs = job_service.jobs
    with jobs.lock:  # so that simultaneous requests are counted
        _check_job_limits(jobs, key_of(recipe, seed), page)
        try:
            job = jobs.start(recipe, seed)
        except StoreError as error:
            raise InputError(error.text) from error
        job.resume()
    return job_facts(job_service.keep_recent(job))


def _check_job_limits(jobs: Jobs, key: str, page: str) -> None:
    """Limit the jobs of all pages, to protect the machine, and those of one page, for a fair share of the workers."""
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


def known_jobs(keys: list[str]) -> list[Mapping[str, Any]]:
    jobs = (job_service.find(key) for key in dict.fromkeys(keys))
    return [job_facts(job) for job in jobs if job is not None]
