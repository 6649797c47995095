"""Route of the arrays behind live figures: `payload` bytes at the addresses that `array_store` gives out."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Response

from app.routes.runs import binary_response
from app.service.array_store import array_store

router = APIRouter(prefix="/arrays")


@router.get("/{key}")
def arrays(key: str) -> Response:
    data = array_store.get(key)
    if data is None:
        raise HTTPException(410)  # forgotten: the page asks its question again
    response = binary_response(data)
    response.headers["cache-control"] = "private, max-age=86400, immutable"
    return response
