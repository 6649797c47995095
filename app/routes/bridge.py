"""Heads of another run that are like the one in focus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import Field

from app.routes.attention import Head
from app.routes.looks import MODEL_SLOTS, exclusive_run, problem_of
from app.service import similar_heads
from app.service.inputs import typed
from app.service.runs import run_registry

router = APIRouter()


class Search(Head):
    """A head, and the run in which others like it are looked for."""

    where: str = Field(max_length=200)


@run_registry.cached
def overview(name: str, text: str) -> similar_heads.Seen:
    """All heads of a run at the end of its training, reading a text."""
    with exclusive_run(name) as run:
        return similar_heads.look_over(run, typed(run, text), run.snapshots[-1].step)


@router.post("/like")
def like(asked: Search) -> Response:
    other = run_registry.open_run(asked.where).run
    with exclusive_run(asked.run) as run:
        problem = problem_of(asked, run)
    there = overview(asked.where, problem.text)
    with MODEL_SLOTS:
        data = similar_heads.find(run, problem, asked.step, asked.point, asked.head, other, there)
    return Response(data, media_type="application/octet-stream")
