"""Events of the page: typed Python functions that answer a question, with refusals as a sentence where it was asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gradio as gr

from app.components.live_plot import LiveText, text_value
from core import ConfigError, InputError

RETRY_SECONDS = 0.5  # a refusal that will pass, as while a checkpoint is being loaded, is tried again
MODELS, MODEL_EVENTS = "models", 4  # events that run a model share one queue, so that others never wait for them


def ask(
    triggers: Sequence[Callable[..., Any]] | Callable[..., Any],
    answer: Callable[..., Sequence[Any] | Iterator[Sequence[Any]]],
    inputs: Sequence[gr.components.Component],
    outputs: Sequence[gr.blocks.Block],
    problem: LiveText,
    *,
    runs_model: bool = False,
    cancels: Sequence[Any] = (),
) -> Any:
    """Calls `answer(*inputs)` at the triggers and writes what it returns, in order, into the outputs; of a generator, each of
    what it yields. The event is returned, for others to cancel it (`cancels`).

    A refusal (`InputError`, `ConfigError`) is written into `problem` and leaves the outputs as they are. Only the newest of
    several waiting questions is answered.
    """

    def respond(*values: Any) -> Iterator[dict[Any, Any]]:
        while True:
            try:
                answered = answer(*values)
                for answers in answered if isinstance(answered, Iterator) else [answered]:
                    yield {problem: None, **dict(zip(outputs, answers, strict=True))}
            except (InputError, ConfigError) as error:
                yield {problem: text_value(error.text)}
                if not getattr(error, "again", False):
                    return
                time.sleep(RETRY_SECONDS)
                continue
            return

    return gr.on(
        triggers,
        respond,
        list(inputs),
        [problem, *outputs],
        show_progress="hidden",
        trigger_mode="always_last",
        concurrency_id=MODELS if runs_model else None,
        concurrency_limit=MODEL_EVENTS if runs_model else None,
        cancels=list(cancels),
        api_visibility="private",
    )
