"""Checkpoints: what one costs, loading it, how far that has come."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.service.checkpoints import checkpoint_runs

router = APIRouter(prefix="/checkpoints")


class Named(BaseModel):
    """A checkpoint's name, or what somebody typed for one: a folder below the root, an id on the hub."""

    name: str = Field(min_length=1, max_length=200)


@router.post("/about")
def about(asked: Named) -> dict[str, Any]:
    return checkpoint_runs.told(checkpoint_runs.asked_for(asked.name))


@router.post("/load")
def load(asked: Named) -> dict[str, Any]:
    place = checkpoint_runs.asked_for(asked.name)
    checkpoint_runs.begin(place)
    return checkpoint_runs.told(place)


@router.post("/stop")
def stop(asked: Named) -> dict[str, Any]:
    place = checkpoint_runs.asked_for(asked.name)
    checkpoint_runs.stop(place)
    return checkpoint_runs.told(place)
