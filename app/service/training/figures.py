"""Figures of the Train tab: described here for the runs a page shows; their numbers reach it by the stream of events."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.figures.expressions import Choose, Expression, Fill, Format, State
from app.figures.live import Live
from app.figures.train_charts import learning_curves
from app.figures.train_inside import InsideView, SmallMap, inside, token_names
from app.figures.train_view import COLUMNS, RunHistory, TrainEvent, TrainView
from app.i18n import TRANSLATIONS, translate_all, translate_message
from app.service.runs.job_service import job_service
from app.service.training import requests
from core import InputError
from core.jobs import Job
from core.jobs.worker.probe import ProbeResult
from core.jobs.worker.probe_maps import GateMap, HeadMap

GATE_NAMES = {
    "input": Format("input"),
    "forget": Format("forget"),
    "output": Format("output"),
    "reset": Format("reset"),
    "update": Format("update"),
    "candidate": Format("candidate"),
    "hidden": Format("hidden"),
    "cell": Format("cell state"),
}
SIGNED = ("hidden", "cell", "candidate")
TWO_COLUMNS, STEP = 760, 20  # px of both columns, as in static/css/train.css; of a width that is described anew


@dataclass
class ShownRun:
    """A run on a page's charts: its number and name there, and whether what was before a rewind is to be seen too."""

    key: str
    number: int
    name: str
    rewound: bool


def charts(runs: list[ShownRun], focus: str, width: int, timed: bool) -> dict[str, Any]:
    histories = [_history(job, shown) for shown in runs if (job := job_service.find(shown.key)) is not None]
    if not histories:
        raise InputError("There is no such run.")
    live = learning_curves(TrainView(histories, focus, width, timed))
    return live.spec(translate_message, list(TRANSLATIONS))


def _history(job: Job, shown: ShownRun) -> RunHistory:
    events = [
        TrainEvent(
            event["step"],
            Choose(State("language"), event["text"]),
            event.get("head") is not None,
            event["text"]["en"] == "the task is solved",
            event["text"]["en"].endswith("leaves chance"),
        )
        for event in translate_all(job.probe_results.events)
    ]
    return RunHistory(
        job.key,
        shown.number,
        shown.name,
        job.recipe.training.steps,
        before=np.zeros((0, len(COLUMNS))) if shown.rewound else None,
        status=job.status,
        chance=job.recipe.task.chance,
        goal=requests.accuracy_goal(job.recipe),
        held_out=job.probe_results.accuracy,
        events=events,
    )


def inside_maps(key: str, probe: ProbeResult, width: int) -> Live:
    """The small maps of a probe of a run, in so many px."""
    layers = {gate["name"] for gate in probe["gates"]}
    maps = [_head(head) for head in probe["heads"]] + [_gate(gate, len(layers) > 1) for gate in probe["gates"]]
    return inside(InsideView(key, maps, probe["step"], width))


def _head(head: HeadMap) -> SmallMap:
    rows, columns, pooled = head["rows"], head["columns"], head["pooled"]
    return SmallMap(
        f"{head['name']} {head['head']}",
        _head_name(head),
        token_names(head["queries"], rows, pooled),
        token_names(head["keys"], columns, pooled),
        is_head=True,
        values=_bytes(head["bytes"]).reshape(rows, columns) / 255,
    )


def _head_name(head: HeadMap) -> Expression:
    name = Fill("{layer}.{head}", layer=head["layer"], head=head["head"])
    if "cross" in head["name"]:
        return Format("cross {head}", head=name)
    if head["name"].startswith("decoder"):
        return Format("decoder {head}", head=name)
    return Format("encoder {head}", head=name) if head["name"].startswith("encoder") else name


def _gate(gate: GateMap, several_layers: bool) -> SmallMap:
    point, low, high = gate["point"], gate["low"], gate["high"]
    name: Expression = GATE_NAMES[point]
    if several_layers:
        layer = gate["name"].replace("layers.", "").replace(".fwd", "").replace(".bwd", " ←")
        name = Fill("{gate} · {layer}", gate=name, layer=layer)
    return SmallMap(
        f"{gate['name']} {point}",
        name,
        [str(unit) for unit in range(gate["units"])],
        token_names(gate["tokens"], gate["time"], 0),
        is_head=False,
        signed=point in SIGNED or gate["low"] < 0,
        values=(low + _bytes(gate["bytes"]).reshape(gate["time"], gate["units"]) / 255 * (high - low)).T,
        limit=max(1e-6, abs(low), abs(high)),
    )


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), np.uint8)


def inside_width(width: int) -> int:
    """px of the small maps beside the problems, or below them, where there are so many for both."""
    return STEP * (((width - 26) // 2 if width >= TWO_COLUMNS else width) // STEP)
