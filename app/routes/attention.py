"""What the Attention tab asks for beyond a look: one cell's arithmetic, one exact map, vectors, BertViz's frames."""

from __future__ import annotations

from typing import Any, Literal

import torch
from fastapi import APIRouter, Response
from pydantic import Field

from app.routes.looks import Question, exclusive_run, problem_of
from app.service import attention_arithmetic, bertviz_frame, payload
from core import InputError

router = APIRouter()


class TrainingEvent(Question):
    """A run, an input, and a step of its training of which there is a snapshot."""

    step: int = Field(ge=0)


class Head(TrainingEvent):
    point: str = Field(max_length=80)  # as on the tape: "blocks.0.attn"
    head: int = Field(ge=0)


class Cell(Question):
    """One cell of every map at these steps and points."""

    steps: list[int] = Field(min_length=1, max_length=64)
    points: list[str] = Field(min_length=1, max_length=200)
    query: int = Field(ge=0)
    key: int = Field(ge=0)


class Stack(TrainingEvent):
    points: list[str] = Field(min_length=1, max_length=200)  # one per layer


@router.post("/cells")
def cells(asked: Cell) -> list[list[list[dict[str, Any]]]]:
    with exclusive_run(asked.run) as run:
        return attention_arithmetic.cells(
            run, problem_of(asked, run), asked.steps, asked.points, asked.query, asked.key
        )


@router.post("/head")
def head(asked: Head) -> Response:
    """(query, key) as captured: where an input is so long that the look's maps are pooled."""
    with exclusive_run(asked.run) as run:
        weights, allowed = attention_arithmetic.exact_head(
            run, problem_of(asked, run), asked.step, asked.point, asked.head
        )
    arrays = {"weights": weights.numpy()}
    if allowed is not None:
        arrays["allowed"] = allowed.to(torch.uint8).numpy()
    return Response(payload.pack({}, arrays), media_type="application/octet-stream")


@router.post("/rollout")
def rollout(asked: Stack) -> Response:
    """(query, key): attention rollout up to the last of these layers."""
    with exclusive_run(asked.run) as run:
        reached = attention_arithmetic.exact_rollout(run, problem_of(asked, run), asked.step, asked.points)
    return Response(payload.pack({}, {"weights": reached.numpy()}), media_type="application/octet-stream")


@router.post("/vectors")
def vectors(asked: Stack) -> Response:
    """Queries and keys, (layer, head, time, unit) each."""
    with exclusive_run(asked.run) as run:
        problem = problem_of(asked, run)
        _check_room(sum(size.numel() for size in attention_arithmetic.vector_sizes(run.model, problem, asked.points)))
        queries, keys, scale = attention_arithmetic.vectors(run, problem, asked.step, asked.points)
    arrays = {"queries": queries.numpy(), "keys": keys.numpy()}
    return Response(payload.pack({"scale": scale}, arrays), media_type="application/octet-stream")


def _check_room(numbers: int) -> None:
    if numbers > bertviz_frame.MOST_NUMBERS:
        raise InputError(
            "Queries and keys are {numbers:,} numbers here, more than the {most_numbers:,} this view "
            "can hold. Try a shorter input.",
            numbers=numbers,
            most_numbers=bertviz_frame.MOST_NUMBERS,
        )


@router.get("/bertviz/{view}/{language}")
def bertviz(view: Literal["head", "model", "neuron"], language: Literal["en", "zh"]) -> Response:
    return Response(bertviz_frame.page(view, language), media_type="text/html; charset=utf-8")
