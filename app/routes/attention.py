"""What the Attention tab asks for beyond a look: one cell's arithmetic, one exact map, vectors, BertViz's frames."""

from __future__ import annotations

from typing import Any, Literal

import torch
from fastapi import APIRouter, Response
from pydantic import Field

from app import arithmetic, bertviz_frame, gallery, payload
from app.routes.looks import AT_ONCE, Question, problem_of
from core import InputError

router = APIRouter()


class Moment(Question):
    """A run, an input, and a step of its training of which there is a snapshot."""

    step: int = Field(ge=0)


class Head(Moment):
    point: str = Field(max_length=80)  # as on the tape: "blocks.0.attn"
    head: int = Field(ge=0)


class Cell(Question):
    """One cell of every map at these steps and points."""

    steps: list[int] = Field(min_length=1, max_length=64)
    points: list[str] = Field(min_length=1, max_length=200)
    query: int = Field(ge=0)
    key: int = Field(ge=0)


class Stack(Moment):
    points: list[str] = Field(min_length=1, max_length=200)  # one per layer


@router.post("/cells")
def cells(asked: Cell) -> list[list[list[dict[str, Any]]]]:
    with AT_ONCE:
        run = gallery.open_run(asked.run).run
        return arithmetic.cells(run, problem_of(asked), asked.steps, asked.points, asked.query, asked.key)


@router.post("/head")
def head(asked: Head) -> Response:
    """(query, key) as captured: where an input is so long that the look's maps are pooled."""
    with AT_ONCE:
        run = gallery.open_run(asked.run).run
        weights, allowed = arithmetic.exact_head(run, problem_of(asked), asked.step, asked.point, asked.head)
    arrays = {"weights": weights.numpy()}
    if allowed is not None:
        arrays["allowed"] = allowed.to(torch.uint8).numpy()
    return Response(payload.pack({}, arrays), media_type="application/octet-stream")


@router.post("/rollout")
def rollout(asked: Stack) -> Response:
    """(query, key): attention rollout up to the last of these layers."""
    with AT_ONCE:
        run = gallery.open_run(asked.run).run
        reached = arithmetic.exact_rollout(run, problem_of(asked), asked.step, asked.points)
    return Response(payload.pack({}, {"weights": reached.numpy()}), media_type="application/octet-stream")


@router.post("/vectors")
def vectors(asked: Stack) -> Response:
    """Queries and keys, (layer, head, time, unit) each."""
    with AT_ONCE:
        run = gallery.open_run(asked.run).run
        queries, keys, scale = arithmetic.vectors(run, problem_of(asked), asked.step, asked.points)
    if queries.numel() + keys.numel() > bertviz_frame.MOST_NUMBERS:
        raise InputError(
            f"Queries and keys are {queries.numel() + keys.numel():,} numbers here, more than the "
            f"{bertviz_frame.MOST_NUMBERS:,} this view can hold. Try a shorter input.",
            f"此处的查询与键共 {queries.numel() + keys.numel():,} 个数，超过此视图的上限 "
            f"{bertviz_frame.MOST_NUMBERS:,}。请用更短的输入。",
        )
    arrays = {"queries": queries.numpy(), "keys": keys.numpy()}
    return Response(payload.pack({"scale": scale}, arrays), media_type="application/octet-stream")


@router.get("/bertviz/{view}/{language}")
def bertviz(view: Literal["head", "model", "neuron"], language: Literal["en", "zh"]) -> Response:
    return Response(bertviz_frame.page(view, language), media_type="text/html; charset=utf-8")
