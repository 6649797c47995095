"""What the Build tab asks for: what can be chosen, a configuration's drawing, the numbers in it, and what it costs."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

import core
from app.routes.runs import HELD_OUT_SHOWN, MODEL_SLOTS, InputRequest, load_input
from app.service import payload
from app.service.build import activations, costs, model_plan
from app.service.runs import run_registry
from core import InputError
from core.config.families import Config

router = APIRouter(prefix="/build")
LONGEST = 64  # tokens in a drawing
MOST_OPTIONS = 4_000  # characters


class Choice(BaseModel):
    """A family, and the options that are not its defaults."""

    family: str = Field(max_length=40)
    options: dict[str, Any] = {}

    def config(self) -> Config:
        if len(json.dumps(self.options)) > MOST_OPTIONS:
            raise InputError("These are too many options.")
        return core.configure(self.family, **self.options)


class Drawing(Choice):
    time: int = Field(12, ge=1, le=LONGEST)
    target_time: int = Field(8, ge=1, le=LONGEST)


class Point(Drawing):
    """A tap, and perhaps the run and the input that are being looked at."""

    point: str = Field(max_length=120)
    run: str | None = Field(None, max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int | None = Field(None, ge=0, lt=HELD_OUT_SHOWN)

    def problem(self):
        asked = InputRequest(run=self.run, text=self.text, held_out=self.held_out)
        return load_input(asked)


@lru_cache(maxsize=128)
def planned(config: Config, time: int, target_time: int) -> bytes:
    return json.dumps(model_plan.plan(config, time, target_time), ensure_ascii=False).encode()


@router.get("")
def beginning() -> dict[str, Any]:
    return model_plan.offered()


@router.get("/of/{run:path}")
def of_run(run: str) -> dict[str, Any]:
    """The configuration of a run, to begin with."""
    config = run_registry.open_run(run).run.model.config
    return {"family": config.family, "options": model_plan.changed(config)}


@router.post("/plan")
def plan(choice: Drawing) -> Response:
    return Response(planned(choice.config(), choice.time, choice.target_time), media_type="application/json")


@router.post("/flow")
def flow(asked: Point) -> Response:
    problem = asked.problem() if asked.run is not None else None
    with MODEL_SLOTS:
        found = activations.flow(asked.config(), asked.point, asked.run, problem, asked.time, asked.target_time)
    return Response(payload.pack(*found), media_type="application/octet-stream")


class Length(Choice):
    length: int = Field(ge=1, le=4_096)


@router.post("/costs")
def predicted(choice: Choice) -> dict[str, Any]:
    return costs.predicted(choice.config())


@router.post("/measure")
def measured(asked: Length) -> dict[str, Any]:
    """One length at a time: the page shows each as it arrives, and may stop asking."""
    with MODEL_SLOTS:
        return costs.measured(asked.config(), asked.length)


@router.post("/layers")
def layers() -> list[dict[str, Any]]:
    with MODEL_SLOTS:
        return costs.layers()
