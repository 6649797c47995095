"""Endpoint that trains a run in the workers of the app, as the Train tab does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import gradio as gr

from app.api.endpoint import Name
from app.service.runs import run_registry
from app.service.runs.job_service import job_service
from app.service.runs.thinning import evenly_spaced
from app.service.training.event_stream import IDLE_POLL_SECONDS, MAX_ROWS, POLL_SECONDS
from app.service.training.job_start import start_job
from app.service.training.requests import check_seed, recipe_from_request, request_of_options
from core import InputError
from core.jobs import Job
from core.jobs.failures import STOPPED
from core.jobs.job import ENDED


async def train(
    request: gr.Request,
    family: Name,
    task: Name,
    options: dict[str, Any] | None = None,
    seed: int = 0,
    variant: Name | None = None,
) -> AsyncIterator[dict[str, Any]]:
    """Train a family on a task and stream its steps; the same recipe and seed are trained only once.

    The training goes on when the client leaves; asked for again, its steps are told from the beginning.

    Parameters:
        family: Name of a model family
        task: Name of a task it can learn; /models lists both
        options: Options of the model, the task or the training that differ from the recipe's, such as {"d_hidden": 32, "steps": 300}
        seed: Seed of the weights and the problems
        variant: Name of another recipe than the usual one, such as "source"
    Returns:
        key (opens the run), status, step, steps (planned), rows (new since the last answer: step, loss, accuracy …) and, at the end, accuracy on held-out problems
    """
    job = await asyncio.to_thread(_start, family, task, options or {}, seed, variant, _address(request))
    cursor = JobCursor(job)
    update = await asyncio.to_thread(cursor.update)
    while update is None or update["status"] not in ENDED:
        if update is not None:
            yield update
        await asyncio.sleep(IDLE_POLL_SECONDS if update is None else POLL_SECONDS)
        update = await asyncio.to_thread(cursor.update)
    if update["status"] == "failed":
        raise InputError(job.problem or STOPPED)
    yield {**update, "accuracy": await asyncio.to_thread(_accuracy, job)}


class JobCursor:
    """A job, and how much of it has been told."""

    def __init__(self, job: Job):
        self.job, self.told = job, 0
        self.state: tuple[str, int] | None = None  # status and rewinds

    def update(self) -> dict[str, Any] | None:
        """What has happened since the last update; None: nothing."""
        job = self.job
        state = job.status, job.rewinds  # read before the steps: once a job is done, all of its steps are there
        if (self.state and state[1] != self.state[1]) or job.progress < self.told:
            self.told = 0
        steps = job.poll(self.told)
        if not steps and state == self.state:
            return None
        self.told, self.state = self.told + len(steps), state
        rows = [{"step": step.index, "loss": step.loss, "accuracy": step.accuracy} for step in steps]
        planned = job.recipe.training.steps
        return {
            "key": job.key, "status": state[0], "step": self.told, "steps": planned, "rows": evenly_spaced(rows, MAX_ROWS),
        }  # fmt: skip


def _start(family: str, task: str, options: dict[str, Any], seed: int, variant: str | None, page: str) -> Job:
    recipe = recipe_from_request(request_of_options(family, task, options, variant, check_seed(seed)))
    recipe.task.evaluation(1)  # raises if there are too few problems to hold some out
    return start_job(recipe, seed, page)


def _address(request: gr.Request) -> str:
    return request.client.host if request.client else ""


def _accuracy(job: Job) -> float | None:
    """On held-out problems; None for a run that was stopped before anything of it was stored."""
    if job_service.stored_facts(job.key) is None:
        return None
    return run_registry.open_run(job.key).facts["accuracy"]
