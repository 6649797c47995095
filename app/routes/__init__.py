"""The page's own HTTP routes beside Gradio's, for answers that are too large or too frequent for an event.

Requests are stateless: each names its run and input.
"""

from __future__ import annotations

from fastapi import APIRouter

from app.routes import (
    arrays,
    attention,
    build,
    checkpoints,
    exports,
    fine_tuning,
    gates,
    runs,
    train,
)

router = APIRouter(prefix="/api")
for part in (
    runs,
    arrays,
    exports,
    attention,
    build,
    checkpoints,
    fine_tuning,
    gates,
    train,
):
    router.include_router(part.router)
