"""Routes of the Gates tab: the terms behind the gates of each layer, and gradients through time."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from fastapi import APIRouter, Response

from app.routes.runs import MODEL_SLOTS, InputRequest, binary_response, exclusive_run, load_input
from app.service import gates
from app.service.runs import run_registry
from core import InputError
from core.runs.run import Run

router = APIRouter()
PARITY_RUNS = ("parity-rnn", "parity-gru", "parity-lstm")  # one task, one recipe, three kinds of cell
RECURRENT_FAMILIES = ("rnn", "gru", "lstm")


class GradientRequest(InputRequest):
    """Gradients for this input, for inputs far longer than in training, or of three untrained cells."""

    of: Literal["input", "long", "untrained"] = "input"


def parity_runs() -> list[str]:
    """Those of `PARITY_RUNS` that are offered."""
    offered = {entry["name"] for entry in run_registry.list_runs()}
    return [name for name in PARITY_RUNS if name in offered]


def comparable_runs(name: str) -> list[str]:
    """The recurrent runs of exactly the same task, which can read the same input, one of each family."""
    run = run_registry.open_run(name).run
    by_family = {run.recipe.family: name}
    if run.recipe.family not in RECURRENT_FAMILIES:
        return [name]
    for entry in run_registry.list_runs():
        family = entry["family"]
        if entry["task"] != run.task.name or family not in RECURRENT_FAMILIES or family in by_family:
            continue
        if run_registry.open_run(entry["name"]).run.task == run.task:
            by_family[family] = entry["name"]
    return [by_family[family] for family in RECURRENT_FAMILIES if family in by_family]


@run_registry.cached
def packed_gates(name: str, text: str | None, index: int | None) -> bytes:
    request = InputRequest(run=name, text=text, held_out=index)
    with exclusive_run(name) as run:
        return gates.pack_gates(run, load_input(request, run), comparable_runs(name), parity_runs())


@run_registry.cached
def packed_gradients(name: str, text: str | None, index: int | None, of: str) -> bytes:
    run = run_registry.open_run(name).run
    steps = [snapshot.step for snapshot in run.snapshots]
    if of == "input":
        batch = load_input(InputRequest(run=name, text=text, held_out=index)).batch
    elif name in parity_runs() and isinstance(run, Run):
        batch = gates.long_batch(run, gates.LONG_TOKENS)
    else:
        raise InputError("There are no long problems for the run {run!r}.", run=name)
    with MODEL_SLOTS:
        return gates.pack_gradients(steps, gates.gradients_through_time(run, batch))


@lru_cache(maxsize=1)
def packed_untrained() -> bytes:
    with MODEL_SLOTS:
        runs = [run_registry.open_run(name).run for name in parity_runs()]
        return gates.pack_gradients([0], gates.untrained_gradients([run for run in runs if isinstance(run, Run)]))


@router.post("/gates")
def gate_terms(request: InputRequest) -> Response:
    return binary_response(packed_gates(request.run, request.text, request.held_out))


@router.post("/gates/gradients")
def gradients(request: GradientRequest) -> Response:
    if request.of == "untrained":
        return binary_response(packed_untrained())
    text, index = (None, None) if request.of == "long" else (request.text, request.held_out)
    return binary_response(packed_gradients(request.run, text, index, request.of))
