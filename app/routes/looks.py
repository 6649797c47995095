"""Which runs there are, and what one of them does with an input."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.i18n import WORDS
from app.service.inputs import Problem, held_out, typed
from app.service.runs import run_registry
from app.service.snapshot_arrays import look
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run

router = APIRouter()
MODEL_SLOTS = threading.Semaphore(2)  # models running at the same time, in all sessions
HELD_OUT_SHOWN = 1000


class Question(BaseModel):
    """Which run looks at which input: a typed text, or a held-out problem by its number."""

    run: str = Field(max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int | None = Field(None, ge=0, lt=HELD_OUT_SHOWN)


@contextmanager
def exclusive_run(name: str) -> Iterator[Run | PretrainedRun]:
    """A run, and leave to run its model: taken once it is open, since a checkpoint may take long to load."""
    run = run_registry.open_run(name).run
    with MODEL_SLOTS:
        yield run


def problem_of(question: Question, run: Run | PretrainedRun | None = None) -> Problem:
    run = run or run_registry.open_run(question.run).run
    if question.text is not None:
        return typed(run, question.text)
    return held_out(run, question.held_out or 0)


@run_registry.cached
def packed_look(name: str, text: str | None, index: int | None) -> bytes:
    with exclusive_run(name) as run:
        return look(run, problem_of(Question(run=name, text=text, held_out=index), run)).pack()


@router.get("/words/{language}")
def words(language: str) -> dict[str, str]:
    return WORDS.get(language, WORDS["en"])


@router.get("/runs")
def runs() -> list[dict[str, Any]]:
    return run_registry.list_runs()


@router.get("/runs/{name:path}")  # checkpoints are called org/name
def run(name: str) -> dict[str, Any]:
    return run_registry.run_metadata(name)


@router.post("/look")
def look_at(question: Question) -> Response:
    data = packed_look(question.run, question.text, question.held_out)
    return Response(data, media_type="application/octet-stream")
