"""Route of BertViz's views: pages for a sandboxed frame, without data."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response

from app.service import bertviz_frame

router = APIRouter()


@router.get("/bertviz/{view}/{language}")
def bertviz_page(view: Literal["head", "model", "neuron"], language: Literal["en", "zh"]) -> Response:
    return Response(bertviz_frame.render_page(view, language), media_type="text/html; charset=utf-8")
