"""Routes of the Train tab: the runs a browser knows, and their stream of events."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from app.service.runs.job_service import is_run_key
from app.service.training.commands import known_jobs
from app.service.training.event_stream import stream_events

router = APIRouter(prefix="/train")
MAX_KEYS = 100


class KeysBody(BaseModel):
    keys: list[str] = Field(max_length=MAX_KEYS)


@router.post("/known")
def known(body: KeysBody) -> list[Any]:
    return known_jobs(body.keys)


@router.get("/stream")
async def stream(keys: str = Query(max_length=25 * MAX_KEYS)) -> StreamingResponse:
    run_keys = [key for key in dict.fromkeys(keys.split(",")) if is_run_key(key)]
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream_events(run_keys[:MAX_KEYS]), media_type="text/event-stream", headers=headers)
