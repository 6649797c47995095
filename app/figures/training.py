"""Figures of a training: the timeline at the foot of the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Affine, Choose, Expression, Fill, Format, State
from app.figures.live import Cursor, Label, Live
from app.figures.theme import colour

SMOOTHING, FIRST = 0.12, 12  # weight of a new value in the running mean; so few values are shown as they are
EARLY = 0.25  # share of the training whose largest loss is the top of its scale
CLOSE = 0.15  # held-out and training accuracy nearer than this share one name
NARROW = 560  # px
MOST_POINTS = 1500  # of a curve: more than there are pixels


@dataclass
class Event:
    """Something found in training: at which step, in words, and what of the state it is about (a head), if anything."""

    step: int
    text: Expression
    rank: int = 0  # 0: of the run itself; larger: less telling
    about: dict[str, Any] = field(default_factory=dict)


@dataclass
class TrainingView:
    """A run's curves by step, the steps of its snapshots, and the events found in it; None for what is no number."""

    steps: list[int]
    loss: list[float | None]
    accuracy: list[float | None]
    snapshots: list[int]
    events: list[Event] = field(default_factory=list)
    chance: float | None = None
    held_out: float | None = None
    file: str = "run"


def running_mean(values: list[float | None]) -> np.ndarray:
    """Exponential running mean that skips what is no number; the shorter the run, the closer to the values themselves."""
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    share, mean, means = max(SMOOTHING, min(1.0, FIRST / max(1, len(numbers)))), np.nan, []
    for value in numbers:
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


def broken_at(view: TrainingView) -> int | None:
    """The step at which the loss stopped being a number and stayed so."""
    finite = [i for i, value in enumerate(view.loss) if value is not None and np.isfinite(value)]
    last = finite[-1] if finite else -1
    return view.steps[last + 1] if view.loss and last < len(view.loss) - 1 else None


def timeline(view: TrainingView) -> Live:
    """Loss and accuracy over log(1 + step), events marked, and the playhead that chooses the snapshot."""
    last = max([1, *view.steps[-1:], *view.snapshots[-1:]])
    x, loss, accuracy = np.log1p(view.steps), running_mean(view.loss), running_mean(view.accuracy)
    shown = _thinned(x)
    begun = [value for value in view.loss[: max(20, int(EARLY * len(view.loss)))] if value is not None]
    scaled = np.minimum(1.05, loss / max([1e-9, *(value for value in begun if np.isfinite(value))]))
    snapshots = [float(np.log1p(step)) for step in view.snapshots]
    grouped = _by_step(view.events)
    marks = [float(np.log1p(step)) for step in grouped]
    end, broken = float(np.log1p(last)), broken_at(view)
    mode = "lines" if np.isfinite(scaled).sum() != 1 else "markers"
    far = view.held_out is not None and not _close(view.held_out, accuracy)
    figure = go.Figure(
        [
            go.Scatter(x=x[shown], y=scaled[shown], mode=mode, line={"width": 1.6}, customdata=loss[shown], showlegend=bool(np.isfinite(loss).any())),
            go.Scatter(x=x[shown], y=accuracy[shown], mode=mode, line={"width": 2.4}, showlegend=bool(np.isfinite(accuracy).any())),
            go.Scatter(x=marks, y=[0.0] * len(marks), mode="markers", marker={"symbol": "diamond", "size": 9}, hovertemplate="%{text}<extra></extra>", showlegend=False),
            go.Scatter(x=[end], y=[view.held_out], mode="markers", marker={"symbol": "circle-open", "size": 8, "line": {"width": 2}}, showlegend=far),
            go.Scatter(x=snapshots, y=[-0.06] * len(snapshots), mode="markers", marker={"symbol": "line-ns-open", "size": 4}, hoverinfo="skip", showlegend=False),
            go.Scatter(x=[] if broken is None else [np.log1p(broken)], y=[0.0], mode="markers+text", marker={"symbol": "x-thin", "size": 9, "line": {"width": 2}}, textposition="top right", showlegend=False),
        ],
        {
            "xaxis": {
                "range": [0, 1.004 * end], "fixedrange": True, "showgrid": False, "zeroline": False, "ticks": "",
                "tickvals": [float(np.log1p(step)) for step in step_ticks(last)], "ticktext": [str(step) for step in step_ticks(last)],
            },
            "yaxis": {
                "range": [-0.08, 1.08], "fixedrange": True, "showgrid": False, "zeroline": False, "ticks": "",
                "tickvals": [] if view.chance is None else [view.chance],
            },
            "margin": {"l": 64, "r": 164, "t": 50, "b": 24},
            "dragmode": False,
            "shapes": [
                {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": view.chance or 0, "y1": view.chance or 0, "line": {"dash": "dot", "width": 1}, "visible": view.chance is not None},
                {"type": "path", "path": "".join(f"M{at},0V1.2" for at in marks) or "M0,0", "line": {"width": 1, "dash": "dot"}},
                {"type": "line", "x0": np.log1p(broken or 0), "x1": np.log1p(broken or 0), "y0": 0, "y1": 1, "line": {"width": 1.5}, "visible": broken is not None},
            ],
            "annotations": [{"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False, "visible": not (np.isfinite(loss).any() or np.isfinite(accuracy).any())}],
        },
    )  # fmt: skip
    mute, accent, amber, bad = colour("mute"), colour("accent"), colour("amber"), colour("bad")
    room = Affine(State("width"), 1 / NARROW, whole=True)  # 0 where there is none beside the curves
    bindings: dict[str, Any] = {
        "data[0].line.color": mute,
        "data[0].name": Format("loss"),
        "data[0].hovertemplate": Format("loss {value}<extra></extra>", value="%{customdata:.4f}"),
        "data[1].line.color": accent,
        "data[1].name": Format("accuracy in training"),
        "data[1].hovertemplate": Format("accuracy in training {value}<extra></extra>", value="%{y:.1%}"),
        "data[2].marker.color": amber,
        "data[2].text": [_tip(events) for events in grouped.values()],
        "data[3].marker.color": accent,
        "data[3].name": Format("held-out"),
        "data[3].hovertemplate": Format("{share} on held-out problems<extra></extra>", share="%{y:.1%}"),
        "data[4].marker.color": mute,
        "data[5].marker.line.color": bad,
        "data[5].text": [Format("no longer a number")],
        "data[5].textfont.color": bad,
        "data[5].hovertemplate": Format(
            "step {step}: the loss is no longer a number<extra></extra>", step=broken or 0
        ),
        "layout.yaxis.ticktext": [] if view.chance is None else [Format("chance")],
        "layout.yaxis.ticklabelposition": Choose(room, ["inside top", "outside"]),
        "layout.margin.l": Choose(room, [14, 64]),
        "layout.shapes[0].line.color": mute,
        "layout.shapes[1].line.color": amber,
        "layout.shapes[2].line.color": bad,
        "layout.annotations[0].text": Format("No step has been trained yet."),
        "layout.annotations[0].font.color": mute,
    }
    first = [
        next((i for i, at in enumerate(view.snapshots) if at >= step), len(view.snapshots) - 1) for step in grouped
    ]
    return Live(
        figure,
        bindings,
        file=f"{view.file}-training",
        cursor=Cursor("snapshot", snapshots),
        click={"snapshot": Choose(State("point"), first)} if first else {},
        labels=[Label(float(np.log1p(one.step)), one.text, one.rank, one.about) for one in view.events],
        names=True,
        height=150,
    )


def _close(held_out: float, accuracy: np.ndarray) -> bool:
    known = accuracy[np.isfinite(accuracy)]
    return len(known) > 0 and abs(held_out - float(known[-1])) <= CLOSE


def _thinned(x: np.ndarray) -> np.ndarray:
    """Indices of the points that are drawn: evenly over the picture, the last one among them."""
    if len(x) <= MOST_POINTS:
        return np.arange(len(x))
    return np.unique(np.append(np.searchsorted(x, np.linspace(x[0], x[-1], MOST_POINTS)), len(x) - 1))


def _by_step(events: list[Event]) -> dict[int, list[Event]]:
    grouped: dict[int, list[Event]] = {}
    for event in sorted(events, key=lambda event: (event.step, event.rank)):
        grouped.setdefault(event.step, []).append(event)
    return grouped


def _tip(events: list[Event]) -> Expression:
    """All that happened at one step, a line each."""
    told = [Format("step {step}: {what}", step=event.step, what=event.text) for event in events]
    return Fill(
        "<br>".join(f"{{line{i}}}" for i in range(len(told))), **{f"line{i}": line for i, line in enumerate(told)}
    )
