"""Routes of the Attention tab: the arithmetic of one weight, exact maps, query and key vectors, BertViz's pages."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import Field

from app import payload
from app.figures.attention import one_head, rollout
from app.routes.runs import InputRequest, binary_response, file_name, load_input
from app.service import attention_arithmetic, bertviz_frame
from app.service.attention_figures import arithmetic_figure, exact_view
from app.service.figure_payload import pack_figures
from app.service.runs.model_slots import exclusive_run
from core import InputError

router = APIRouter()


class SnapshotRequest(InputRequest):
    """A run, an input, and the training step of a snapshot."""

    step: int = Field(ge=0)


class HeadRequest(SnapshotRequest):
    point: str = Field(max_length=80)  # as on the tape: "blocks.0.attn"
    head: int = Field(ge=0)


class CellRequest(InputRequest):
    """One cell, (query, key), of every map at these steps and points."""

    steps: list[int] = Field(min_length=1, max_length=64)
    points: list[str] = Field(min_length=1, max_length=200)
    query: int = Field(ge=0)
    key: int = Field(ge=0)


class StackRequest(SnapshotRequest):
    points: list[str] = Field(min_length=1, max_length=200)  # one per layer


@router.post("/cells")
def weight_arithmetic(request: CellRequest) -> Response:
    """The arithmetic of one cell: the bars of its terms as a figure, its other numbers as (snapshot, layer, head)."""
    with exclusive_run(request.run) as run:
        table = attention_arithmetic.weight_arithmetic_table(
            run, load_input(request, run), request.steps, request.points, request.query, request.key
        )
    figure, numbers = arithmetic_figure(table)
    return binary_response(pack_figures({"terms": figure}, {"kind": table[0][0][0]["kind"]}, numbers))


@router.post("/head")
def exact_head(request: HeadRequest) -> Response:
    """One head's map as captured, for inputs so long that the maps of `/look` are pooled."""
    with exclusive_run(request.run) as run:
        model_input = load_input(request, run)
        weights, allowed = attention_arithmetic.exact_head(
            run, model_input, request.step, request.point, request.head
        )
        view = exact_view(run, model_input, request.point, request.step, weights, allowed, file_name(request.run))
    return binary_response(pack_figures({"one_head": one_head(view)}))


@router.post("/rollout")
def exact_rollout(request: StackRequest) -> Response:
    """Attention rollout up to the last of these layers."""
    with exclusive_run(request.run) as run:
        model_input = load_input(request, run)
        shares = attention_arithmetic.exact_rollout(run, model_input, request.step, request.points)
        view = exact_view(run, model_input, request.points[-1], request.step, shares, None, file_name(request.run))
    return binary_response(pack_figures({"one_head": rollout(view)}))


@router.post("/vectors")
def query_key_vectors(request: StackRequest) -> Response:
    """Queries and keys, (layer, head, time, unit) each."""
    with exclusive_run(request.run) as run:
        model_input = load_input(request, run)
        shapes = attention_arithmetic.query_key_shapes(run.model, model_input, request.points)
        _check_size(sum(shape.numel() for shape in shapes))
        queries, keys, scale = attention_arithmetic.query_key_vectors(run, model_input, request.step, request.points)
    return binary_response(payload.pack({"scale": scale}, {"queries": queries.numpy(), "keys": keys.numpy()}))


def _check_size(numbers: int) -> None:
    if numbers > bertviz_frame.MAX_NUMBERS:
        raise InputError(
            "Queries and keys are {numbers:,} numbers here, more than the {most_numbers:,} this view "
            "can hold. Try a shorter input.",
            numbers=numbers,
            most_numbers=bertviz_frame.MAX_NUMBERS,
        )


@router.get("/bertviz/{view}/{language}")
def bertviz_page(view: Literal["head", "model", "neuron"], language: Literal["en", "zh"]) -> Response:
    return Response(bertviz_frame.render_page(view, language), media_type="text/html; charset=utf-8")
