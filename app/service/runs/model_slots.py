"""Slots for running models: at most `MODEL_SLOTS` models run at the same time, in all sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from app.service.inputs import AnyRun
from app.service.runs import run_registry

MODELS_AT_ONCE = 2
MODEL_SLOTS = threading.Semaphore(MODELS_AT_ONCE)


@contextmanager
def exclusive_run(name: str) -> Iterator[AnyRun]:
    """An open run and one of the `MODEL_SLOTS`, taken after opening, since a checkpoint may take long to load."""
    run = run_registry.open_run(name).run
    with MODEL_SLOTS:
        yield run
