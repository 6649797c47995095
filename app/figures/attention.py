"""Attention as pictures: all heads small, one head large. Darker = more weight, from 0 to 1 in every picture."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

SCALE = [[0.0, "rgba(13,148,136,0.04)"], [1.0, "rgb(13,148,136)"]]  # one hue: safe for colour-blind eyes
GREY = "#7c8794"


def all_heads(weights: np.ndarray, focus: tuple[int, int]) -> go.Figure:
    """weights (layer, head, query, key)"""
    layers, heads = weights.shape[:2]
    names = [f"{layer}.{head}" for layer in range(layers) for head in range(heads)]
    figure = make_subplots(layers, heads, subplot_titles=names, horizontal_spacing=0.03, vertical_spacing=0.12)
    for layer in range(layers):
        for head in range(heads):
            picture = go.Heatmap(z=weights[layer, head], **_COLOURS, hoverinfo="skip")
            figure.add_trace(picture, layer + 1, head + 1)
            chosen = (layer, head) == focus
            frame = {"showline": True, "mirror": True, "linewidth": 2 if chosen else 1}
            frame["linecolor"] = "#0d9488" if chosen else "rgba(124,135,148,0.35)"
            bare = {"showticklabels": False, "showgrid": False, "zeroline": False, **frame}
            figure.update_xaxes(**bare, row=layer + 1, col=head + 1)
            figure.update_yaxes(**bare, autorange="reversed", row=layer + 1, col=head + 1)
    return _dress(figure, height=40 + 170 * layers, left=12)


def one_head(weights: np.ndarray, tokens: list[str], words: dict[str, str]) -> go.Figure:
    """weights (query, key); `words` are the texts of axes and hover in the reader's language"""
    places = list(range(len(tokens)))
    labels = {"tickmode": "array", "tickvals": places, "ticktext": tokens, "showgrid": False, "zeroline": False}
    spelled = np.array(tokens, dtype=object)
    custom = np.stack(np.broadcast_arrays(spelled[:, None], spelled[None, :]), axis=-1)
    hover = (
        f"{words['hover_from']} %{{customdata[0]}} (%{{y}})<br>{words['hover_to']} %{{customdata[1]}} (%{{x}})"
        f"<br>{words['hover_weight']} %{{z:.4f}}<extra></extra>"
    )
    figure = go.Figure(go.Heatmap(z=weights, customdata=custom, hovertemplate=hover, **_COLOURS))
    figure.update_xaxes(title=words["key"], side="top", **labels)
    figure.update_yaxes(title=words["query"], autorange="reversed", **labels)
    return _dress(figure, height=520, left=48)


_COLOURS = {"zmin": 0.0, "zmax": 1.0, "colorscale": SCALE, "showscale": False, "xgap": 1, "ygap": 1}


def _dress(figure: go.Figure, height: int, left: int) -> go.Figure:
    """Transparent, so that the page's light or dark ground shows through."""
    return figure.update_layout(
        height=height,
        margin={"l": left, "r": 12, "t": 48, "b": 12},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": GREY, "family": "system-ui, sans-serif", "size": 13},
        dragmode=False,
    )
