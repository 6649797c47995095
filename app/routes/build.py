"""Routes of the Build tab: its menu, the plan of a configuration, activations at a point, and costs."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

import core
from app import payload
from app.routes.runs import HELD_OUT_SHOWN, MODEL_SLOTS, InputRequest, load_input
from app.service.build import activations, costs, model_plan
from app.service.inputs import ModelInput
from app.service.runs import run_registry
from core import InputError
from core.config.families import Config

router = APIRouter(prefix="/build")
MAX_TOKENS = 64  # of the sequences whose shapes are shown
MAX_OPTIONS_CHARACTERS = 4_000


class ConfigBody(BaseModel):
    """A family, and the options that are not its defaults."""

    family: str = Field(max_length=40)
    options: dict[str, Any] = {}

    def config(self) -> Config:
        if len(json.dumps(self.options)) > MAX_OPTIONS_CHARACTERS:
            raise InputError("These are too many options.")
        return core.configure(self.family, **self.options)


class PlanBody(ConfigBody):
    time: int = Field(12, ge=1, le=MAX_TOKENS)
    target_time: int = Field(8, ge=1, le=MAX_TOKENS)


class FlowBody(PlanBody):
    """A capture point, and optionally the selected run and input."""

    point: str = Field(max_length=120)
    run: str | None = Field(None, max_length=200)
    text: str | None = Field(None, max_length=20_000)
    held_out: int | None = Field(None, ge=0, lt=HELD_OUT_SHOWN)

    def problem(self) -> ModelInput | None:
        if self.run is None:
            return None
        return load_input(InputRequest(run=self.run, text=self.text, held_out=self.held_out))


@lru_cache(maxsize=128)
def plan_json(config: Config, time: int, target_time: int) -> bytes:
    return json.dumps(model_plan.plan(config, time, target_time), ensure_ascii=False).encode()


@router.get("")
def menu() -> dict[str, Any]:
    return model_plan.build_menu()


@router.get("/of/{run:path}")
def run_config(run: str) -> dict[str, Any]:
    config = run_registry.open_run(run).run.recipe.model
    return {"family": config.family, "options": model_plan.non_default_options(config)}


@router.post("/plan")
def plan(body: PlanBody) -> Response:
    return Response(plan_json(body.config(), body.time, body.target_time), media_type="application/json")


@router.post("/flow")
def flow(body: FlowBody) -> Response:
    problem = body.problem()
    with MODEL_SLOTS:
        header, arrays = activations.point_activations(
            body.config(), body.point, body.run, problem, body.time, body.target_time
        )
    return Response(payload.pack(header, arrays), media_type="application/octet-stream")


class LengthBody(ConfigBody):
    length: int = Field(ge=1, le=4_096)


@router.post("/costs")
def predicted_costs(body: ConfigBody) -> dict[str, Any]:
    return costs.predict_costs(body.config())


@router.post("/measure")
def measured_costs(body: LengthBody) -> dict[str, Any]:
    """At one length per request: the page shows each as it arrives and can stop in between."""
    with MODEL_SLOTS:
        return costs.measure_costs(body.config(), body.length)


@router.post("/layers")
def layers() -> list[dict[str, Any]]:
    with MODEL_SLOTS:
        return costs.compare_layers()
