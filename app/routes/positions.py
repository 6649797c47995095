"""Pictures of the position schemes, and the comparison of models trained with each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.service import payload, positions
from app.service.experiments.extrapolation import comparison
from app.service.positions import LIMITS

router = APIRouter(prefix="/positions")


class Sinusoidal(BaseModel):
    d_model: int = LIMITS["d_model"].default
    length: int = LIMITS["length"].default


class Rope(BaseModel):
    d_head: int = LIMITS["d_head"].default
    length: int = LIMITS["length"].default
    seed: int = LIMITS["seed"].default


class Alibi(BaseModel):
    n_heads: int = LIMITS["n_heads"].default
    side: int = LIMITS["side"].default


class T5(BaseModel):
    n_buckets: int = LIMITS["n_buckets"].default
    max_distance: int = LIMITS["max_distance"].default
    side: int = LIMITS["side"].default


class Trained(BaseModel):
    run: str = Field(max_length=200)


class Nowhere(BaseModel):
    text: str = Field(max_length=400)
    order: Literal["shuffle", "reverse"] = "shuffle"
    seed: int = LIMITS["seed"].default


def packed(picture: Callable[..., positions.Picture], **options: Any) -> bytes:
    return payload.pack(*picture(**options))


kept = lru_cache(maxsize=64)(packed)  # for what depends on its options alone; a run may go on training


def answer(pack: Callable[..., bytes], picture: Callable[..., positions.Picture], question: BaseModel) -> Response:
    return Response(pack(picture, **question.model_dump()), media_type="application/octet-stream")


@router.get("")
def beginning() -> dict[str, Any]:
    """What the sliders may be, and how far each scheme carries beyond the lengths of training."""
    return {"limits": {name: asdict(limit) for name, limit in LIMITS.items()}, "comparison": comparison()}


@router.post("/sinusoidal")
def sinusoidal(question: Sinusoidal) -> Response:
    return answer(kept, positions.sinusoidal, question)


@router.post("/rope")
def rope(question: Rope) -> Response:
    return answer(kept, positions.rope, question)


@router.post("/alibi")
def alibi(question: Alibi) -> Response:
    return answer(kept, positions.alibi, question)


@router.post("/t5")
def t5(question: T5) -> Response:
    return answer(kept, positions.t5, question)


@router.post("/none")
def none(question: Nowhere) -> Response:
    return answer(kept, positions.none, question)


@router.post("/learned")
def learned(question: Trained) -> Response:
    return answer(packed, positions.learned, question)


@router.post("/t5-trained")
def t5_trained(question: Trained) -> Response:
    return answer(packed, positions.t5_trained, question)
