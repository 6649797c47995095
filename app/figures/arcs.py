"""One head as arcs from the looking token (left) to the seen one (right), the thicker the larger their weight."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.attention import role_sentence
from app.figures.attention_view import CHOSEN, AttentionView
from app.figures.axes import tick_labels
from app.figures.expressions import Array, Curves, Fill, Format, Item, Sentences, State, evaluate
from app.figures.live import Live
from app.figures.theme import MONO, colour

LEVELS = (
    0.02,
    0.08,
    0.2,
    0.4,
    0.7,
    1.01,
)  # weights between two of them are drawn alike; those below the first not at all
MOST_TOKENS = 128
LEAST_ROW, MOST_ROW, HEIGHT = 22, 46, 520  # px: of a token, and of the whole if it can be


def arcs(view: AttentionView) -> Live:
    """Arcs of the chosen query stand out; those that should be there are dashed."""
    count = max(len(view.queries), len(view.keys))
    levels = list(pairwise(LEVELS))
    traces, bindings = [], {}
    for chosen in (False, True):
        for low, high in levels:
            at, middle = f"data[{len(traces)}]", (low + min(high, 1)) / 2
            traces.append(
                go.Scatter(
                    mode="lines", line={"width": 0.5 + 5 * middle}, opacity=min(1, 0.2 + 0.7 * middle + 0.3 * chosen)
                )
            )
            row = State("query") if chosen else None
            for name, part in (("x", "x"), ("y", "y"), ("customdata", "cells")):
                bindings[f"{at}.{name}"] = Curves(view.weights[CHOSEN], low, high, part, row)
            bindings[f"{at}.line.color"] = colour("accent" if chosen else "mute")
            bindings[f"{at}.hovertemplate"] = Fill(
                "{query} → {key}: {weight}<extra></extra>",
                query="%{customdata[0]}", key="%{customdata[1]}", weight="%{customdata[2]:.4f}",
            )  # fmt: skip
    tokens = len(traces)
    for labels, x, side in ((view.queries, -0.02, "left"), (view.keys, 1.02, "right")):
        traces.append(
            go.Scatter(
                x=[x] * len(labels), y=list(range(len(labels))), text=tick_labels(labels), mode="text",
                textposition=f"middle {side}", textfont={"family": MONO}, hoverinfo="none",
            )
        )  # fmt: skip
    strongest, _ = view.strongest(-1)
    cells = np.stack([np.broadcast_to(np.arange(len(view.queries)), strongest.values.shape), strongest.values], -1)
    bindings[f"data[{tokens}].customdata"] = Array(f"{view.name}.cells", cells.astype(np.int32))[CHOSEN]
    bindings[f"data[{tokens + 1}].customdata"] = [[State("query"), key] for key in range(len(view.keys))]
    for trace in (tokens, tokens + 1):
        bindings[f"data[{trace}].textfont.color"] = colour("ink")
    if view.alignment and "agreement" in view.measures:
        right = np.zeros((len(view.queries), len(view.keys)))
        for query, keys in enumerate(view.alignment):
            right[query, keys] = 1
        traces.append(go.Scatter(x=evaluate(Curves(right, 1, 2, "x"), {}), y=evaluate(Curves(right, 1, 2, "y"), {}), mode="lines", line={"width": 1, "dash": "dot"}, hoverinfo="skip"))  # fmt: skip
        bindings[f"data[{len(traces) - 1}].line.color"] = colour("amber")
    axis: dict[str, Any] = {"visible": False, "fixedrange": True}
    figure = go.Figure(
        traces,
        {
            "xaxis": axis | {"range": [-0.34, 1.34]},
            "yaxis": axis | {"range": [count - 0.5, -0.5]},
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        },
    )
    return Live(
        figure,
        bindings,
        title=view.heading,
        caption=Sentences(
            [
                role_sentence(view),
                Format("Lines below a weight of {least:.2f} are left out.", least=LEVELS[0]),
                Format("Queries are on the left, keys on the right."),
            ]
        ),
        file=Fill(
            "{name}-{layer}.{head}-arcs-step{step}",
            name=view.file,
            layer=State("layer"),
            head=State("head"),
            step=view.step,
        ),
        click={"query": Item(State("customdata"), 0), "key": Item(State("customdata"), 1)},
        arrows={"x": ("key", len(view.keys)), "y": ("query", len(view.queries))},
        table={
            "query": [query for query in range(len(view.queries)) for _ in view.keys],
            "key": list(range(len(view.keys))) * len(view.queries),
            "weight": view.weights[CHOSEN],
        },
        height=round(count * min(MOST_ROW, max(LEAST_ROW, HEIGHT / count))) + 8,
    )
