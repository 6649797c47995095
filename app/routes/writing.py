"""What the Generate tab asks for: what a run writes or answers, and what it was asked in its training."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.routes.looks import Question, exclusive_run, problem_of
from app.service.build.controls import controls
from app.service.generation import answers, generation
from app.service.generation.training_example import example

router = APIRouter()
MOST_MASKS = 512


class Wish(Question):
    step: int = Field(ge=0)  # of the run's training
    how: dict[str, Any] = Field(default_factory=dict)


class Asked(Question):
    step: int = Field(ge=0)
    masks: list[int] | None = Field(None, max_length=MOST_MASKS)  # places; None: as in the input


class Sample(BaseModel):
    run: str = Field(max_length=80)
    number: int = Field(0, ge=0, le=10_000)


@router.get("/write")
def menu() -> dict[str, Any]:
    """The options of writing."""
    return {"options": controls(generation.options_offered())}


@router.post("/write")
def write(wish: Wish) -> Response:
    with exclusive_run(wish.run) as run:
        asked = generation.prompt_of(run, wish.text, wish.held_out or 0)
        data = generation.written(run, asked, wish.step, wish.how)
    return Response(data, media_type="application/octet-stream")


@router.post("/reply")
def reply(asked: Asked) -> Response:
    with exclusive_run(asked.run) as run:
        data = answers.reply(run, problem_of(asked, run), asked.step, asked.masks)
    return Response(data, media_type="application/octet-stream")


@router.post("/objective")
def training_example(sample: Sample) -> dict[str, Any]:
    with exclusive_run(sample.run) as run:
        return example(run, sample.number)
