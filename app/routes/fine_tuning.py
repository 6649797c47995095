"""Route of the comparison of fine-tuning and training from scratch."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from app.routes.runs import binary_response
from app.service.experiments.fine_tuning import comparison, comparison_figure

router = APIRouter(prefix="/fine-tuning")


@router.get("")
def get_comparison() -> dict[str, Any]:
    return comparison()


@router.get("/figure")
def get_figure() -> Response:
    return binary_response(comparison_figure())
