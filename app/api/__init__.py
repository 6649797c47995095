"""The public API: plain functions as named endpoints of the Gradio page, for `gradio_client`, HTTP and MCP clients.

Their type hints and docstrings are the documentation that clients get. Whatever else the page listens to is private.
"""

from __future__ import annotations

import gradio as gr

from app.api.endpoint import endpoint
from app.api.models import build, models
from app.api.reading import capture, evaluate, figure, generate, look, measures, runs
from app.api.training import train
from app.service.runs.model_slots import MODELS_AT_ONCE

RUNNING_MODELS = (look, capture, evaluate, generate, measures, figure)
WITHOUT_MODELS = (models, build, runs, train)  # training has workers and limits of its own


def add_api() -> None:
    """Register the endpoints on the page that is being built."""
    for function in WITHOUT_MODELS:
        gr.api(endpoint(function), api_name=function.__name__, concurrency_limit=None)
    for function in RUNNING_MODELS:
        gr.api(
            endpoint(function),
            api_name=function.__name__,
            concurrency_id="api_models",  # a queue beside that of the page's own events
            concurrency_limit=MODELS_AT_ONCE,
        )
