"""Which runs there are, and what one of them does with an input."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from app.i18n import WORDS
from app.service.inputs import Problem, held_out, typed
from app.service.runs import run_registry
from app.service.snapshot_arrays import look
from core import ConfigError, InputError
from core.runs.pretrained_run import PretrainedRun
from core.runs.run import Run

router = APIRouter()
AT_ONCE = threading.Semaphore(2)  # models running at the same time, in all sessions
HELD_OUT_SHOWN = 1000
REFUSED = "x-refused"


class Question(BaseModel):
    """Which run looks at which input: a typed text, or a held-out problem by its number."""

    run: str = Field(max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int | None = Field(None, ge=0, lt=HELD_OUT_SHOWN)


@contextmanager
def in_turn(name: str) -> Iterator[Run | PretrainedRun]:
    """A run, and leave to run its model: taken once it is open, since a checkpoint may take long to load."""
    run = run_registry.open_run(name).run
    with AT_ONCE:
        yield run


def problem_of(question: Question, run: Run | PretrainedRun | None = None) -> Problem:
    run = run or run_registry.open_run(question.run).run
    if question.text is not None:
        return typed(run, question.text)
    return held_out(run, question.held_out or 0)


@run_registry.kept
def packed_look(name: str, text: str | None, index: int | None) -> bytes:
    with in_turn(name) as run:
        return look(run, problem_of(Question(run=name, text=text, held_out=index), run)).pack()


@router.get("/words/{language}")
def words(language: str) -> dict[str, str]:
    return WORDS.get(language, WORDS["en"])


@router.get("/runs")
def runs() -> list[dict[str, Any]]:
    return run_registry.listing()


@router.get("/runs/{name:path}")  # checkpoints are called org/name
def run(name: str) -> dict[str, Any]:
    return run_registry.story(name)


@router.post("/look")
def look_at(question: Question) -> Response:
    data = packed_look(question.run, question.text, question.held_out)
    return Response(data, media_type="application/octet-stream")


def say_problem(request: Request, error: InputError | ConfigError) -> JSONResponse:
    """An input nobody can read is answered with a sentence in both languages, and the option it is about, if any.

    It is an answer like any other: a status of 4xx would put an error on the reader's console. With `again`, the same
    question will be answered in a while.
    """
    return refusal(error.text("en"), error.text("zh"), getattr(error, "option", None), getattr(error, "again", False))


def say_unreadable(request: Request, error: RequestValidationError) -> JSONResponse:
    """A question that is not of the right form: names the part that is not."""
    place = [str(part) for part in error.errors()[0]["loc"] if part not in ("body", "query", "path")]
    named = ".".join(place)[:80]
    en, zh = f"{named or 'The question'}: that cannot be read.", f"{named or '问题'}：无法读取。"
    return refusal(en, zh, place[-1] if place else None)


def refusal(en: str, zh: str, option: str | None, again: bool = False) -> JSONResponse:
    """What somebody sent is quoted, and may be no text at all: half a surrogate pair is spelt out."""
    en, zh, option = (said and str(said).encode("utf-8", "backslashreplace").decode() for said in (en, zh, option))
    problem = {"en": en, "zh": zh, "option": option, "again": again}
    return JSONResponse({"problem": problem}, headers={REFUSED: "yes"})
