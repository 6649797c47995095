"""Route of the heads of another run that are most similar to the one in focus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import Field

from app.routes.runs import MODEL_SLOTS, InputRequest, binary_response, exclusive_run, load_input
from app.service import similar_heads
from app.service.inputs import input_from_text
from app.service.runs import run_registry

router = APIRouter()


class SimilarHeadsRequest(InputRequest):
    """A head, and the run whose heads are compared with it."""

    step: int = Field(ge=0)
    point: str = Field(max_length=80)
    head: int = Field(ge=0)
    where: str = Field(max_length=200)


@run_registry.cached
def head_profiles(name: str, text: str) -> similar_heads.HeadProfiles:
    """Profiles of all heads of a run at the end of its training, reading a text."""
    with exclusive_run(name) as run:
        return similar_heads.profile_heads(run, input_from_text(run, text), run.snapshots[-1].step)


@router.post("/like")
def most_similar_heads(request: SimilarHeadsRequest) -> Response:
    other_run = run_registry.open_run(request.where).run
    with exclusive_run(request.run) as run:
        model_input = load_input(request, run)
    candidates = head_profiles(request.where, model_input.text)
    with MODEL_SLOTS:
        data = similar_heads.pack_similar_heads(
            run,
            model_input,
            request.step,
            request.point,
            request.head,
            other_run,
            candidates,
            (request.run, request.where),
        )
    return binary_response(data)
