"""Route of plotly.js, served from the installed package so that the page needs no network."""

from __future__ import annotations

from pathlib import Path

import plotly
from fastapi import APIRouter
from fastapi.responses import FileResponse

router = APIRouter(prefix="/ours")
PLOTLY = Path(plotly.__file__).parent / "package_data/plotly.min.js"


@router.get("/plotly.min.js")
def plotly_bundle() -> FileResponse:
    return FileResponse(PLOTLY, media_type="text/javascript", headers={"cache-control": "max-age=86400"})
