"""Heads of another run that are like the one in focus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import Field

from app import bridge, gallery
from app.routes.attention import Head
from app.routes.looks import AT_ONCE, problem_of

router = APIRouter()


class Search(Head):
    """A head, and the run in which others like it are looked for."""

    where: str = Field(max_length=200)


@router.post("/like")
def like(asked: Search) -> Response:
    run, other = (gallery.open_run(name).run for name in (asked.run, asked.where))
    with AT_ONCE:
        data = bridge.find(run, problem_of(asked), asked.step, asked.point, asked.head, other)
    return Response(data, media_type="application/octet-stream")
