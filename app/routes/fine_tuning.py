"""What pretraining is worth, by the number of labels."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.service.experiments.fine_tuning import comparison

router = APIRouter(prefix="/fine-tuning")


@router.get("")
def found() -> dict[str, Any]:
    return comparison()
