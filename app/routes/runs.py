"""Routes of the runs: their list, one run's training, its arrays for an input; and the request that names an input."""

from __future__ import annotations

import secrets
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.i18n import WORDS
from app.service.inputs import AnyRun, ModelInput, read_input
from app.service.runs import run_registry
from app.service.runs.input_arrays import input_arrays

router = APIRouter()
HELD_OUT_SHOWN = 1000
PROCESS = secrets.token_hex(8)


class InputRequest(BaseModel):
    """A run and an input: a typed text, or a held-out example by its number."""

    run: str = Field(max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int | None = Field(None, ge=0, lt=HELD_OUT_SHOWN)


def load_input(request: InputRequest, run: AnyRun | None = None) -> ModelInput:
    run = run or run_registry.open_run(request.run).run
    return read_input(run, request.text, request.held_out)


def binary_response(data: bytes) -> Response:
    return Response(data, media_type="application/octet-stream")


def file_name(run: str) -> str:
    """The name of a run as the beginning of a file's name."""
    return run.replace("/", "-")


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
