"""The page's own routes beside Gradio's: what is too large or too quick for an event. Requests carry all they need."""

from __future__ import annotations

from fastapi import APIRouter

from app.routes import attention, bridge, build, checkpoints, fine_tuning, gates, looks, positions, train, writing

router = APIRouter(prefix="/api")
for part in (looks, attention, bridge, build, checkpoints, fine_tuning, gates, positions, train, writing):
    router.include_router(part.router)
