"""Figures of a training: the timeline at the foot of the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Format
from app.figures.live import Cursor, Label, Live
from app.figures.theme import colour

SMOOTHING, FIRST = 0.12, 12  # weight of a new value in the running mean; so few values are shown as they are
EARLY = 0.25  # share of the training whose largest loss is the top of its scale


@dataclass
class Event:
    """Something found in training: at which step, in words, and the head it is about, if any."""

    step: int
    text: Format
    rank: int = 0  # 0: of the run itself; larger: less telling


@dataclass
class TrainingView:
    """A run's curves by step, the steps of its snapshots, and the events found in it."""

    steps: list[int]
    loss: list[float]
    accuracy: list[float]
    snapshots: list[int]
    events: list[Event] = field(default_factory=list)
    chance: float | None = None
    held_out: float | None = None
    file: str = "run"


def running_mean(values: list[float]) -> np.ndarray:
    """Exponential running mean that skips what is no number; the shorter the run, the closer to the values themselves."""
    share, mean, means = max(SMOOTHING, min(1.0, FIRST / max(1, len(values)))), np.nan, []
    for value in values:
        if np.isfinite(value):
            mean = value if np.isnan(mean) else mean + share * (value - mean)
        means.append(mean if np.isfinite(value) else np.nan)
    return np.array(means, np.float32)


def step_ticks(last: int) -> list[int]:
    """0, 1, 2, 5, 10, 20, … and the last step."""
    ticks = [0]
    decade = 1
    while decade < last:
        ticks += [m * decade for m in (1, 2, 5) if m * decade < 0.75 * last]
        decade *= 10
    return [*ticks, last]


def timeline(view: TrainingView) -> Live:
    """Loss and accuracy over log(1 + step), events marked, and the playhead that chooses the snapshot."""
    last = max([1, *view.steps[-1:], *view.snapshots[-1:]])
    x, loss = np.log1p(view.steps), running_mean(view.loss)
    begun = [value for value in view.loss[: max(20, int(EARLY * len(view.loss)))] if np.isfinite(value)]
    scaled = np.minimum(1.05, loss / max([1e-9, *begun]))
    snapshots = [float(np.log1p(step)) for step in view.snapshots]
    figure = go.Figure(
        [
            go.Scatter(x=x, y=scaled, mode="lines", line={"width": 1.6}, customdata=view.loss, hovertemplate="loss %{customdata:.4f}<extra></extra>"),
            go.Scatter(x=x, y=running_mean(view.accuracy), mode="lines", line={"width": 2.4}, hovertemplate="accuracy %{y:.1%}<extra></extra>"),
            go.Scatter(x=np.log1p([event.step for event in view.events]), y=[0.0] * len(view.events), mode="markers", marker={"symbol": "diamond", "size": 9}, hovertemplate="%{text}<extra></extra>"),
            go.Scatter(x=[np.log1p(last)] if view.held_out is not None else [], y=[view.held_out], mode="markers", marker={"symbol": "circle-open", "size": 8, "line": {"width": 2}}, hoverinfo="skip"),
            go.Scatter(x=snapshots, y=[-0.06] * len(view.snapshots), mode="markers", marker={"symbol": "line-ns-open", "size": 4}, hoverinfo="skip"),
        ],
        {
            "xaxis": {
                "range": [-0.02 * np.log1p(last), 1.01 * np.log1p(last)], "fixedrange": True, "showgrid": False, "zeroline": False,
                "tickvals": [float(np.log1p(step)) for step in step_ticks(last)], "ticktext": [str(step) for step in step_ticks(last)],
            },
            "yaxis": {"visible": False, "range": [-0.08, 1.08], "fixedrange": True},
            "margin": {"l": 64, "r": 164, "t": 44, "b": 26},
            "dragmode": False,
            "shapes": [] if view.chance is None else [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": view.chance, "y1": view.chance, "line": {"dash": "dot", "width": 1}}],
        },
    )  # fmt: skip
    bindings: dict[str, Any] = {
        "data[0].line.color": colour("mute"),
        "data[1].line.color": colour("accent"),
        "data[2].marker.color": colour("amber"),
        "data[2].text": [Format("step {step}: {what}", step=event.step, what=event.text) for event in view.events],
        "data[3].marker.color": colour("accent"),
        "data[4].marker.color": colour("mute"),
    }
    if view.chance is not None:
        bindings["layout.shapes[0].line.color"] = colour("mute")
    return Live(
        figure,
        bindings,
        file=f"{view.file}-training",
        cursor=Cursor("snapshot", snapshots),
        labels=[Label(float(np.log1p(event.step)), event.text, event.rank) for event in view.events],
        height=150,
    )
