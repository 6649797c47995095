"""The path of a recurrent state, token by token, in the plane in which the trained states differ most."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import categories
from app.figures.expressions import Affine, Array, Choose, Expression, Fill, Format, Sentences, Take
from app.figures.gates_view import RecurrentView, escaped_name
from app.figures.live import Live, PointNames
from app.figures.theme import HIGH, LOW, SIZE, colour, themed

APART = 2  # centres so many spreads from each other lie apart
STAGES = 5  # of the path, each darker than the one before
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def path(view: RecurrentView, state: str) -> Live:
    """Where `state` ("hidden" or "cell") goes; its axes are principal components of the states at the end of training."""
    coordinates, shares = view.paths[state]  # (snapshot, 1 + time, 2), (snapshot, 2)
    tokens, name = view.tokens, f"{view.name}.{state}.path"
    places = Array(name, coordinates.astype(np.float32))
    x, y = places["snapshot", :, 0], places["snapshot", :, 1]  # the initial state is at 0
    read = list(range(1, len(tokens) + 1))
    order = [0, *(read[::-1] if view.backwards else read)]
    now = Affine(view.time, offset=1)
    classes = _classes(view)
    hover = "%{text}<br>PC1 %{x:.4f}<br>PC2 %{y:.4f}<extra></extra>"
    quiet: dict[str, Any] = {"hoverinfo": "skip", "showlegend": False}
    stages = _stages(order)
    traces: list[Any] = [
        go.Scatter(
            mode="lines+markers", line={"width": 1.3}, opacity=0.25 + 0.6 * (i + 1) / len(stages),
            marker={"symbol": "arrow", "angleref": "previous", "size": [0] + [10] * (len(part) - 1), "standoff": 6}, **quiet,
        )
        for i, part in enumerate(stages)
    ]  # fmt: skip
    bindings: dict[str, Any] = {}
    for i, part in enumerate(stages):
        bindings |= {f"data[{i}].x": Take(x, part), f"data[{i}].y": Take(y, part)}
        bindings |= {f"data[{i}].line.color": colour("ink"), f"data[{i}].marker.color": colour("ink")}

    def points(at: Any, marker: dict[str, Any], tint: Any, **more: Any) -> None:
        i = len(traces)
        bindings.update({f"data[{i}].x": Take(x, at), f"data[{i}].y": Take(y, at), f"data[{i}].marker.color": tint})
        if named := more.pop("named", None):
            bindings[f"data[{i}].name"] = named
        if texts := more.pop("texts", None):
            bindings[f"data[{i}].text"] = texts
        traces.append(go.Scatter(mode="markers", marker=marker, **more))

    start, end = Format("start"), Format("end")
    points([0], {"symbol": "x", "size": 10}, colour("ink"), named=start, texts=[start], hovertemplate=hover)
    ring = {"symbol": "square-open", "size": 15, "line": {"width": 2}}
    points(order[-1:], ring, colour("ink"), named=end, hoverinfo="skip")
    points([now], {"symbol": "circle-open", "size": 26, "line": {"width": 2.5}}, colour("accent"), **quiet)
    labels = categories(tokens)
    for named, which, tint, symbol in classes:
        texts = [labels[t] for t in which]
        marker = {"symbol": symbol, "size": 11, "line": {"width": 1}}
        points([t + 1 for t in which], marker, tint, named=named, text=texts, customdata=which, hovertemplate=hover)
        bindings[f"data[{len(traces) - 1}].marker.line.color"] = colour("card")
    ranges = [_range(coordinates[..., axis]) for axis in (0, 1)]
    of = Array(f"{view.name}.{state}.shares", shares.astype(np.float32))
    axes = {
        f"{letter}axis": {"range": limits, "zeroline": False, "title": {"standoff": 8, "font": {"size": SIZE}}}
        for letter, limits in zip("xy", ranges, strict=True)
    }
    for n, letter in enumerate("xy"):
        axis = Format("PC{n} ({share:.0%})", n=n + 1, share=of["snapshot", n])
        bindings[f"layout.{letter}axis.title.text"] = axis
    caption = Format(
        "At training step {step} this plane, in which the trained states differ most, shows **{one:.0%}** + **{two:.0%}** of the {what} state's variance.",
        what=view.point_name(state),
        one=of["snapshot", 0],
        two=of["snapshot", 1],
        step=view.step,
    )
    names = [start, *(escaped_name(token) for token in tokens)]
    first = [_place(view, order), 0, len(order) - 1]
    return Live(
        go.Figure(
            traces, {**axes, "margin": {"l": 64, "r": 16, "t": 12, "b": 48}, "showlegend": True, "legend": LEGEND}
        ),
        bindings,
        title=Format("Path of the state"),
        caption=Sentences([caption, _apart(view, name, coordinates)]),
        file=Fill("{name}-path-step{step}", name=view.file, step=view.step),
        click={"time": "customdata"},
        arrows={"x": ("time", len(tokens))},
        table=[("token", [start, *tokens]), ("PC1", x), ("PC2", y)],
        height=(320, 410, 640),
        point_names=PointNames(Take(x, order), Take(y, order), [names[i] for i in order], first),
    )


def _place(view: RecurrentView, order: list[int]) -> Expression:
    """Where the chosen position stands on the path."""
    place = np.argsort(order)[1:]
    return Array(f"{view.name}.place", place.astype(np.int32))["time"]


def _classes(view: RecurrentView) -> list[tuple[Any, list[int], Any, str]]:
    """(name, positions, colour, symbol): by running parity where there is one, else all."""
    low, high = (themed(f"rgb{of['light']}", f"rgb{of['dark']}") for of in (LOW, HIGH))
    every, parity = range(len(view.tokens)), view.signals.get("parity")
    if parity is None:
        return [(Format("states"), list(every), low, "circle")]
    return [
        (Format("running parity even"), [t for t in every if not parity[t]], low, "circle"),
        (Format("running parity odd"), [t for t in every if parity[t]], high, "diamond"),
    ]


def _stages(order: list[int]) -> list[list[int]]:
    """The path cut into stages that share their ends."""
    size = max(1, -(-(len(order) - 1) // STAGES))
    return [order[i : i + size + 1] for i in range(0, len(order) - 1, size)]


def _range(along: np.ndarray) -> list[float]:
    """Of all snapshots, with room at both ends; a state may have left all bounds."""
    finite = along[np.isfinite(along)]
    if not finite.size:
        return [-1.0, 1.0]
    low, high = float(finite.min()), float(finite.max())
    room = 0.12 * (high - low or 1)
    return [low - room, high + room]


def _apart(view: RecurrentView, name: str, coordinates: np.ndarray) -> Any:
    """How far even and odd lie from each other, in units of their own spread."""
    classes = [which for _, which, _, _ in _classes(view)]
    if len(classes) < 2:
        return ""
    clouds = [coordinates[:, 1:].astype(float)[:, which] for which in classes]  # (snapshot, of the class, 2)
    centres = [cloud.mean(1) for cloud in clouds]
    off = [((cloud - centre[:, None]) ** 2).sum(-1) for cloud, centre in zip(clouds, centres, strict=True)]
    spread = np.sqrt(np.concatenate(off, 1).mean(1))
    times = (np.linalg.norm(centres[0] - centres[1], axis=-1) / np.maximum(spread, 1e-9)).astype(np.float32)
    far = Array(f"{name}.apart", (times >= APART).astype(np.int32))["snapshot"]
    value = Array(f"{name}.times", times)["snapshot"]
    return Choose(
        far,
        [
            Format("Even and odd lie **mixed**: their centres are only {times:.1f} times their own spread from each other.", times=value),
            Format("Even and odd lie **apart**: their centres are {times:.1f} times their own spread from each other.", times=value),
        ],
    )  # fmt: skip
