"""Routes of checkpoints: the size and cost of one, loading it, the progress of that."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.service.checkpoints import checkpoint_runs

router = APIRouter(prefix="/checkpoints")


class CheckpointBody(BaseModel):
    """The name of a checkpoint, or what was typed for one: a folder below the root, an id on the hub."""

    name: str = Field(min_length=1, max_length=200)


@router.post("/about")
def about(body: CheckpointBody) -> dict[str, Any]:
    return checkpoint_runs.describe(checkpoint_runs.find_location(body.name))


@router.post("/load")
def load(body: CheckpointBody) -> dict[str, Any]:
    location = checkpoint_runs.find_location(body.name)
    checkpoint_runs.start_loading(location)
    return checkpoint_runs.describe(location)


@router.post("/stop")
def stop(body: CheckpointBody) -> dict[str, Any]:
    location = checkpoint_runs.find_location(body.name)
    checkpoint_runs.stop_loading(location)
    return checkpoint_runs.describe(location)
