"""A matrix with names on its rows and columns, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import plotly.graph_objects as go

from app.figures.expressions import Affine, State
from app.figures.live import Live, Parts
from app.figures.theme import MONO, colour
from app.figures.tokens import Words, text_width

CELL = 26  # px of a row at most
TOP = 24  # px of the columns' names


def matrix(
    rows: list[Words], columns: list[Words] | int, bindings: dict[str, Any], tallest: int, **more: Any
) -> Live:
    """bindings: z, zmin, zmax, colorscale of the heatmap, and others by their path. columns: names, or how many numbers."""
    count = columns if isinstance(columns, int) else len(columns)
    left = round(max([text_width(row, 13, 14) for row in rows])) + 10
    axis = {
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "showline": True,
        "mirror": True,
        "tickfont": {"family": MONO},
    }
    high = max(3.0, min(CELL, tallest / len(rows)))
    figure = go.Figure(
        go.Heatmap(showscale=False, hoverinfo="skip"),
        {
            "xaxis": {**axis, "side": "top", "range": [-0.5, count - 0.5], **({"nticks": 16} if isinstance(columns, int) else {})},
            "yaxis": {**axis, "range": [len(rows) - 0.5, -0.5]},
            "margin": {"l": left, "r": 4, "t": TOP, "b": 2},
        },
    )  # fmt: skip
    tokens = {"y": list(rows)} | ({} if isinstance(columns, int) else {"x": list(columns)})
    paths = {name if "." in name else f"data[0].{name}": value for name, value in bindings.items()}
    return Live(
        figure,
        paths,
        parts=Parts(rows=len(rows), columns=count),
        tokens=tokens,
        height=TOP + round(high * len(rows)) + 2,
        **more,
    )


def cells_path(cells: Iterable[tuple[float, float, float, float]]) -> str:
    """Rectangles (x0, x1, y0, y1) as one path."""
    return "".join(f"M{x0},{y0}H{x1}V{y1}H{x0}Z" for x0, x1, y0, y1 in cells)


CHOSEN: dict[str, Any] = {"type": "rect", "line": {"width": 2.5}}


def chosen_cell(shape: int, row: str, column: str) -> dict[str, Any]:
    """The frame around a chosen cell, of a shape that is `CHOSEN`."""
    corners = {"x0": (column, -0.5), "x1": (column, 0.5), "y0": (row, -0.5), "y1": (row, 0.5)}
    bound: dict[str, Any] = {
        f"layout.shapes[{shape}].{name}": Affine(State(key), offset=by) for name, (key, by) in corners.items()
    }
    return bound | {f"layout.shapes[{shape}].line.color": colour("accent")}


def add_path(live: Live, rows: Any, tone: str, dash: str = "solid") -> None:
    """A line through one cell of every column."""
    at = len(list(live.figure.data))
    live.figure.add_scatter(
        x=list(range(len(rows))), y=[int(row) for row in rows], mode="lines+markers", hoverinfo="skip", cliponaxis=False,
        line={"width": 2.5, "dash": dash}, marker={"size": 7, "line": {"width": 1.5}},
    )  # fmt: skip
    live.bindings |= {
        f"data[{at}].line.color": colour(tone),
        f"data[{at}].marker.line.color": colour(tone),
        f"data[{at}].marker.color": colour("card"),
    }
