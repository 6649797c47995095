"""Routes of the Build tab: the diagram of a configuration, folded and unfolded while it is looked at, and as a file."""

from __future__ import annotations

from typing import Any

import pandas as pd
from fastapi import APIRouter, Response

from app import payload
from app.figures.diagram import Diagram
from app.service.build.requests import DiagramBody, DiagramFileBody

router = APIRouter(prefix="/build")


@router.post("/diagram")
def diagram(body: DiagramBody) -> Response:
    return Response(payload.to_json(shown_diagram(body.diagram())), media_type="application/json")


@router.post("/diagram/file")
def diagram_file(body: DiagramFileBody) -> dict[str, Any]:
    """As an SVG that stands alone, and every part as a row of a table."""
    diagram = body.diagram(body.theme)
    return {"svg": diagram.to_svg(body.title), "csv": pd.DataFrame(diagram.table()).to_csv(index=False)}


def shown_diagram(diagram: Diagram) -> dict[str, Any]:
    return {"svg": diagram.svg, "opened": diagram.open_ids, "caption": diagram.caption}
