"""The Attention tab's figures: all heads, and one head as a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.attention_view import CHOSEN, FEWEST_TOKENS, AttentionView
from app.figures.axes import categories, end_room, label_room, token_axes
from app.figures.expressions import (
    Affine,
    Array,
    Choose,
    Clamp,
    Expression,
    Fill,
    Format,
    Sentences,
    State,
    Tile,
)
from app.figures.live import Live
from app.figures.theme import WEIGHT, colour

ROLE_LABELS = (  # by the room for them: with the share, without, and as short as can be; the first has no role
    lambda share: [
        Format("no clear role"),
        Format("alignment {share:.2f}", share=share),
        Format("induction {share:.2f}", share=share),
        Format("previous {share:.2f}", share=share),
        Format("itself {share:.2f}", share=share),
        Format("first {share:.2f}", share=share),
    ],
    lambda share: [
        Format("no role"),
        Format("alignment"),
        Format("induction"),
        Format("previous"),
        Format("itself"),
        Format("first"),
    ],
    lambda share: [Fill(""), Format("align"), Format("ind."), Format("prev."), Format("self"), Format("first")],
)
SPELLED_HEADS = 6  # up to so many in a row are called "head 3", more just "3"
NOMINAL, ROLE, SIDE = 332, 18, 220  # px: the width that gaps are made for, of a role's line, of a head at most
ROLE_STEP = 52  # px of a head's width from which on its role has a name; from twice as many on, its share


def all_heads(view: AttentionView) -> Live:
    """Every head's map side by side: rows are layers, columns heads, each with its role below."""
    _, layers, heads, rows, columns = view.weights.values.shape
    gap_x = max(1, round(0.1 * columns))
    gap_y = max(2, round((ROLE if heads <= 12 else 5) * heads * (columns + gap_x) / NOMINAL))
    high, wide = rows + gap_y, columns + gap_x
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    roles = [view.role["snapshot", layer, head] for layer, head in places]
    shares = [view.share["snapshot", layer, head] for layer, head in places]
    room = Affine(State("width"), 1 / (heads * ROLE_STEP), whole=True)
    axis = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    figure = go.Figure(
        [
            go.Heatmap(zmin=0, showscale=False, hoverinfo="none"),
            go.Scatter(
                x=[head * wide + (columns - 1) / 2 for _, head in places],
                y=[layer * high + rows - 0.5 + gap_y / 2 for layer, _ in places],
                mode="text", textfont={"size": 10 if heads > 8 else 12}, hoverinfo="skip",
            ),
        ],
        {
            "xaxis": axis | {
                "side": "top", "range": [-0.5 - gap_x / 2, heads * wide - 0.5 - gap_x / 2],
                "tickvals": [head * wide + (columns - 1) / 2 for head in range(heads)],
            },
            "yaxis": axis | {
                "range": [layers * high - 0.5, -0.5],
                "tickvals": [layer * high + (rows - 1) / 2 for layer in range(layers)],
                "ticktext": [str(layer) for layer in range(layers)],
            },
            "margin": {"l": 24, "r": 4, "t": 24, "b": 4},
            "shapes": [
                {"type": "rect", "line": {"width": 2.5}},
                {"type": "path", "path": _frames(layers, heads, high, wide, rows, columns), "line": {"width": 0.7}},
            ],
        },
    )  # fmt: skip
    mute, accent = colour("mute"), colour("accent")
    return Live(
        figure,
        {
            "data[0].z": Tile(view.weights["snapshot"], gap_y, gap_x),
            "data[0].zmax": view.grid_limit["snapshot"],
            "data[0].colorscale": WEIGHT,
            "data[1].text": [""] * len(roles) if not view.measures else Choose(
                room,
                [
                    [Choose(role, words(share)) for role, share in zip(roles, shares, strict=True)]
                    for words in reversed(ROLE_LABELS)
                ],
            ),
            "data[1].textfont.color": [Choose(role, [mute, accent]) for role in roles],
            "data[1].textfont.weight": [Choose(role, [400, 600]) for role in roles],
            "layout.margin.r": Clamp(Affine(State("width"), offset=-28.0 - heads * SIDE), 4),
            "layout.xaxis.ticktext": [Format("head {n}", n=n) if heads <= SPELLED_HEADS else str(n) for n in range(heads)],
            "layout.shapes[0].x0": Affine(State("head"), wide, -0.5),
            "layout.shapes[0].x1": Affine(State("head"), wide, columns - 0.5),
            "layout.shapes[0].y0": Affine(State("layer"), high, -0.5),
            "layout.shapes[0].y1": Affine(State("layer"), high, rows - 0.5),
            "layout.shapes[0].line.color": accent,
            "layout.shapes[1].line.color": colour("line"),
        },
        title=Format("All heads"),
        caption=_grid_caption(view),
        file=Fill("{name}-heads-step{step}", name=view.file, step=view.step),
        click={"layer": Affine(State("y"), 1 / high, whole=True), "head": Affine(State("x"), 1 / wide, whole=True)},
        arrows={"x": ("head", heads), "y": ("layer", layers)},
        table={
            "layer": [layer for layer, _ in places],
            "head": [head for _, head in places],
            "role": [Choose(role, ["none", *_ROLE_IDS]) for role in roles],
            **{name: values["snapshot"] for name, values in view.measures.items()},
        },
        height=Affine(Clamp(Affine(State("width"), offset=-28.0), 100, heads * SIDE), layers * high / (heads * wide), 28),
    )  # fmt: skip


_ROLE_IDS = ["agreement", "induction", "previous", "own", "first"]


def _frames(layers: int, heads: int, high: int, wide: int, rows: int, columns: int) -> str:
    """A thin frame around every head, as one path."""
    corners = [(head * wide - 0.5, layer * high - 0.5) for layer in range(layers) for head in range(heads)]
    return "".join(f"M{x},{y}H{x + columns}V{y + rows}H{x}Z" for x, y in corners)


def _grid_caption(view: AttentionView) -> Expression:
    _, layers, heads, _, _ = view.weights.values.shape
    parts: list[Any] = [
        Format(
            "Each row is a layer ({layers} in all), each column a head ({heads} per layer); stronger colour means more weight.",
            layers=layers,
            heads=heads,
        )
    ]
    faint = Array(f"{view.name}.faint", (view.grid_limit.values < 1).astype(np.int32))
    small = Format(
        "All weights are small: the strongest colour stands for {limit:.4f}.", limit=view.grid_limit["snapshot"]
    )
    parts.append(Choose(faint["snapshot"], ["", small]))
    if view.pooled:
        parts.append(
            Format(
                "One dot stands for {side} × {side} of the {length} tokens and shows the largest weight among them.",
                side=view.pooled,
                length=len(view.queries),
            )
        )
    return Sentences(parts)


def one_head(view: AttentionView) -> Live:
    """One head's map: which query (row) gives how much of its weight to which key (column)."""
    live = token_map(view, view.weights[CHOSEN], view.limit[CHOSEN])
    if not view.pooled:
        live.pointed = _pointed(view)
    live.title, live.caption = view.heading, role_sentence(view)
    if view.pooled:
        live.caption = Sentences([live.caption, waiting(view)])
    live.file = Fill(
        "{name}-{layer}.{head}-step{step}", name=view.file, layer=State("layer"), head=State("head"), step=view.step
    )
    if view.alignment and "agreement" in view.measures:
        places = [(key, query) for query, keys in enumerate(view.alignment) for key in keys]
        live.figure.add_scatter(
            x=[categories(view.keys)[x] for x, _ in places], y=[categories(view.queries)[y] for _, y in places],
            mode="markers", hoverinfo="skip",
            marker={"symbol": "square-open", "size": 9, "line": {"width": 1.5}},
        )  # fmt: skip
        live.bindings["data[1].marker.color"] = colour("amber")
    return live


def role_sentence(view: AttentionView) -> Expression:
    """What the head does on this input, with the share of its weight that says so."""
    if not view.measures:
        return Fill("")
    about: dict[str, Any] = {"who": view.who, "share": view.share[CHOSEN]}
    if view.too_short:
        return Format(
            "What a head does cannot be told from so few tokens: type {fewest} or more.", fewest=FEWEST_TOKENS
        )
    return Choose(
        view.role[CHOSEN],
        [
            Format("{who} has no clear role on this input: its largest share is {share:.1%}.", **about),
            Format("{who} puts **{share:.0%}** of its weight where the right answer comes from (marked).", **about),
            Format(
                "{who} puts **{share:.0%}** of its weight on tokens that **followed earlier occurrences** of the current one, where there were any.",
                **about,
            ),
            Format("{who} puts **{share:.0%}** of its weight on the **previous token**.", **about),
            Format("{who} puts **{share:.0%}** of its weight on the token **itself**.", **about),
            Format("{who} rests: **{share:.0%}** of its weight lies on the **first token**.", **about),
        ],
    )


def waiting(view: AttentionView) -> Expression:
    return Format(
        "The exact weights of this head are on their way; shown are the largest of every {side} × {side}.",
        side=view.pooled,
    )


def token_map(view: AttentionView, values: Expression, limit: Any) -> Live:
    """A token × token map with the mask laid over it and a frame around the chosen cell."""
    rows, columns, side = view.queries, view.keys, view.pooled
    heatmap: dict[str, Any] = {"x": categories(columns), "y": categories(rows)}
    hover = Fill("{query} → {key}: {weight}<extra></extra>", query="%{y}", key="%{x}", weight="%{z:.4f}")
    if side:  # tiles of several tokens, on axes that count tokens
        heatmap = {"x0": (side - 1) / 2, "dx": side, "y0": (side - 1) / 2, "dy": side}
        hover = Format(
            "{query} → {key}: at most {weight}, the largest of {side} × {side}<extra></extra>",
            query="%{y:.0f}", key="%{x:.0f}", weight="%{z:.4f}", side=side,
        )  # fmt: skip
    axes, hidden = token_axes(rows, columns), [] if side else _hidden(view.allowed)
    if side:
        for axis in axes.values():
            axis["type"] = "linear"
            del axis["categoryorder"], axis["categoryarray"]
    figure = go.Figure(
        go.Heatmap(
            **heatmap, zmin=0, hoverongaps=False,
            colorbar={
                "orientation": "h", "thickness": 8, "len": 0.32, "x": 0, "xanchor": "left", "y": 0, "yanchor": "top",
                "ypad": 10, "xpad": 0, "outlinewidth": 0, "nticks": 3,
            },
        ),
        {
            **axes,
            "margin": {"l": label_room(rows), "r": end_room(columns), "t": 26, "b": 36},
            "annotations": [{"xref": "paper", "x": 0.36, "xanchor": "left", "yref": "paper", "y": 0, "yshift": -9, "yanchor": "top", "showarrow": False}],
            "shapes": [{"type": "rect", "line": {"width": 2.5}}, *hidden],
        },
    )  # fmt: skip
    room = Affine(State("width"), 1 / (label_room(rows) + 320), whole=True)  # 0: none beside the colour bar
    bindings: dict[str, Any] = {
        "data[0].z": values,
        "data[0].zmax": limit,
        "data[0].colorscale": WEIGHT,
        "data[0].hovertemplate": hover,
        "layout.annotations[0].text": Choose(room, ["", Format("Rows are queries, columns keys.")]),
        "layout.annotations[0].font.color": colour("mute"),
        "layout.shapes[0].x0": Affine(State("key"), offset=-0.5),
        "layout.shapes[0].x1": Affine(State("key"), offset=0.5),
        "layout.shapes[0].y0": Affine(State("query"), offset=-0.5),
        "layout.shapes[0].y1": Affine(State("query"), offset=0.5),
        "layout.shapes[0].line.color": colour("accent"),
    }
    if hidden:
        bindings["layout.shapes[1].fillcolor"] = colour("hidden")
    return Live(
        figure,
        bindings,
        click={"query": "y", "key": "x"},
        arrows={"x": ("key", len(columns)), "y": ("query", len(rows))},
        tokens={"x": columns, "y": rows},
        links={"x": view.key_axis, "y": view.query_axis},
        zoom=f"{view.name}.{len(rows)}.{len(columns)}",
        height="square",
    )


def _pointed(view: AttentionView) -> dict[str, Any]:
    """What is said of a token that is pointed at: where it looks most, and who looks most at it."""
    token = State("pointed")
    key, key_weight = view.strongest(-1)
    query, query_weight = view.strongest(-2)
    return {
        "y": Format(
            "{token} ({at}) looks most at {other} ({place}): {weight:.4f}", token=view.query_token(token), at=token,
            other=view.key_token(key[(*CHOSEN, token)]), place=key[(*CHOSEN, token)], weight=key_weight[(*CHOSEN, token)],
        ),
        "x": Format(
            "{token} ({at}) is seen most by {other} ({place}): {weight:.4f}", token=view.key_token(token), at=token,
            other=view.query_token(query[(*CHOSEN, token)]), place=query[(*CHOSEN, token)],
            weight=query_weight[(*CHOSEN, token)],
        ),
    }  # fmt: skip


def _hidden(allowed: np.ndarray | None) -> list[dict[str, Any]]:
    """The cells the mask hides, as one shape: a rectangle for every run of them in a row."""
    if allowed is None or allowed.all():
        return []
    paths = []
    for row, open_cells in enumerate(allowed):
        edges = np.flatnonzero(np.diff(np.concatenate([[True], open_cells.astype(bool), [True]]).astype(int)))
        for start, end in edges.reshape(-1, 2):
            paths.append(f"M{start - 0.5},{row - 0.5}H{end - 0.5}V{row + 0.5}H{start - 0.5}Z")
    return [{"type": "path", "path": "".join(paths), "line": {"width": 0}, "layer": "above"}]
