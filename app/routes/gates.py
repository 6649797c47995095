"""What the Gates tab asks for, once per input: the workings of each layer, and gradients through time."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from fastapi import APIRouter, Response

from app.routes.looks import MODEL_SLOTS, Question, exclusive_run, problem_of
from app.service import gates
from app.service.runs import run_registry
from core import InputError

router = APIRouter()
TRIO = ("parity-rnn", "parity-gru", "parity-lstm")  # one task, one recipe, three cells
RECURRENT = ("rnn", "gru", "lstm")


class GradientQuestion(Question):
    """Of this input; of problems much longer than those trained on; or of the three cells before any training."""

    of: Literal["input", "long", "untrained"] = "input"


def trio() -> list[str]:
    offered = {one["name"] for one in run_registry.list_runs()}
    return [name for name in TRIO if name in offered]


def peers(name: str) -> list[str]:
    """The recurrent runs that can read the same input: those of the very same task, one of each family."""
    run = run_registry.open_run(name).run
    chosen = {run.recipe.family: name}
    if run.recipe.family not in RECURRENT:
        return [name]
    likely = [one for one in run_registry.list_runs() if one["task"] == run.task.name and one["family"] in RECURRENT]
    for one in likely:
        if one["family"] not in chosen and run_registry.open_run(one["name"]).run.task == run.task:
            chosen[one["family"]] = one["name"]
    return [chosen[family] for family in RECURRENT if family in chosen]


@run_registry.cached
def packed_workings(name: str, text: str | None, index: int | None) -> bytes:
    question = Question(run=name, text=text, held_out=index)
    with exclusive_run(name) as run:
        return gates.pack_workings(run, problem_of(question, run), peers(name), trio())


@run_registry.cached
def packed_gradients(run: str, text: str | None, index: int | None, of: str) -> bytes:
    opened = run_registry.open_run(run).run
    steps = [snapshot.step for snapshot in opened.snapshots]
    if of == "input":
        batch = problem_of(Question(run=run, text=text, held_out=index)).batch
    elif run in trio():
        batch = gates.long_problems(opened, gates.LONG)
    else:
        raise InputError("There are no long problems for the run {run!r}.", run=run)
    with MODEL_SLOTS:
        return gates.pack_gradients(steps, gates.gradients_of(opened, batch))


@lru_cache(maxsize=1)
def packed_untrained() -> bytes:
    with MODEL_SLOTS:
        return gates.pack_gradients(
            [0], gates.untrained_gradients([run_registry.open_run(name).run for name in trio()])
        )


@router.post("/gates")
def workings(question: Question) -> Response:
    return _bytes(packed_workings(question.run, question.text, question.held_out))


@router.post("/gates/gradients")
def gradients(question: GradientQuestion) -> Response:
    if question.of == "untrained":
        return _bytes(packed_untrained())
    fixed = question.of == "long"
    asked = (None, None) if fixed else (question.text, question.held_out)
    return _bytes(packed_gradients(question.run, *asked, question.of))


def _bytes(data: bytes) -> Response:
    return Response(data, media_type="application/octet-stream")
