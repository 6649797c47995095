"""Errors over HTTP: a request that cannot be served is answered with a status and a sentence in every language.

    {"problem": {"en": "…", "zh": "…", "option": "n_heads" | null, "again": false}}

422  the input or an option cannot be used, or the request is not of the right form
503  not yet (`again`): the same request will succeed later, as while a checkpoint is being loaded
"""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from app.i18n import encodable, in_all_languages
from core import ConfigError, InputError
from core.translatable import Text

REFUSED, NOT_YET = 422, 503


def add_error_handlers(app: FastAPI) -> None:
    for kind in (InputError, ConfigError):
        app.add_exception_handler(kind, refused_response)
    app.add_exception_handler(RequestValidationError, malformed_response)


def refused_response(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, InputError | ConfigError)
    return _error_response(error.text, getattr(error, "option", None), getattr(error, "again", False))


def malformed_response(request: Request, error: Exception) -> JSONResponse:
    """Names the field of the request that is missing or of the wrong type."""
    assert isinstance(error, RequestValidationError)
    field = [str(part) for part in error.errors()[0]["loc"] if part not in ("body", "query", "path")]
    name = ".".join(field)[:80]
    text = Text("{part}: that cannot be read.", part=name or Text("The question"))
    return _error_response(text, field[-1] if field else None)


def _error_response(text: Text, option: str | None, again: bool = False) -> JSONResponse:
    sentences = {language: encodable(sentence) for language, sentence in in_all_languages(text).items()}
    problem = {**sentences, "option": option and encodable(option), "again": again}
    return JSONResponse({"problem": problem}, NOT_YET if again else REFUSED)
