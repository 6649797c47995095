"""The Gates tab's figures of one recurrent layer: all its units, one unit over the tokens and over the training."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import categories, token_axes, token_axis
from app.figures.expressions import (
    Affine,
    Array,
    BySign,
    Choose,
    Concat,
    Each,
    Expression,
    Fill,
    Format,
    State,
    Take,
    Transpose,
)
from app.figures.gates_view import SIGNED, RecurrentView
from app.figures.gates_words import swing_caption, unit_caption, units_caption
from app.figures.live import Live
from app.figures.theme import BLUE, MONO, ORANGE, WEIGHT, colour, themed, weight_scale
from app.figures.theme import SIGNED as SIGNED_SCALE

ROW, BAR = 33, 0.78  # px of a row of bars; its share that bars may fill
LABEL_PX, UNITS_PX = 13, 428  # of a line of type, and of the map that the units share
GATE_COLOUR = themed(weight_scale("light")[13][1], weight_scale("dark")[13][1])
CLEAR_SCALE = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]


def scale_of(view: RecurrentView) -> Expression:
    """The colours of the chosen gate (0…1) or state (−…+)."""
    return Choose(_by_point(view, lambda point: int(point in SIGNED)), [WEIGHT, SIGNED_SCALE])


def _by_point(view: RecurrentView, value: Any) -> Choose:
    return Choose(State("gate"), {point: value(point) for point in view.points})


def units(view: RecurrentView) -> Live:
    """All units of the chosen gate or state (rows) over the tokens (columns), in the chosen order."""
    tokens, count = view.tokens, view.values["hidden"].shape[-1]
    every = max(1, -(-count * LABEL_PX // UNITS_PX))
    order = view.order[view.by_point]
    labelled = order if every == 1 else Array(f"{view.name}.labelled", view.order.values[..., ::every])[view.by_point]
    numbers = {
        "unit": Take([str(unit) for unit in range(count)], labelled),
        "x": Take(view.measure[*view.by_point, "snapshot"], labelled),
    }
    sort_kind = Choose(State("sort"), dict(zip(view.sorts, view.sort_kinds, strict=True)))
    labels = [
        Each(Fill("{unit}", unit=numbers["unit"])),
        Each(Fill("{unit} {x:5.0%}", **numbers)),
        Each(Fill("{unit} {x:5.1f}", **numbers)),
        Each(Fill("{unit} {x:+5.2f}", **numbers)),
    ]
    values = Choose(State("gate"), {point: Transpose(view.arrays[point]["snapshot"]) for point in view.points})
    axes = token_axes([""] * count, tokens)
    axes["yaxis"] |= {
        "categoryorder": "trace", "categoryarray": None, "tickvals": list(range(0, count, every)), "ticktext": None,
        "tickfont": {"family": MONO}, "ticklabelstandoff": 4,
    }  # fmt: skip
    axes["xaxis"] |= {"tickfont": {"family": MONO}, "ticklabelstandoff": 2}
    figure = go.Figure(
        go.Heatmap(x=categories(tokens), showscale=False),
        {**axes, "margin": {"l": 44, "r": 4, "t": 26, "b": 4}, "shapes": [{"type": "rect", "line": {"width": 2.5}}]},
    )
    row = view.rank[*view.by_point, "unit"]
    return Live(
        figure,
        {
            "data[0].z": Take(values, order),
            "data[0].y": Take([_category(unit) for unit in range(count)], order),
            "data[0].zmin": _by_point(view, lambda point: -_top(view, point) if point in SIGNED else 0),
            "data[0].zmax": _by_point(view, lambda point: _top(view, point)),
            "data[0].colorscale": scale_of(view),
            "data[0].hovertemplate": _hover(view.chosen_name, "%{y}", "%{x}"),
            "layout.yaxis.ticktext": Choose(sort_kind, labels),
            "layout.margin.l": Choose(sort_kind, [_room(count, 0), *[_room(count, 6)] * 3]),
            **_frame(view.time, row),
        },
        title=Format("Units over time"),
        caption=units_caption(view, sort_kind),
        description=Format("Rows are units, columns the tokens in the order in which they stand."),
        file=Fill("{name}-{point}-step{step}", name=view.file, point=State("gate"), step=view.step),
        click={"unit": view.order[*view.by_point, State("y")], "time": "x"},
        arrows={"x": ("time", len(tokens)), "y": ("unit", order)},
        tokens={"x": tokens},
        links={"x": view.axis},
        table=_units_table(view, Take(values, order), order),
        height=(240, 442),
    )


def _category(number: int) -> str:
    """A number as the name of a row or column: with a mark that is not seen, or Plotly takes it for the row's place."""
    return f"{number}\u2060"


def _room(units: int, letters: int) -> int:
    """px for the names of rows: a unit's number and so many more letters"""
    return 14 + 8 * (len(str(units - 1)) + letters)


def _top(view: RecurrentView, point: str) -> float:
    return float(view.limit(point).max())


def _units_table(view: RecurrentView, values: Expression, order: Expression) -> list[tuple[Any, Any]]:
    """One row a unit: its number, what it is sorted by, its value at each token."""
    measure = Take(view.measure[*view.by_point, "snapshot"], order)
    none = [[]] * view.values["hidden"].shape[-1]
    sorted_by = Choose(State("sort"), {name: [name] if i else [] for i, name in enumerate(view.sorts)})
    return [("unit", order), (sorted_by, Choose(view.sort_index, [none, measure])), (view.tokens, values)]


def _hover(what: Any, unit: Any, token: str, value: str = "%{z:.4f}", more: Any = None) -> Fill:
    tip = Format("unit {unit} · {token} · {what} {value}", unit=unit, token=token, what=what, value=value)
    return (
        Fill("{tip} · {more}<extra></extra>", tip=tip, more=more) if more else Fill("{tip}<extra></extra>", tip=tip)
    )


def _frame(x: Any, y: Any) -> dict[str, Any]:
    return {
        "layout.shapes[0].x0": Affine(x, offset=-0.5),
        "layout.shapes[0].x1": Affine(x, offset=0.5),
        "layout.shapes[0].y0": Affine(y, offset=-0.5),
        "layout.shapes[0].y1": Affine(y, offset=0.5),
        "layout.shapes[0].line.color": colour("accent"),
    }


def unit_over_tokens(view: RecurrentView) -> Live:
    """Every gate and state of the chosen unit, one row of bars each over the same tokens."""
    points, tokens, rows = view.points, view.tokens, len(view.points)
    states = [point for point in points if point in SIGNED]
    gates = [point for point in points if point not in SIGNED]
    room = {point: BAR / view.limit(point) / (2 if point in SIGNED else 1) for point in points}
    zero = {point: row + (0 if point in SIGNED else BAR / 2) for row, point in enumerate(points)}
    values = {point: view.arrays[point]["snapshot", :, "unit"] for point in points}  # (time,)

    def bars(of: list[str]) -> go.Bar:
        base = np.repeat([zero[point] for point in of], len(tokens))
        return go.Bar(x=categories(tokens) * len(of), base=base, width=0.86, hoverinfo="skip", yaxis="y2")

    def heights(of: list[str]) -> Concat:  # upwards, on an axis that runs downwards
        scale = {point: Array(f"{view.name}.{point}.scale", -room[point].astype(np.float32)) for point in of}
        return Concat([Affine(values[point], scale=scale[point]["unit"]) for point in of])

    chosen = Array(f"{view.name}.chosen", np.eye(rows, dtype=np.int32))
    name_colours = [Choose(chosen[view.point_index, row], [colour("ink"), colour("accent")]) for row in range(rows)]
    names = [
        Fill('<span style="color:{colour}">{name}</span>', colour=name_colours[row], name=view.point_name(point))
        for row, point in enumerate(points)
    ]
    span = [rows - 0.5, -0.5]
    figure = go.Figure(
        [
            go.Heatmap(x=categories(tokens), zmin=0, zmax=1, colorscale=CLEAR_SCALE, showscale=False),
            bars(gates),
            bars(states),
            go.Scatter(
                x=[1] * rows, y=list(range(rows)), mode="text", textposition="middle right", hoverinfo="skip",
                textfont={"family": MONO}, cliponaxis=False, xaxis="x2", yaxis="y2",
            ),
        ],
        {
            "xaxis": token_axis(tokens, side="top", tickangle=0, tickfont={"family": MONO}, fixedrange=True),
            "yaxis": {
                "type": "category", "range": span, "tickvals": list(range(rows)), "showgrid": False, "zeroline": False,
                "ticks": "", "tickfont": {"family": MONO}, "ticklabelstandoff": 7, "fixedrange": True,
            },
            "xaxis2": {"overlaying": "x", "visible": False, "range": [0, 1], "fixedrange": True},
            "yaxis2": {
                "overlaying": "y", "showgrid": True, "range": span, "fixedrange": True, "zeroline": False, "showticklabels": False,
                "ticks": "", "tickvals": [zero[point] for point in points],
            },
            "margin": {"l": 86, "r": 66, "t": 24, "b": 2},
            "barmode": "overlay",
            "shapes": [{"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "layer": "below", "line": {"width": 0}}],
        },
    )  # fmt: skip
    bindings: dict[str, Any] = {
        "data[0].z": [values[point] for point in points],
        "data[0].y": [view.point_name(point) for point in points],
        "data[0].hovertemplate": _hover("%{y}", view.unit, "%{x}"),
        "data[1].y": heights(gates) if gates else [],
        "data[1].marker.color": GATE_COLOUR,
        "data[2].y": heights(states),
        "data[2].marker.color": BySign(heights(states), ORANGE, BLUE),  # upwards is negative there
        "data[3].text": [_now(view, point) for point in points],
        "data[3].textfont.color": name_colours,
        "layout.yaxis.ticktext": names,
        "layout.shapes[0].x0": Affine(view.time, offset=-0.5),
        "layout.shapes[0].x1": Affine(view.time, offset=0.5),
        "layout.shapes[0].fillcolor": colour("soft"),
    }
    return Live(
        figure,
        bindings,
        title=Format("Unit {unit}", unit=view.unit),
        caption=unit_caption(view),
        file=Fill("{name}-unit{unit}", name=view.file, unit=view.unit),
        click={"gate": Choose(State("y"), list(points)), "time": "x"},
        arrows={"x": ("time", len(tokens)), "y": ("gate", list(points))},
        tokens={"x": tokens},
        links={"x": view.axis},
        table=[(Fill("step {step}", step=view.step), list(points)), (tokens, [values[point] for point in points])],
        height=26 + ROW * rows,
    )


def _now(view: RecurrentView, point: str) -> Fill:
    """The value at the chosen token, and below it the range of the row."""
    limit = Array(f"{view.name}.{point}.limit", view.limit(point))["unit"]
    bounded = bool((view.limit(point) == 1).all())
    bound = ("±1" if point in SIGNED else "0–1") if bounded else Fill("±{limit:.2f}", limit=limit)
    bound = Fill("{bound:8}", bound=bound)  # of small letters, as wide as the number
    value = view.arrays[point]["snapshot", view.time, "unit"]
    bound = Fill('<span style="font-size:11px;color:{colour}">{bound}</span>', colour=colour("mute"), bound=bound)
    return Fill("{value:7.3f}<br>{bound}", value=value, bound=bound)


def unit_over_training(view: RecurrentView) -> Live:
    """The chosen gate or state of the chosen unit: tokens (rows) over the snapshots (columns)."""
    tokens, steps = view.tokens, [str(step) for step in view.steps]
    columns = [_category(step) for step in view.steps]
    axes = token_axes(tokens, steps)
    axes["xaxis"] |= {"categoryarray": columns}
    axes["yaxis"] |= {"tickfont": {"family": MONO}, "ticklabelstandoff": 4}
    figure = go.Figure(
        go.Heatmap(x=columns, y=categories(tokens), showscale=False),
        {**axes, "margin": {"l": 44, "r": 4, "t": 26, "b": 4}, "shapes": [{"type": "rect", "line": {"width": 2.5}}]},
    )
    limits = {point: Array(f"{view.name}.{point}.limit", view.limit(point))["unit"] for point in view.points}
    tip = _hover(view.chosen_name, view.unit, "%{y}", value="%{z:.4f}", more=Format("step {step}", step="%{x}"))
    values = _by_point(view, lambda point: Transpose(view.arrays[point][:, :, "unit"]))
    snapshot = Array(f"{view.name}.snapshots", np.arange(len(steps), dtype=np.int32))["snapshot"]
    return Live(
        figure,
        {
            "data[0].z": values,
            "data[0].zmin": _by_point(view, lambda point: Affine(limits[point], -1.0) if point in SIGNED else 0),
            "data[0].zmax": _by_point(view, lambda point: limits[point]),
            "data[0].colorscale": scale_of(view),
            "data[0].hovertemplate": tip,
            **_frame(snapshot, view.time),
        },
        title=Format("Unit {unit}", unit=view.unit),
        caption=swing_caption(view),
        file=Fill("{name}-unit{unit}", name=view.file, unit=view.unit),
        click={"time": "y", "snapshot": "x"},
        arrows={"x": ("snapshot", len(steps)), "y": ("time", len(tokens))},
        tokens={"x": steps, "y": tokens},
        links={"y": view.axis},
        height=230,
    )
