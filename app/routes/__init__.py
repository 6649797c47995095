"""The page's own routes beside Gradio's: what is too large or too quick for an event. Requests carry all they need."""

from __future__ import annotations

from fastapi import APIRouter

from app.routes import attention, build, gates, looks, positions, writing

router = APIRouter(prefix="/api")
for part in (looks, attention, build, gates, positions, writing):
    router.include_router(part.router)
