"""Route of the comparison of fine-tuning and training from scratch."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.service.experiments.fine_tuning import comparison

router = APIRouter(prefix="/fine-tuning")


@router.get("")
def get_comparison() -> dict[str, Any]:
    return comparison()
