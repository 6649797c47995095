"""Routes of plotly.js, served from the installed package so that the page needs no network, and of the figures' look."""

from __future__ import annotations

import gzip
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse

from app.figures.html import PLOTLY, page_html
from app.figures.theme import TEMPLATES

router = APIRouter(prefix="/ours")
CACHED = {"cache-control": "max-age=86400", "vary": "accept-encoding"}


@lru_cache(maxsize=1)
def compressed_plotly() -> bytes:
    return gzip.compress(PLOTLY.read_bytes(), 6)


@router.get("/plotly.min.js")
def plotly_bundle(request: Request) -> Response:
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(PLOTLY, media_type="text/javascript", headers=CACHED)
    headers = CACHED | {"content-encoding": "gzip"}
    return Response(compressed_plotly(), media_type="text/javascript", headers=headers)


@router.get("/templates.json")
def templates() -> dict[str, Any]:
    """Plotly's templates for light and dark."""
    return TEMPLATES


@router.get("/page.html")
def page_template() -> Response:
    """A page that holds the player and Plotly; the browser puts figures in place of __PAGE__ and saves it as a file."""
    text = page_html("__PAGE__", "InnerView", "__THEME__", "__LANGUAGE__").encode()
    headers = CACHED | {"content-encoding": "gzip"}
    return Response(gzip.compress(text, 6), media_type="text/html; charset=utf-8", headers=headers)
