"""Routes of the Build tab: its menu, the plan of a configuration with its diagram, activations at a point, and costs."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

import pandas as pd
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, NonNegativeInt

from app import payload
from app.figures.build import activations as figure
from app.figures.build import parameter_treemap
from app.figures.diagram import Diagram
from app.i18n import TRANSLATIONS
from app.routes.runs import HELD_OUT_SHOWN, InputRequest, load_input
from app.service.build import activations, costs, model_plan
from app.service.figure_payload import figure_parts, pack_figures
from app.service.inputs import ModelInput
from app.service.runs import run_registry
from app.service.runs.model_slots import MODEL_SLOTS
from core.config.families import Config

router = APIRouter(prefix="/build")
MAX_TOKENS = 64  # of the sequences whose shapes are shown
MAX_PARTS = 5_000  # that may be unfolded
MAX_LENGTH = 4_096  # tokens of a measurement
MAX_SECONDS, MAX_NUMBER = 3_600.0, 10**18  # of a measurement
PartId = Annotated[str, Field(max_length=200)]


class ConfigBody(BaseModel):
    """A family, and the options that are not its defaults."""

    family: str = Field(max_length=40)
    options: dict[str, Any] = {}

    def config(self) -> Config:
        return model_plan.checked_config(self.family, self.options)


class PlanBody(ConfigBody):
    time: int = Field(12, ge=1, le=MAX_TOKENS)
    target_time: int = Field(8, ge=1, le=MAX_TOKENS)

    def plan(self) -> dict[str, Any]:
        return cached_plan(self.config(), self.time, self.target_time)


class FoldBody(BaseModel):
    """What of a diagram is unfolded (None: the first level), drawn over time, and the number within each folded group."""

    opened: list[PartId] | None = Field(None, max_length=MAX_PARTS)
    unrolled: list[PartId] = Field([], max_length=MAX_PARTS)
    index: dict[PartId, NonNegativeInt] = Field({}, max_length=MAX_PARTS)


class DiagramBody(PlanBody):
    fold: FoldBody = FoldBody()
    language: str = Field("en", max_length=10)

    def diagram(self, theme: str | None = None) -> Diagram:
        language = self.language if self.language in TRANSLATIONS else "en"
        return model_plan.diagram_of(self.plan(), self.fold.model_dump(), language, theme)


class DiagramFileBody(DiagramBody):
    title: str = Field("", max_length=80)
    theme: Literal["light", "dark"] = "light"


class CompareBody(BaseModel):
    first: PlanBody
    second: PlanBody


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


@lru_cache(maxsize=64)
def cached_plan(config: Config, time: int, target_time: int) -> dict[str, Any]:
    plan = model_plan.plan(config, time, target_time)
    figures, _ = figure_parts({"treemap": parameter_treemap(plan)})
    return {**plan, "figures": figures}


def shown_diagram(body: DiagramBody) -> dict[str, Any]:
    diagram = body.diagram()
    return {"svg": diagram.svg, "opened": diagram.open_ids, "caption": diagram.caption}


@router.get("")
def menu() -> dict[str, Any]:
    return model_plan.build_menu()


@router.get("/of/{run:path}")
def run_config(run: str) -> dict[str, Any]:
    config = run_registry.open_run(run).run.recipe.model
    return {"family": config.family, "options": model_plan.non_default_options(config)}


@router.post("/plan")
def plan(body: DiagramBody) -> Response:
    return _json({**body.plan(), "diagram": shown_diagram(body)})


@router.post("/diagram")
def diagram(body: DiagramBody) -> Response:
    """The same model folded or unfolded otherwise."""
    return _json(shown_diagram(body))


@router.post("/diagram/file")
def diagram_file(body: DiagramFileBody) -> dict[str, Any]:
    """As an SVG that stands alone, and every part as a row of a table."""
    diagram = body.diagram(body.theme)
    return {"svg": diagram.to_svg(body.title), "csv": pd.DataFrame(diagram.table()).to_csv(index=False)}


@router.post("/compare")
def compare(body: CompareBody) -> dict[str, Any]:
    return model_plan.compare_plans(body.first.plan(), body.second.plan())


@router.post("/flow")
def flow(body: FlowBody) -> Response:
    problem, config = body.problem(), body.config()
    with MODEL_SLOTS:
        header, arrays = activations.point_activations(
            config, body.point, body.run, problem, body.time, body.target_time
        )
    view = activations.activations_view(config, body.point, header, arrays["values"])
    header["heads"], header["head_axis"] = view.values.shape[1], ([*view.axes, "", ""])[1]
    return Response(pack_figures({"activations": figure(view)}, header), media_type="application/octet-stream")


class MeasuredBody(BaseModel):
    """A measurement, as `/measure` gave it."""

    n: int = Field(ge=1, le=MAX_LENGTH)
    seconds: float = Field(gt=0, le=MAX_SECONDS)
    flops: int = Field(ge=0, le=MAX_NUMBER)
    activation_bytes: int = Field(ge=0, le=MAX_NUMBER)
    saved_bytes: int = Field(ge=0, le=MAX_NUMBER)


class MeasureBody(ConfigBody):
    length: int = Field(ge=1, le=MAX_LENGTH)
    measured: list[MeasuredBody] = Field([], max_length=len(costs.LENGTHS))  # what is known so far


@router.post("/costs")
def predicted_costs(body: ConfigBody) -> dict[str, Any]:
    predicted = costs.predict_costs(body.config())
    return {**predicted, "figures": figure_parts(costs.cost_figures(predicted, []))[0]}


@router.post("/measure")
def measured_costs(body: MeasureBody) -> dict[str, Any]:
    """At one length per request: the page shows each as it arrives and can stop in between."""
    config = body.config()
    with MODEL_SLOTS:
        cost = costs.measure_costs(config, body.length)
    known = [*(one.model_dump() for one in body.measured), cost]
    return {**cost, "figures": figure_parts(costs.cost_figures(costs.predict_costs(config), known))[0]}


def _json(answer: dict[str, Any]) -> Response:
    return Response(payload.to_json(answer), media_type="application/json")
