"""Which runs there are, and what one of them does with an input."""

from __future__ import annotations

import threading
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from app import gallery
from app.i18n import WORDS
from app.looking import look
from app.problem import Problem, held_out, typed
from core import ConfigError, InputError

router = APIRouter()
AT_ONCE = threading.Semaphore(2)  # models running at the same time, in all sessions
HELD_OUT_SHOWN = 1000
REFUSED = "x-refused"


class Question(BaseModel):
    """Which run looks at which input: a typed text, or a held-out problem by its number."""

    run: str = Field(max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int | None = Field(None, ge=0, lt=HELD_OUT_SHOWN)


def problem_of(question: Question) -> Problem:
    run = gallery.open_run(question.run).run
    if question.text is not None:
        return typed(run, question.text)
    return held_out(run, question.held_out or 0)


@gallery.kept(64)
def packed_look(run: str, text: str | None, index: int | None) -> bytes:
    question = Question(run=run, text=text, held_out=index)
    with AT_ONCE:
        return look(gallery.open_run(run).run, problem_of(question)).pack()


@router.get("/words/{language}")
def words(language: str) -> dict[str, str]:
    return WORDS.get(language, WORDS["en"])


@router.get("/runs")
def runs() -> list[dict[str, Any]]:
    return gallery.listing()


@router.get("/runs/{name:path}")  # checkpoints are called org/name
def run(name: str) -> dict[str, Any]:
    return gallery.story(name)


@router.post("/look")
def look_at(question: Question) -> Response:
    data = packed_look(question.run, question.text, question.held_out)
    return Response(data, media_type="application/octet-stream")


def say_problem(request: Request, error: InputError | ConfigError) -> JSONResponse:
    """An input nobody can read is answered with a sentence in both languages, and the option it is about, if any.

    It is an answer like any other: a status of 4xx would put an error on the reader's console.
    """
    problem = {"en": error.text("en"), "zh": error.text("zh"), "option": getattr(error, "option", None)}
    return JSONResponse({"problem": problem}, headers={REFUSED: "yes"})


def say_unreadable(request: Request, error: RequestValidationError) -> JSONResponse:
    """A question that is not of the right form: names the part that is not."""
    place = [str(part) for part in error.errors()[0]["loc"] if part not in ("body", "query", "path")]
    named = ".".join(place)[:80]
    problem = {
        "en": f"{named or 'The question'}: that cannot be read.",
        "zh": f"{named or '问题'}：无法读取。",
        "option": place[-1] if place else None,
    }
    return JSONResponse({"problem": problem}, headers={REFUSED: "yes"})
