"""What all endpoints share: arguments are checked against their type hints, and every error is one sentence."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

import gradio as gr
from pydantic import Field, TypeAdapter, ValidationError

from app.i18n import encodable
from core import ConfigError, InputError

RunName = Annotated[str, Field(max_length=200)]
InputText = Annotated[str, Field(max_length=20_000)]
Name = Annotated[str, Field(max_length=200)]
Step = Annotated[int, Field(ge=0)]

logger = logging.getLogger(__name__)


def endpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or generator, as `gr.api` takes it: hints resolved, arguments checked, errors told by `gr.Error`."""
    signature, check = inspect.signature(function, eval_str=True), _argument_check(function)
    returns = signature.return_annotation

    @wraps(function)
    def call(*arguments: Any) -> Any:
        with errors_as_sentences():
            return function(*check(*arguments))

    @wraps(function)
    async def stream(*arguments: Any) -> AsyncIterator[Any]:
        with errors_as_sentences():
            async with aclosing(function(*check(*arguments))) as items:
                async for item in items:
                    yield item

    is_stream = inspect.isasyncgenfunction(function)
    wrapper: Any = stream if is_stream else call
    wrapper.__signature__ = signature.replace(return_annotation=get_args(returns)[0] if is_stream else returns)
    return wrapper


def _argument_check(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Gradio passes on whatever a client sends; this returns the arguments in the types of their hints."""
    hints = get_type_hints(function, include_extras=True)
    names = list(inspect.signature(function).parameters)
    adapters = {name: TypeAdapter(hints[name]) for name in names if hints[name] is not gr.Request}

    def check(*arguments: Any) -> list[Any]:
        checked = []
        for name, value in zip(names, arguments, strict=True):
            try:
                checked.append(adapters[name].validate_python(value) if name in adapters else value)
            except ValidationError as error:
                raise InputError("{part}: {why}.", part=name, why=error.errors()[0]["msg"]) from None
        return checked

    return check


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """The sentence of an error that is meant for people; of any other only that it happened, and the rest to the log."""
    try:
        yield
    except (InputError, ConfigError) as error:
        raise gr.Error(encodable(str(error)), print_exception=False) from error
    except gr.Error:
        raise
    except Exception as error:
        logger.exception("An endpoint failed")
        raise gr.Error(
            "This cannot be answered because of an error in the app; its log says more.", print_exception=False
        ) from error
