"""Routes of the Train tab: its menu, starting and controlling jobs, their stream of events, files of the user."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

import core
from app.i18n import translate_all
from app.service.runs.job_service import is_run_key, job_service
from app.service.training import figures, requests
from app.service.training.event_stream import stream_events
from app.service.training.job_start import start_job
from app.service.training.job_view import job_facts
from app.service.training.menu import file_facts, menu
from app.service.training.uploaded_files import MAX_FILE_BYTES, task_from_file
from core import InputError
from core.runs.fork import fork_recipe
from core.runs.recipes import RECIPES, Recipe
from core.runs.run import key_of
from core.runs.store import StoreError

router = APIRouter(prefix="/train")
MAX_KEYS = 100
STEP_TIMEOUT_SECONDS = 1.0  # a `step` command waits so long for its step
Options = dict[str, Any]


class UploadedFile(BaseModel):
    name: str = Field("own.txt", max_length=200)
    text: str | None = Field(None, max_length=4 * MAX_FILE_BYTES)
    digest: str = Field("", max_length=24)


class TrainBody(BaseModel):
    family: str = Field(max_length=40)
    task: str = Field(max_length=40)
    variant: str | None = Field(None, max_length=40)
    model: Options = {}
    task_options: Options = {}
    training: Options = {}
    seed: int = 0
    file: UploadedFile | None = None
    page: str = Field("", max_length=40)

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
    page: str = Field("", max_length=40)


class CommandBody(BaseModel):
    """A JSON body, so that browsers refuse commands from other web sites (a form cannot send one across origins)."""

    page: str = Field("", max_length=40)


class KeysBody(BaseModel):
    keys: list[str] = Field(max_length=MAX_KEYS)


class FileBody(UploadedFile):
    task_options: Options = {}


class ShownRunBody(BaseModel):
    key: str = Field(max_length=24)
    number: int
    name: str = Field(max_length=300)
    rewound: bool = False


class ChartsBody(BaseModel):
    runs: list[ShownRunBody] = Field(max_length=MAX_KEYS)
    focus: str = Field(max_length=24)
    width: int = Field(1040, ge=160, le=8000)
    timed: bool = True


class InsideBody(BaseModel):
    width: int = Field(500, ge=96, le=8000)


@router.get("/menu")
def get_menu() -> dict[str, Any]:
    return menu()


@router.post("/check")
def check(body: TrainBody) -> dict[str, Any]:
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


@router.post("/start")
def start(body: TrainBody, request: Request) -> dict[str, Any]:
    recipe = body.recipe()
    recipe.task.evaluation(1)  # raises if there are too few problems to hold some out
    return job_facts(start_job(recipe, body.seed, body.page or _address(request)))


@router.post("/charts")
def charts(body: ChartsBody) -> dict[str, Any]:
    """The description of the charts of some runs, without their numbers, which come by the stream."""
    runs = [figures.ShownRun(**run.model_dump()) for run in body.runs]
    return figures.charts(runs, body.focus, body.width, body.timed)


@router.post("/inside/{key}")
def inside(key: str, body: InsideBody) -> dict[str, Any]:
    return figures.inside_maps(key, body.width)


@router.post("/known")
def known(body: KeysBody) -> list[dict[str, Any]]:
    jobs = (job_service.find(key) for key in dict.fromkeys(body.keys))
    return [job_facts(job) for job in jobs if job is not None]


@router.post("/file")
def file(body: FileBody) -> dict[str, Any]:
    file = body.model_dump(exclude={"task_options"}, exclude_none=True)
    return file_facts(task_from_file(file, body.task_options))


@router.get("/stream")
async def stream(keys: str = Query(max_length=25 * MAX_KEYS)) -> StreamingResponse:
    run_keys = [key for key in dict.fromkeys(keys.split(",")) if is_run_key(key)]
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream_events(run_keys[:MAX_KEYS]), media_type="text/event-stream", headers=headers)


@router.post("/noticed/{key}")
def diagnoses(key: str) -> list[dict[str, Any]]:
    return translate_all(job_service.job(key).probe_results.diagnoses)


@router.post("/{key}/fork")
def fork(key: str, body: ForkBody, request: Request) -> dict[str, Any]:
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
    return job_facts(start_job(recipe, seed, body.page or _address(request)))


@router.post("/{key}/{order}")
def command(
    key: str, order: Literal["pause", "go", "step", "stop", "rewind"], body: CommandBody, request: Request
) -> dict[str, Any]:
    job = job_service.job(key)
    if order == "go":
        return job_facts(start_job(job.recipe, job.seed, body.page or _address(request)))
    commands = {
        "pause": job.pause,
        "stop": job.stop,
        "rewind": job.rewind,
        "step": lambda: job.step(STEP_TIMEOUT_SECONDS),
    }
    try:
        commands[order]()
    except StoreError as error:
        raise InputError(error.text) from error
    return job_facts(job)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
