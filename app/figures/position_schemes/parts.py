"""What the pictures of position schemes share: matrices with a key of their colours, lines over whole numbers, tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Affine, Array, Choose, Clamp, Expression, Fill, Format, State, Take
from app.figures.live import Live
from app.figures.numbers import fixed, write
from app.figures.theme import BLUE, colour, shade

SCHEME_NAMES: dict[str, Expression] = {
    "sinusoidal": Format("Sinusoidal"),
    "learned": Format("Learned"),
    "rope": Format("RoPE"),
    "alibi": Format("ALiBi"),
    "t5": Format("T5 buckets"),
    "none": Format("None"),
    "causal": Format("None, causal"),
}
SIDES = Choose(State("sides"), {"one": 0, "two": 1})
STYLES = [  # colours that stay apart for everybody; a dash besides, for print
    (colour("accent"), "solid"), (colour("amber"), "7px,3px"), (BLUE, "2px,3px"),
    (colour("ink"), "9px,3px,2px,3px"), (colour("bad"), "5px,5px"), (colour("mute"), "solid"),
]  # fmt: skip
MOST_LABELS = 16  # of a matrix's rows or columns
BAR, RIGHT, BELOW = (
    64,
    40,
    17,
)  # px: the bar of colours, the room for the words right of it, from the matrix to their middle
TOP, FOOT, LINE = 26, 28, 18  # px above and below a matrix; more for a second line below


def ticks(low: float, high: float, most: int) -> list[int]:
    """Whole numbers in steps of 1, 2, 5, 10, …"""
    step = 1
    while (high - low) / step >= most:
        step = step * 2 if str(step)[0] != "2" else step // 2 * 5
    return list(range(math.ceil(low / step) * step, math.floor(high) + 1, step))


def precise(value: float, digits: int) -> str:
    """So many digits that count, written out: 0.0003162, 19869"""
    power = int(f"{value:.{digits - 1}e}".split("e")[1])
    return fixed(value, max(0, digits - 1 - power))


def chosen_among(name: str, count: int) -> Array:
    """(chosen, one of all): 1 where they are the same"""
    return Array(name, np.eye(count, dtype=np.int32))


def uneven(matrix: np.ndarray) -> float:
    """The largest difference between two places of a square matrix with the same offset."""
    return max(float(np.ptp(np.diagonal(matrix, offset))) for offset in range(1 - len(matrix), len(matrix)))


def by_offset(matrix: np.ndarray) -> np.ndarray:
    """(…, row, column) → (…, row, offset): each row by the offset from its own place, NaN where the matrix ends."""
    side = matrix.shape[-1]
    rows = np.full((*matrix.shape[:-1], 2 * side - 1), np.nan, np.float32)
    for row in range(side):
        rows[..., row, side - 1 - row : 2 * side - 1 - row] = matrix[..., row, :]
    return rows


def matrix_map(
    z: Any, shape: tuple[int, ...], *, limits: tuple[Any, Any], scale: Expression, ends: tuple[Any, Any],
    names: tuple[Expression, Expression], hover: Expression, file: str, title: Any, caption: Any,
    side: int = 0, axes: dict[str, Any] | None = None, left: int = 32,
) -> Live:  # fmt: skip
    """A matrix; below it what rows and columns are, and what the ends of its colours mean.

    limits  numbers of the first and last colour; ends: the words for them
    side    px of a square matrix; 0: as wide as there is room
    axes    instead of numbered rows and columns, whose names need so many px on the left
    """
    rows, columns = shape
    frame = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True, "showline": True, "mirror": True}
    numbered = {
        "xaxis": {"range": [-0.5, columns - 0.5], "tickvals": ticks(0, columns - 1, MOST_LABELS), "side": "top"},
        "yaxis": {"range": [rows - 0.5, -0.5], "tickvals": ticks(0, rows - 1, MOST_LABELS)},
    }
    layout = {axis: {**frame, **given} for axis, given in (axes or numbered).items()}
    if side:
        layout["xaxis"] |= {"constrain": "domain", "constraintoward": "left"}
        layout["yaxis"] |= {"constrain": "domain", "constraintoward": "top", "scaleanchor": "x"}
    foot = FOOT + LINE if side else FOOT  # under a square matrix there is less room beside each other
    words = {
        "xref": "paper",
        "yref": "paper",
        "y": 0,
        "yshift": -BELOW,
        "yanchor": "middle",
        "showarrow": False,
    }
    figure = go.Figure(
        go.Heatmap(
            colorbar={
                "orientation": "h", "thickness": 10, "len": BAR + 2 * RIGHT, "lenmode": "pixels", "x": 1, "xanchor": "right",
                "xpad": RIGHT, "y": 0, "yanchor": "top", "ypad": BELOW - 5, "ticks": "",
                "showticklabels": False, "outlinewidth": 1,
            }
        ),
        {
            **layout,
            "margin": {"l": left, "r": 6, "t": TOP, "b": foot},
            "dragmode": False,
            "annotations": [
                {**words, "x": 0, "xanchor": "left", "xshift": -left, "yshift": -BELOW - (foot - FOOT) / 2, "align": "left"},
                {**words, "x": 1, "xanchor": "right", "xshift": -(RIGHT + BAR + 6)},
                {**words, "x": 1, "xanchor": "left", "xshift": 6 - RIGHT},
            ],
        },
    )  # fmt: skip
    bindings: dict[str, Any] = {
        "data[0].z": z,
        "data[0].zmin": limits[0],
        "data[0].zmax": limits[1],
        "data[0].colorscale": scale,
        "data[0].colorbar.outlinecolor": colour("line"),
        "data[0].hovertemplate": hover,
        "layout.annotations[0].text": Fill(
            "↓ {rows}<br>→ {columns}" if side else "↓ {rows}   → {columns}", rows=names[0], columns=names[1]
        ),
        "layout.annotations[1].text": ends[0],
        "layout.annotations[2].text": ends[1],
        **{f"layout.annotations[{i}].font.color": colour("mute") for i in range(3)},
    }
    edge = TOP + foot
    height = "square" if side else round(rows * max(3, min(26, 300 / rows))) + edge
    return Live(figure, bindings, title, caption, file, height=height, highest=side + edge if side else 0)


def line_chart(
    traces: list[go.Scatter], x: list[int], y_range: Any, *, names: tuple[Any, Any], file: str, title: Any, caption: Any,
    bindings: dict[str, Any], signed: bool = False, height: int = 280,
) -> Live:  # fmt: skip
    """Lines over whole numbers; under the pointer all their numbers at one x. `signed`: of offsets, +3."""
    places = ticks(x[0], x[-1], 9 if signed else 12)
    figure = go.Figure(
        traces,
        {
            "xaxis": {
                "range": [x[0], x[-1]], "fixedrange": True, "showgrid": False, "zeroline": False, "ticks": "", "tickvals": places,
                "ticktext": [write(place, "+" if signed else "") for place in places], "title": {"standoff": 8},
                "spikethickness": 1, "spikedash": "solid", "spikemode": "across",
            },
            "yaxis": {"fixedrange": True, "zeroline": False, "nticks": 6, "ticks": "", "ticklabelstandoff": 6, "title": {"standoff": 6}},
            "margin": {"l": 62, "r": 24, "t": 12, "b": 48},
            "hovermode": "x unified",
            "dragmode": False,
        },
    )  # fmt: skip
    bound = {
        "layout.xaxis.title.text": Fill("{name} →", name=names[0]),
        "layout.xaxis.unifiedhovertitle.text": Fill("{name} {x}", name=names[0], x="%{x:+d}" if signed else "%{x}"),
        "layout.xaxis.spikecolor": colour("accent"),
        "layout.yaxis.title.text": names[1],
        "layout.yaxis.range": y_range,
    }
    return Live(figure, {**bound, **bindings}, title, caption, file, height=height)


def told(name: Any, digits: str) -> Fill:
    """A line's share of what is told under the pointer."""
    return Fill("{name}: {value}<extra></extra>", name=name, value=f"%{{y:{digits}}}")


def with_margin(values: np.ndarray) -> list[float]:
    """The range of an axis that shows all of these."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    more = 0.06 * ((high - low) or 1)
    return [low - more, high + more]


def shaded(live: Live, x0: float, x1: float, words: Any) -> Live:
    """The part of a line chart from x0 to x1 stands out, with words at its foot."""
    shape = {
        "type": "rect",
        "x0": x0,
        "x1": x1,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"width": 0},
        "layer": "below",
    }
    live.figure.update_layout(shapes=[shape])
    live.figure.update_layout(
        annotations=[
            {
                "x": x0, "xanchor": "left", "xshift": 6, "yref": "paper", "y": 0, "yanchor": "bottom", "yshift": 2,
                "showarrow": False,
            }
        ]
    )  # fmt: skip
    live.bindings |= {
        "layout.shapes[0].fillcolor": colour("soft"),
        "layout.annotations[0].text": words,
        "layout.annotations[0].font.color": colour("accent"),
    }
    return live


def lines_by_offset(
    rows: Any, places: list[int], same_place: Array, *, digits: str, chosen_width: float
) -> tuple[list[go.Scatter], dict[str, Any]]:
    """Rows of a matrix by offset: from some fixed places, and in the accent colour from the position chosen.

    rows(place) → the row's expression; same_place (place, position): 1 where the position is that place
    """
    side = same_place.values.shape[1]
    x = list(range(1 - side, side))
    traces = [go.Scatter(x=x, mode="lines", showlegend=False, line={"width": 1.8}) for _ in places]
    traces.append(go.Scatter(x=x, mode="lines", showlegend=False, line={"width": chosen_width}))
    bindings: dict[str, Any] = {}
    for i, place in enumerate([*places, "position"]):
        name = Format(
            "from position {position}", position=place if i < len(places) else Clamp(State("position"), 0, side - 1)
        )
        bindings |= {
            f"data[{i}].y": rows(place),
            f"data[{i}].name": name,
            f"data[{i}].hovertemplate": told(name, digits),
            f"data[{i}].line.color": shade(0.35 + 0.65 * i / max(1, len(places) - 1))
            if i < len(places)
            else colour("accent"),
        }
        if i < len(places):
            bindings[f"data[{i}].visible"] = Choose(same_place[i, "position"], [True, False])
    return traces, bindings


def same_places(name: str, places: list[int], side: int) -> Array:
    return Array(name, (np.asarray(places)[:, None] == np.arange(side)).astype(np.int32))


def marked(live: Live, x: Expression, ys: list[Expression]) -> Live:
    """A dotted line at x, with a dot at each y: shapes, so that moving them draws no line again."""
    live.figure.add_shape(type="line", yref="paper", y0=0, y1=1, line={"width": 1.5, "dash": "2px,3px"})
    live.bindings |= {
        "layout.shapes[0].x0": x,
        "layout.shapes[0].x1": x,
        "layout.shapes[0].line.color": colour("ink"),
    }
    round_dot = {
        "xsizemode": "pixel",
        "ysizemode": "pixel",
        "x0": -5,
        "x1": 5,
        "y0": -5,
        "y1": 5,
        "line": {"width": 0},
    }
    for i, y in enumerate(ys, 1):
        live.figure.add_shape(type="circle", **round_dot)
        live.bindings |= {
            f"layout.shapes[{i}].xanchor": x,
            f"layout.shapes[{i}].yanchor": y,
            f"layout.shapes[{i}].fillcolor": colour("ink"),
        }
    return live


def framed(live: Live, row: Expression, column: Expression) -> Live:
    """A frame around one cell of a matrix."""
    live.figure.add_shape(type="rect", line={"width": 2})
    edges = {"x0": (column, -0.5), "x1": (column, 0.5), "y0": (row, -0.5), "y1": (row, 0.5)}
    live.bindings |= {f"layout.shapes[0].{edge}": Affine(at, offset=by) for edge, (at, by) in edges.items()}
    live.bindings["layout.shapes[0].line.color"] = colour("accent")
    return live


def number_table(
    columns: dict[str, tuple[Expression, list[Any], list[str]]],
    hot: Expression,
    *,
    file: str,
    title: Any,
    caption: Any,
) -> Live:
    """Numbers to be read one by one; hot: for every row 1 where it is the chosen one.

    columns: name in its file → (name, numbers, the numbers as written)
    """
    written = [texts for _, _, texts in columns.values()]
    return Live(
        go.Figure(go.Table(cells={"values": written})),
        {
            "data[0].header.values": [name for name, _, _ in columns.values()],
            "data[0].cells.font.color": [Take([colour("ink"), colour("accent")], hot)],
            "data[0].cells.fill.color": [Take(["rgba(0,0,0,0)", colour("soft")], hot)],
        },
        title,
        caption,
        file,
        table={name: numbers for name, (_, numbers, _) in columns.items()},
    )
