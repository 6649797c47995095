"""Heads of two models side by side: a head's map on its own tokens, and its profile as bars beside that of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import categories, end_room, label_room, token_axes
from app.figures.expressions import Array, Fill, Format
from app.figures.live import Live
from app.figures.theme import WEIGHT, colour

MEASURES = {
    "entropy": (Format("entropy"), Format("0 = looks at one token, 1 = evenly at all it may see")),
    "distance": (Format("distance"), Format("0 = at itself, 1 = as far away as it may see")),
    "previous": (Format("previous token"), Format("share of weight on the token before")),
    "own": (Format("itself"), Format("share of weight on the token itself")),
    "first": (Format("first token"), Format("share of weight on the first token of the text")),
    "induction": (
        Format("induction"),
        Format("share of weight on the tokens that followed earlier occurrences of the current one"),
    ),
}
ROW, MAP, LABELS, NAMES = 19, 240, 60, 100  # px: of a bar, of the map, beside it for tokens at most, for measures


def head_card(
    name: str,
    weights: np.ndarray,
    tokens: list[str],
    profile: dict[str, float],
    measures: list[str],
    limit: float,
    pooled: int = 0,
    beside: dict[str, float] | None = None,
    table: dict[str, Any] | None = None,
) -> Live:
    """weights (query, key) of one head and its profile, each measure from 0 to 1; a tick where `beside` has it.

    table: the whole comparison, as the CSV has it.
    """
    rows, left = len(measures), min(LABELS, label_room(tokens))
    side: dict[str, Any] = {"x": categories(tokens), "y": categories(tokens)}
    axes = token_axes(tokens, tokens)
    if pooled:
        side = {"x0": (pooled - 1) / 2, "dx": pooled, "y0": (pooled - 1) / 2, "dy": pooled}
        for axis in axes.values():
            axis["type"] = "linear"
            del axis["categoryorder"], axis["categoryarray"]
    share, height = rows * ROW + 14, MAP + rows * ROW + 14
    for axis in axes.values():
        axis["fixedrange"] = True
    values, places = [profile[measure] for measure in measures], list(range(rows))
    ticks = [beside[measure] for measure in measures] if beside else []
    figure = go.Figure(
        [
            go.Heatmap(**side, zmin=0, zmax=limit, showscale=False),
            go.Bar(x=[1.0] * rows, y=places, orientation="h", xaxis="x2", yaxis="y2", hoverinfo="skip", width=0.5, marker={"line": {"width": 0}}),
            go.Bar(x=values, y=places, orientation="h", xaxis="x2", yaxis="y2", width=0.5, marker={"line": {"width": 0}}),
            go.Scatter(x=ticks, y=places[: len(ticks)], mode="markers", marker={"symbol": "line-ns-open", "size": 13, "line": {"width": 2}}, xaxis="x2", yaxis="y2", hoverinfo="skip"),
            go.Scatter(x=[1.36] * rows, y=places, mode="text", textposition="middle left", xaxis="x2", yaxis="y2", hoverinfo="skip", cliponaxis=False),
        ],
        {
            "xaxis": axes["xaxis"] | {"anchor": "y"},
            "yaxis": axes["yaxis"] | {"domain": [share / height, 1]},
            "xaxis2": {"domain": [max(0, (NAMES - left) / (220 - left)), 1], "range": [0, 1.36], "visible": False, "anchor": "y2", "fixedrange": True},
            "yaxis2": {
                "domain": [0, (share - 14) / height], "range": [rows - 0.5, -0.5], "tickvals": places, "anchor": "x2",
                "showgrid": False, "zeroline": False, "fixedrange": True, "ticks": "",
            },
            "margin": {"l": left, "r": end_room(tokens), "t": 22, "b": 2},
            "barmode": "overlay",
        },
    )  # fmt: skip
    hover = Fill("{query} → {key}: {weight}<extra></extra>", query="%{y}", key="%{x}", weight="%{z:.4f}")
    return Live(
        figure,
        {
            "data[0].z": Array(f"{name}.weights", weights.astype(np.float32))[()],
            "data[0].colorscale": WEIGHT,
            "data[0].hovertemplate": hover,
            "data[1].marker.color": colour("line"),
            "data[2].marker.color": colour("accent"),
            "data[2].customdata": [MEASURES[measure][1] for measure in measures],
            "data[2].hovertemplate": "%{customdata}: %{x:.4f}<extra></extra>",
            "data[3].marker.color": colour("ink"),
            "data[4].text": [Fill("{value:.2f}", value=value) for value in values],
            "data[4].textfont.color": colour("ink"),
            "layout.yaxis2.ticktext": [MEASURES[measure][0] for measure in measures],
        },
        file=name,
        description=Fill(
            ", ".join(f"{{name{i}}} {{value{i}:.2f}}" for i in places),
            **{f"name{i}": MEASURES[measure][0] for i, measure in enumerate(measures)},
            **{f"value{i}": value for i, value in enumerate(values)},
        ),
        table=table or {"measure": list(measures), "value": values},
        tokens={"x": tokens, "y": tokens},
        height=height + 24,
    )
