"""Routes of the Gates tab: the terms behind the gates of each layer, and gradients through time."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import Field

from app.routes.runs import InputRequest, binary_response, load_input
from app.service import gate_gradients, gates
from app.service.gate_gradients import RunGradients
from app.service.runs import run_registry
from app.service.runs.model_slots import MODEL_SLOTS, exclusive_run
from core import InputError
from core.runs.run import Run

router = APIRouter()
PARITY_RUNS = ("parity-rnn", "parity-gru", "parity-lstm")  # one task, one recipe, three kinds of cell
RECURRENT_FAMILIES = ("rnn", "gru", "lstm")


class GradientRequest(InputRequest):
    """Gradients for this input, for inputs far longer than in training, or of three untrained cells."""

    of: Literal["input", "long", "untrained"] = "input"
    runs: list[str] = Field([], max_length=8)  # whose gradients; else those of the run itself
    layer: str = Field("", max_length=200)  # whose stack reads the tokens: "encoder.layers.0.fwd"


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
        runs = {"input": comparable_runs(name), "long": parity_runs(), "untrained": parity_runs()[:1]}
        return gates.pack_gates(run, load_input(request, run), runs, name)


@run_registry.cached
def packed_gradients(name: str, text: str | None, index: int | None, of: str) -> bytes:
    run = run_registry.open_run(name).run
    steps = [snapshot.step for snapshot in run.snapshots]
    if of == "input":
        batch = load_input(InputRequest(run=name, text=text, held_out=index)).batch
    elif name in parity_runs() and isinstance(run, Run):
        batch = gate_gradients.long_batch(run, gate_gradients.LONG_TOKENS)
    else:
        raise InputError("There are no long problems for the run {run!r}.", run=name)
    with MODEL_SLOTS:
        return gate_gradients.pack_gradients(steps, gate_gradients.gradients_through_time(run, batch))


@lru_cache(maxsize=1)
def packed_untrained() -> bytes:
    with MODEL_SLOTS:
        runs = [run_registry.open_run(name).run for name in parity_runs()]
        untrained = gate_gradients.untrained_gradients([run for run in runs if isinstance(run, Run)])
        return gate_gradients.pack_gradients([0], untrained)


@router.post("/gates")
def gate_terms(request: InputRequest) -> Response:
    return binary_response(packed_gates(request.run, request.text, request.held_out))


@router.post("/gates/gradients")
def gradients(request: GradientRequest) -> Response:
    if request.of == "untrained":
        lines = RunGradients.unpack(packed_untrained()).untrained_lines()
        return binary_response(gate_gradients.pack_gradient_figure(lines, "untrained", [], ""))
    own = request.of == "input"
    text, index = (request.text, request.held_out) if own else (None, None)
    page_run = run_registry.open_run(request.run).run
    stack = request.layer.partition("layers.")[0] if own else None
    lines = []
    for name in request.runs or [request.run]:
        family = run_registry.open_run(name).run.recipe.family
        answer = RunGradients.unpack(packed_gradients(name, text, index, request.of), family)
        lines += answer.lines([snapshot.step for snapshot in page_run.snapshots], stack)
    if not lines:
        raise InputError("This run has no recurrent layer {layer!r}.", layer=request.layer)
    model_input = load_input(InputRequest(run=request.run, text=request.text, held_out=request.held_out), page_run)
    axis = "given" if request.layer.startswith("decoder") else "source"
    tokens = model_input.decoder_tokens if axis == "given" else model_input.source
    return binary_response(gate_gradients.pack_gradient_figure(lines, request.of, tokens, axis))
