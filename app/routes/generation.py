"""Routes of the Generate tab: generated text, answers, and examples of the run's training."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.figures.training_example import training_example as draw_example
from app.routes.runs import InputRequest, binary_response, load_input
from app.service.build.controls import controls
from app.service.figure_payload import pack_figures
from app.service.generation import answers, generation
from app.service.generation.training_example import describe_example
from app.service.runs.model_slots import exclusive_run

router = APIRouter()
MAX_MASKS = 512


class GenerationRequest(InputRequest):
    step: int = Field(ge=0)  # of the run's training
    how: dict[str, Any] = Field(default_factory=dict)  # options of `core.decoding.Decoding`


class AnswerRequest(InputRequest):
    step: int = Field(ge=0)
    masks: list[int] | None = Field(None, max_length=MAX_MASKS)  # positions; None: as in the input


class TrainingExampleRequest(BaseModel):
    run: str = Field(max_length=80)
    number: int = Field(0, ge=0, le=10_000)


@router.get("/write")
def decoding_options() -> dict[str, Any]:
    return {"options": controls(generation.decoding_options())}


@router.post("/write")
def generate(request: GenerationRequest) -> Response:
    with exclusive_run(request.run) as run:
        prompt = generation.make_prompt(run, request.text, request.held_out or 0)
        data = generation.pack_generation(run, prompt, request.step, request.how, request.run)
    return binary_response(data)


@router.post("/reply")
def answer(request: AnswerRequest) -> Response:
    with exclusive_run(request.run) as run:
        data = answers.pack_answer(run, load_input(request, run), request.step, request.masks, request.run)
    return binary_response(data)


@router.post("/objective")
def training_example(request: TrainingExampleRequest) -> Response:
    with exclusive_run(request.run) as run:
        example = describe_example(run, request.number)
    return binary_response(pack_figures({"example": draw_example(example, request.run)}, example))
