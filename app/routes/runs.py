"""Routes of the runs: their list, one run's training, its arrays for an input; and the request that names an input."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.i18n import WORDS
from app.service.inputs import AnyRun, ModelInput, held_out_input, input_from_text
from app.service.runs import run_registry
from app.service.snapshot_arrays import SnapshotArrays, collect_arrays

router = APIRouter()
MODEL_SLOTS = threading.Semaphore(2)  # models running at the same time, in all sessions
HELD_OUT_SHOWN = 1000
PROCESS = secrets.token_hex(8)


class InputRequest(BaseModel):
    """A run and an input: a typed text, or a held-out example by its number."""

    run: str = Field(max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int | None = Field(None, ge=0, lt=HELD_OUT_SHOWN)


@contextmanager
def exclusive_run(name: str) -> Iterator[AnyRun]:
    """An open run and one of the `MODEL_SLOTS`, taken after opening, since a checkpoint may take long to load."""
    run = run_registry.open_run(name).run
    with MODEL_SLOTS:
        yield run


def load_input(request: InputRequest, run: AnyRun | None = None) -> ModelInput:
    run = run or run_registry.open_run(request.run).run
    if request.text is not None:
        return input_from_text(run, request.text)
    return held_out_input(run, request.held_out or 0)


def binary_response(data: bytes) -> Response:
    return Response(data, media_type="application/octet-stream")


def file_name(run: str) -> str:
    """The name of a run as the beginning of a file's name."""
    return run.replace("/", "-")


@run_registry.cached
def input_arrays(name: str, text: str | None, index: int | None) -> SnapshotArrays:
    """Arrays of a run for an input, as cached for all that ask for a part of them."""
    with exclusive_run(name) as run:
        return collect_arrays(run, load_input(InputRequest(run=name, text=text, held_out=index), run))


@router.get("/words/{language}")
def words(language: str) -> dict[str, str]:
    return WORDS.get(language, WORDS["en"])


@router.get("/alive")
def alive() -> dict[str, str]:
    """Which process answers: pages that lost it load themselves again."""
    return {"id": PROCESS}


@router.get("/runs")
def runs() -> list[dict[str, Any]]:
    return run_registry.list_runs()


@router.get("/runs/{name:path}")  # checkpoints are called org/name
def run(name: str) -> dict[str, Any]:
    return run_registry.run_metadata(name)


@router.post("/look")
def snapshot_arrays(request: InputRequest) -> Response:
    return binary_response(input_arrays(request.run, request.text, request.held_out).pack())
