"""What the Generate tab asks for: what can be chosen, and what a run writes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from app import gallery, writing
from app.controls import controls
from app.routes.looks import AT_ONCE, Question
from core.decoding import Decoding

router = APIRouter(prefix="/write")


class Wish(Question):
    step: int = Field(ge=0)  # of the run's training
    how: dict[str, Any] = Field(default_factory=dict)


@router.get("")
def menu() -> dict[str, Any]:
    """The options of writing."""
    return {"options": controls(Decoding.options())}


@router.post("")
def write(wish: Wish) -> Response:
    with AT_ONCE:
        run = gallery.open_run(wish.run).run
        asked = writing.prompt_of(run, wish.text, wish.held_out or 0)
        data = writing.written(run, asked, wish.step, wish.how)
    return Response(data, media_type="application/octet-stream")
