"""What the Train tab asks for: what can be trained, jobs and their course, files of one's own."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from app.i18n import translate_all
from app.service.runs.job_service import is_key, job_service
from app.service.training import requests
from app.service.training.event_stream import events
from app.service.training.job_view import job_facts
from app.service.training.menu import file_facts, menu
from core import ConfigError, InputError, Text
from core.jobs import Jobs
from core.runs.fork import fork_recipe
from core.runs.recipes import RECIPES, Recipe, recipe
from core.runs.run import key_of
from core.runs.store import StoreError

router = APIRouter(prefix="/train")
MOST_KEYS = 100
MOST_PER_PAGE, MOST_AT_ONCE = 8, 40  # runs being trained
STEP_SECONDS = 1.0
Options = dict[str, Any]


class File(BaseModel):
    name: str = Field("own.txt", max_length=200)
    text: str | None = Field(None, max_length=4 * requests.MOST_FILE_BYTES)
    digest: str = Field("", max_length=24)


class Wish(BaseModel):
    family: str = Field(max_length=40)
    task: str = Field(max_length=40)
    variant: str | None = Field(None, max_length=40)
    model: Options = {}
    task_options: Options = {}
    training: Options = {}
    seed: int = 0
    file: File | None = None
    page: str = Field("", max_length=40)

    def recipe(self) -> Recipe:
        requests.check_seed(self.seed)
        facts = {name: getattr(self, name) for name in ("family", "task", "variant", *requests.PARTS)}
        file = self.file.model_dump(exclude_none=True) if self.file else None
        return requests.recipe_of_wish(requests.Wish(**facts, file=file, seed=self.seed))


class Fork(BaseModel):
    step: int
    seed: int | None = None
    model: Options = {}
    training: Options = {}
    page: str = Field("", max_length=40)


class Order(BaseModel):
    """There only to be JSON: another web site can send orders without a body, but none of this kind."""

    page: str = Field("", max_length=40)


class Keys(BaseModel):
    keys: list[str] = Field(max_length=MOST_KEYS)


class Reading(File):
    task_options: Options = {}


@router.get("/menu")
def what_can_be_trained() -> dict[str, Any]:
    return menu()


@router.post("/check")
def check(wish: Wish) -> dict[str, Any]:
    chosen = wish.recipe()
    key = key_of(chosen, wish.seed)
    job = job_service.find(key)
    usual = RECIPES.get((wish.family, wish.task), {})
    against = wish.variant or ("default" if "default" in usual else None)
    return {
        "key": key,
        "parameters": requests.count(chosen),
        "steps": chosen.training.steps,
        "chance": chosen.task.chance,
        "goal": requests.known_goal(chosen),
        "example": requests.example_of(chosen),
        "known": job.status if job else None,
        "differs": requests.differences(chosen, recipe(wish.family, wish.task, against)) if against else [],
    }


@router.post("/start")
def start(wish: Wish, request: Request) -> dict[str, Any]:
    chosen = wish.recipe()
    chosen.task.evaluation(1)  # refuses problems too few to keep some apart
    return _begun(chosen, wish.seed, wish.page or _address(request))


@router.post("/known")
def known(asked: Keys) -> list[dict[str, Any]]:
    found = (job_service.find(key) for key in dict.fromkeys(asked.keys))
    return [job_facts(job) for job in found if job is not None]


@router.post("/file")
def file(asked: Reading) -> dict[str, Any]:
    return file_facts(
        requests.own_task(asked.model_dump(exclude={"task_options"}, exclude_none=True), asked.task_options)
    )


@router.get("/stream")
async def stream(keys: str = Query(max_length=25 * MOST_KEYS)) -> StreamingResponse:
    wanted = [key for key in dict.fromkeys(keys.split(",")) if is_key(key)]
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events(wanted[:MOST_KEYS]), media_type="text/event-stream", headers=headers)


@router.post("/noticed/{key}")
def noticed(key: str) -> list[dict[str, Any]]:
    return translate_all(job_service.job(key).seen.noticed)


@router.post("/{key}/fork")
def fork(key: str, asked: Fork, request: Request) -> dict[str, Any]:
    parent = job_service.job(key)
    try:
        run = job_service.store.load(parent.key)
    except StoreError as error:
        raise InputError("Nothing of this run is stored yet. Pause it, then fork it.") from error
    seed = run.seed if asked.seed is None else requests.check_seed(asked.seed)
    requests.check_left_to_task(asked.model)
    chosen = fork_recipe(run, asked.step, {**asked.model, **asked.training})
    requests.check_size(chosen)
    run.forked(chosen, seed)  # refuses weights of other shapes
    return _begun(chosen, seed, asked.page or _address(request))


@router.post("/{key}/{order}")
def command(
    key: str, order: Literal["pause", "go", "step", "stop", "rewind"], asked: Order, request: Request
) -> dict[str, Any]:
    job = job_service.job(key)
    if order == "go":
        return _begun(job.recipe, job.seed, asked.page or _address(request))
    try:
        {"pause": job.pause, "stop": job.stop, "rewind": job.rewind, "step": lambda: job.step(STEP_SECONDS)}[order]()
    except StoreError as error:
        raise InputError(error.text) from error
    return job_facts(job)


_pages: dict[str, set[str]] = {}  # the runs a page has started, while they are being trained


def _begun(chosen: Recipe, seed: int, page: str) -> dict[str, Any]:
    jobs = job_service.jobs
    with jobs.lock:  # many may ask at once
        _check_room(jobs, key_of(chosen, seed), page)
        try:
            job = jobs.start(chosen, seed)
        except StoreError as error:
            raise InputError(error.text) from error
        job.resume()
    return job_facts(job_service.remember(job))


def _check_room(jobs: Jobs, key: str, page: str) -> None:
    """Everybody shares the workers. The limit of all protects the machine; that of a page, which says itself which one
    it is, keeps a class from taking them from each other by mistake."""
    moving = {job.key for job in jobs.moving}
    for other in list(_pages):
        _pages[other] &= moving
        if not _pages[other]:
            del _pages[other]
    mine = _pages.get(page, set())
    if key in moving:
        return
    if len(mine) >= MOST_PER_PAGE or len(moving) >= MOST_AT_ONCE:
        count, most = (len(mine), MOST_PER_PAGE) if len(mine) >= MOST_PER_PAGE else (len(moving), MOST_AT_ONCE)
        raise ConfigError(
            "page",
            count,
            Text("at most {most} runs are trained at once.", most=most),
            Text("Stop or pause one of them first."),
        )
    _pages.setdefault(page, set()).add(key)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
