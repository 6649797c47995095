"""Errors over HTTP: a refused request is answered with a 4xx status and a sentence in every language.

    {"problem": {"en": "…", "zh": "…", "option": "n_heads" | null, "again": false}}

422  the input or an option cannot be used, or the request is not of the right form
503  not yet (`again`): the same request will be answered in a while, as when a checkpoint is being loaded
"""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from app.i18n import in_all_languages
from core import ConfigError, InputError
from core.messages import Text

REFUSED, NOT_YET = 422, 503


def add_error_handlers(app: FastAPI) -> None:
    for kind in (InputError, ConfigError):
        app.add_exception_handler(kind, answer_error)
    app.add_exception_handler(RequestValidationError, answer_malformed)


def answer_error(request: Request, error: InputError | ConfigError) -> JSONResponse:
    return _answer(error.text, getattr(error, "option", None), getattr(error, "again", False))


def answer_malformed(request: Request, error: RequestValidationError) -> JSONResponse:
    """Names the part of the request that is missing or of the wrong kind."""
    place = [str(part) for part in error.errors()[0]["loc"] if part not in ("body", "query", "path")]
    named = ".".join(place)[:80]
    text = Text("{part}: that cannot be read.", part=named or Text("The question"))
    return _answer(text, place[-1] if place else None)


def _answer(text: Text, option: str | None, again: bool = False) -> JSONResponse:
    said = {language: _encodable(words) for language, words in in_all_languages(text).items()}
    problem = {**said, "option": option and _encodable(option), "again": again}
    return JSONResponse({"problem": problem}, NOT_YET if again else REFUSED)


def _encodable(text: str) -> str:
    """What somebody sent is quoted, and may be no text at all: half a surrogate pair is spelt out."""
    return text.encode("utf-8", "backslashreplace").decode()
