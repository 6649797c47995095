"""The Attention tab's figures: all heads, one head, rollout, report card, and the terms of one weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.attention_view import ROLES, SHARES, AttentionView
from app.figures.axes import categories, token_axes
from app.figures.expressions import Affine, Array, Choose, Expression, Fill, Format, State, Tile
from app.figures.live import Live
from app.figures.theme import SIGNED, WEIGHT, colour

ROLE_NAMES = [
    Format("induction head"),
    Format("previous-token head"),
    Format("looks at the token itself"),
    Format("rests on the first token"),
]
MEASURE_NAMES = {
    "entropy": Format("entropy"),
    "distance": Format("distance"),
    "previous": Format("previous token"),
    "own": Format("itself"),
    "first": Format("first token"),
    "induction": Format("induction"),
    "agreement": Format("alignment"),
}
CHOSEN = ("snapshot", "layer", "head")


def all_heads(view: AttentionView) -> Live:
    """Every head's map side by side: rows are layers, columns heads, each with its role below."""
    _, layers, heads, rows, columns = view.weights.values.shape
    gap_y, gap_x = max(2, round(0.3 * rows)), max(1, round(0.1 * columns))
    high, wide = rows + gap_y, columns + gap_x
    centres = [
        [head * wide + (columns - 1) / 2, layer * high + rows - 0.5 + gap_y / 2]
        for layer in range(layers)
        for head in range(heads)
    ]
    short = heads > 8
    labels = [
        Choose(view.role["snapshot", layer, head], _role_labels(short))
        for layer in range(layers)
        for head in range(heads)
    ]
    figure = go.Figure(
        [
            go.Heatmap(zmin=0, showscale=False, hoverinfo="none"),
            go.Scatter(x=[x for x, _ in centres], y=[y for _, y in centres], mode="text", textfont={"size": 10 if short else 12}, hoverinfo="skip"),
        ],
        {
            "xaxis": {
                "side": "top", "showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True,
                "range": [-0.5 - gap_x / 2, heads * wide - 0.5 - gap_x / 2],
                "tickvals": [head * wide + (columns - 1) / 2 for head in range(heads)], "ticktext": [str(head) for head in range(heads)],
            },
            "yaxis": {
                "showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True,
                "range": [layers * high - 0.5, -0.5 - gap_x / 2],
                "tickvals": [layer * high + (rows - 1) / 2 for layer in range(layers)], "ticktext": [str(layer) for layer in range(layers)],
            },
            "margin": {"l": 24, "r": 4, "t": 24, "b": 4},
            "shapes": [{"type": "rect", "line": {"width": 2.5}}],
        },
    )  # fmt: skip
    caption = Format(
        "Each row is a layer ({layers} in all), each column a head ({heads} per layer); stronger colour means more weight.",
        layers=layers,
        heads=heads,
    )
    return Live(
        figure,
        {
            "data[0].z": Tile(view.weights["snapshot"], gap_y, gap_x),
            "data[0].zmax": Array(f"{view.name}.limits", view.limit.values.max((1, 2)))["snapshot"],
            "data[0].colorscale": WEIGHT,
            "data[1].text": labels,
            "data[1].textfont.color": colour("mute"),
            "layout.shapes[0].x0": Affine(State("head"), wide, -0.5),
            "layout.shapes[0].x1": Affine(State("head"), wide, columns - 0.5),
            "layout.shapes[0].y0": Affine(State("layer"), high, -0.5),
            "layout.shapes[0].y1": Affine(State("layer"), high, rows - 0.5),
            "layout.shapes[0].line.color": colour("accent"),
            "layout.plot_bgcolor": "rgba(0,0,0,0)",
        },
        title=Format("All heads"),
        caption=caption,
        file=Fill("{name}-heads-step{step}", name=view.file, step=view.step),
        click={"layer": Affine(State("y"), 1 / high, whole=True), "head": Affine(State("x"), 1 / wide, whole=True)},
        arrows={"x": ("head", heads), "y": ("layer", layers)},
        height=24 + round(min(110 * heads, 460) / heads * layers * high / wide) + 8,
    )


def _role_labels(short: bool) -> list[Expression]:
    if short:
        names = [Fill("–"), Format("align"), Format("ind."), Format("prev."), Format("self"), Format("first")]
    else:
        names = [
            Format("no role"),
            Format("alignment"),
            Format("induction"),
            Format("previous"),
            Format("itself"),
            Format("first"),
        ]
    return list(names)


def one_head(view: AttentionView) -> Live:
    """One head's map: which query (row) gives how much of its weight to which key (column)."""
    sentences = [
        Format(
            "{who} has no clear role on this input: its largest share is {share:.1%}.",
            who=view.who,
            share=view.share[CHOSEN],
        ),
        Format(
            "{who} puts **{share:.0%}** of its weight where the right answer comes from (marked).",
            who=view.who,
            share=view.share[CHOSEN],
        ),
        Format(
            "{who} puts **{share:.0%}** of its weight on tokens that **followed earlier occurrences** of the current one, where there were any.",
            who=view.who,
            share=view.share[CHOSEN],
        ),
        Format(
            "{who} puts **{share:.0%}** of its weight on the **previous token**.",
            who=view.who,
            share=view.share[CHOSEN],
        ),
        Format(
            "{who} puts **{share:.0%}** of its weight on the token **itself**.",
            who=view.who,
            share=view.share[CHOSEN],
        ),
        Format(
            "{who} rests: **{share:.0%}** of its weight lies on the **first token**.",
            who=view.who,
            share=view.share[CHOSEN],
        ),
    ]
    live = _map(view, view.weights[CHOSEN], view.limit[CHOSEN])
    live.title, live.caption = view.heading, Choose(view.role[CHOSEN], sentences)
    live.file = Fill(
        "{name}-{layer}.{head}-step{step}", name=view.file, layer=State("layer"), head=State("head"), step=view.step
    )
    if view.alignment and "agreement" in view.measures:
        places = [(key, query) for query, keys in enumerate(view.alignment) for key in keys]
        live.figure.add_scatter(
            x=[x for x, _ in places], y=[y for _, y in places], mode="markers", hoverinfo="skip",
            marker={"symbol": "square-open", "size": 9, "line": {"width": 1.5}},
        )  # fmt: skip
        live.bindings["data[1].marker.color"] = colour("amber")
    return live


def rollout(view: AttentionView) -> Live:
    """Attention rollout (Abnar & Zuidema 2020): heads averaged, half of each layer passed on, multiplied up to this layer."""
    assert view.rollout is not None
    live = _map(view, view.rollout["snapshot", "layer"], 1.0)
    live.title = Format("Rollout through layer {layer}", layer=State("layer"))
    live.file = Fill("{name}-rollout{layer}-step{step}", name=view.file, layer=State("layer"), step=view.step)
    return live


def _map(view: AttentionView, values: Any, limit: Any) -> Live:
    """A token × token map with the mask laid over it and a frame around the chosen cell."""
    rows, columns = view.queries, view.keys
    figure = go.Figure(
        go.Heatmap(
            x=categories(columns), y=categories(rows), zmin=0, showscale=False,
            hovertemplate="%{y} → %{x}: %{z:.4f}<extra></extra>",
        ),
        {
            **token_axes(rows, columns),
            "margin": {"l": 44, "r": 6, "t": 30, "b": 6},
            "shapes": [{"type": "rect", "line": {"width": 2.5}}, *_hidden(view.allowed)],
        },
    )  # fmt: skip
    bindings: dict[str, Any] = {
        "data[0].z": values,
        "data[0].zmax": limit,
        "data[0].colorscale": WEIGHT,
        "layout.shapes[0].x0": Affine(State("key"), offset=-0.5),
        "layout.shapes[0].x1": Affine(State("key"), offset=0.5),
        "layout.shapes[0].y0": Affine(State("query"), offset=-0.5),
        "layout.shapes[0].y1": Affine(State("query"), offset=0.5),
        "layout.shapes[0].line.color": colour("accent"),
    }
    if view.allowed is not None:
        bindings["layout.shapes[1].fillcolor"] = colour("hidden")
    return Live(
        figure,
        bindings,
        click={"query": "y", "key": "x"},
        arrows={"x": ("key", len(columns)), "y": ("query", len(rows))},
        tokens={"x": [token for token in columns], "y": [token for token in rows]},
        links={"x": view.key_axis, "y": view.query_axis},
        height="square",
    )


def _hidden(allowed: np.ndarray | None) -> list[dict[str, Any]]:
    """The cells the mask hides, as one shape: a rectangle for every run of them in a row."""
    if allowed is None:
        return []
    paths = []
    for row, open_cells in enumerate(allowed):
        edges = np.flatnonzero(np.diff(np.concatenate([[True], open_cells.astype(bool), [True]]).astype(int)))
        for start, end in edges.reshape(-1, 2):
            paths.append(f"M{start - 0.5},{row - 0.5}H{end - 0.5}V{row + 0.5}H{start - 0.5}Z")
    return [{"type": "path", "path": "".join(paths), "line": {"width": 0}, "layer": "above"}]


def score_terms(terms: Any, q: Any, k: Any, kind: str = "dot") -> Live:
    """The terms q_i · k_i of one score, dimension by dimension."""
    values = np.asarray(terms, np.float32)
    order = np.argsort(-np.abs(values), kind="stable")
    few = int(np.searchsorted(np.cumsum(np.abs(values)[order]), np.abs(values).sum() / 2)) + 1
    largest = int(order[0])
    figure = go.Figure(
        go.Bar(
            y=values, customdata=np.stack([np.asarray(q), np.asarray(k)], 1), marker={"color": values, "cmid": 0},
            hovertemplate="%{x}: q %{customdata[0]:.4f}, k %{customdata[1]:.4f}, term %{y:.4f}<extra></extra>",
        ),
        {"bargap": 0.15, "xaxis": {"showgrid": False}, "yaxis": {"nticks": 4}, "margin": {"l": 44, "r": 4, "t": 4, "b": 20}},
    )  # fmt: skip
    facts = {"few": few, "width": len(values), "unit": largest, "term": float(values[largest])}
    caption = Format(
        "Half of the sum of |q · k| comes from **{few}** of {width} dimensions; the largest is dimension **{unit}** with {term:.2f}.",
        **facts,
    )
    if kind != "dot":
        caption = Format(
            "Half of the sum of |terms| comes from **{few}** of {width} units; the largest is unit **{unit}** with {term:.2f}.",
            **facts,
        )
    return Live(figure, {"data[0].marker.colorscale": SIGNED}, caption=caption, height=132)


def report_card(view: AttentionView) -> Live:
    """Each measure of what a head does, through training, with its value now; the one that names its role stands out."""
    names = list(view.measures)
    values = np.stack([view.measures[name].values for name in names], -1).astype(
        np.float32
    )  # (snapshot, layer, head, measure)
    most = np.where(
        [name in SHARES for name in names], 1.0, np.maximum(values.max(0), 1e-9)
    )  # (layer, head, measure)
    height = len(names) - 1 - np.arange(len(names))
    level = (height + 0.15 + 0.7 * np.minimum(1, values / most)).astype(np.float32)
    curves = np.pad(
        np.moveaxis(level, 0, -1), [(0, 0)] * 3 + [(0, 1)], constant_values=np.nan
    )  # gaps between the lines
    exact = np.pad(np.moveaxis(values, 0, -1), [(0, 0)] * 3 + [(0, 1)], constant_values=np.nan)
    x = np.log1p(view.steps)
    row_of = np.array([len(names), *(names.index(role) if role in names else len(names) for role in ROLES)], np.int32)
    role_row = Array(f"{view.name}.role_row", row_of[view.role.values])
    hot = np.concatenate([np.moveaxis(level, 0, -1), np.full((*level.shape[1:3], 1, len(x)), np.nan, np.float32)], 2)
    level_now, hot_curve = Array(f"{view.name}.level", level), Array(f"{view.name}.hot", hot)
    figure = go.Figure(
        [
            go.Scatter(x=np.tile(np.append(x, np.nan), len(names)), mode="lines", line={"width": 1.4}, hovertemplate="%{customdata:.4f}<extra></extra>"),
            go.Scatter(x=x, mode="lines", line={"width": 2.2}, hoverinfo="skip"),
            go.Scatter(mode="markers", marker={"size": 7}, hoverinfo="skip"),
            go.Scatter(x=[1.0] * len(names), y=height + 0.4, mode="text", textposition="middle left", hoverinfo="skip", xaxis="x2"),
        ],
        {
            "xaxis": {"visible": False, "domain": [0.32, 0.84], "fixedrange": True, "range": [-0.1, float(x.max()) + 0.1 or 1]},
            "xaxis2": {"visible": False, "domain": [0.86, 1], "fixedrange": True, "range": [0, 1]},
            "yaxis": {
                "fixedrange": True, "range": [-0.1, len(names)], "tickvals": list(height + 0.4), "showgrid": False,
                "zeroline": False, "ticks": "", "ticklabelposition": "inside", "anchor": "free", "position": 0,
            },
        },
    )  # fmt: skip
    who, step = view.who, view.step
    none = Format(
        "{who} has **no clear role** at step {step}: no share reaches {clear:.0%}.",
        who=who,
        step=step,
        clear=view.clear,
    )
    roles = [
        Format(
            "{who} has pointed at the **right source tokens** since step {step}.", who=who, step=view.since[CHOSEN]
        ),
        *(
            Format("{who}: **{role}**, since step {step}.", who=who, role=name, step=view.since[CHOSEN])
            for name in ROLE_NAMES
        ),
    ]
    return Live(
        figure,
        {
            "data[0].y": Array(f"{view.name}.curves", curves.reshape(*curves.shape[:2], -1))["layer", "head"],
            "data[0].customdata": Array(f"{view.name}.exact", exact.reshape(*exact.shape[:2], -1))["layer", "head"],
            "data[0].line.color": colour("mute"),
            "data[1].y": hot_curve["layer", "head", role_row[CHOSEN]],
            "data[1].line.color": colour("accent"),
            "data[2].x": [Array("log_steps", x.astype(np.float32))["snapshot"]] * len(names),
            "data[2].y": level_now[CHOSEN],
            "data[2].marker.color": colour("ink"),
            "data[3].text": [Fill("{value:.2f}", value=view.measures[name][CHOSEN]) for name in names],
            "data[3].textfont.color": colour("ink"),
            "layout.yaxis.ticktext": [MEASURE_NAMES[name] for name in names],
        },
        title=Format("Report card"),
        caption=Choose(view.role[CHOSEN], [none, *roles]),
        file=Fill("{name}-{layer}.{head}-report", name=view.file, layer=State("layer"), head=State("head")),
        click={"snapshot": "point"},
        height=27 * len(names) + 16,
    )
