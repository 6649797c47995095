"""Routes of the Positions tab: figures of each position scheme, and accuracies of models trained with each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app import payload
from app.figures import position_schemes as figures
from app.figures.live import Live
from app.routes.runs import binary_response
from app.service import positions
from app.service.experiments.extrapolation import comparison
from app.service.figure_payload import figure_parts, pack_figures
from app.service.positions import SLIDERS

router = APIRouter(prefix="/positions")


class SinusoidalRequest(BaseModel):
    d_model: int = SLIDERS["d_model"].default
    length: int = SLIDERS["length"].default


class RopeRequest(BaseModel):
    d_head: int = SLIDERS["d_head"].default
    length: int = SLIDERS["length"].default
    seed: int = SLIDERS["seed"].default


class AlibiRequest(BaseModel):
    n_heads: int = SLIDERS["n_heads"].default
    side: int = SLIDERS["side"].default


class T5BucketsRequest(BaseModel):
    n_buckets: int = SLIDERS["n_buckets"].default
    max_distance: int = SLIDERS["max_distance"].default
    side: int = SLIDERS["side"].default


class NoPositionsRequest(BaseModel):
    text: str = Field(max_length=400)
    order: Literal["shuffle", "reverse"] = "shuffle"
    seed: int = SLIDERS["seed"].default


class TrainedPositionsRequest(BaseModel):
    run: str = Field(max_length=200)


def packed(
    compute: Callable[..., payload.Parts],
    draw: Callable[[dict[str, Any], dict[str, np.ndarray]], dict[str, Live]],
    **options: Any,
) -> bytes:
    header, arrays = compute(**options)
    return pack_figures(draw(header, arrays), header, arrays)


cached = lru_cache(maxsize=64)(packed)  # for arrays that depend on their options alone


@router.get("")
def sliders_and_comparison() -> dict[str, Any]:
    """Ranges of the sliders, and the accuracy of each scheme beyond the lengths of training."""
    specs, _ = figure_parts({"effect": figures.effect(comparison())})  # it holds its few numbers itself
    limits = {name: asdict(slider) for name, slider in SLIDERS.items()}
    return {"limits": limits, "comparison": comparison(), "figures": specs}


@router.post("/sinusoidal")
def sinusoidal(request: SinusoidalRequest) -> Response:
    return binary_response(cached(positions.sinusoidal, figures.sinusoidal_figures, **request.model_dump()))


@router.post("/rope")
def rope(request: RopeRequest) -> Response:
    return binary_response(cached(positions.rope, figures.rope_figures, **request.model_dump()))


@router.post("/alibi")
def alibi(request: AlibiRequest) -> Response:
    return binary_response(cached(positions.alibi, figures.alibi_figures, **request.model_dump()))


@router.post("/t5")
def t5(request: T5BucketsRequest) -> Response:
    return binary_response(cached(positions.t5, figures.t5_bucket_figures, **request.model_dump()))


@router.post("/none")
def no_positions(request: NoPositionsRequest) -> Response:
    return binary_response(cached(positions.no_positions, figures.reordered_figures, **request.model_dump()))


@router.post("/learned")
def learned(request: TrainedPositionsRequest) -> Response:
    return binary_response(
        packed(positions.learned, figures.learned_figures, run=request.run)
    )  # not cached: a run may go on training


@router.post("/t5-trained")
def t5_trained(request: TrainedPositionsRequest) -> Response:
    return binary_response(packed(positions.t5_trained, figures.t5_bias_figures, run=request.run))
