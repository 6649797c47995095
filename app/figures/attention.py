"""Attention as pictures: all heads small, one head large. Darker = more weight, from 0 to 1 in every picture.

Cells the model may not look at (NaN) are left out, those it may but does not are faintly tinted.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

SCALE = [[0.0, "rgba(13,148,136,0.07)"], [1.0, "rgb(13,148,136)"]]  # one hue: safe for colour-blind eyes
MOST_LABELS = 32  # more than these would overlap


def all_heads(weights: np.ndarray, focus: tuple[int, int]) -> go.Figure:
    """weights (layer, head, query, key)"""
    layers, heads = weights.shape[:2]
    names = [f"{layer}.{head}" for layer in range(layers) for head in range(heads)]
    figure = make_subplots(layers, heads, subplot_titles=names, horizontal_spacing=0.03, vertical_spacing=0.12)
    for i, name in enumerate(names):
        layer, head = divmod(i, heads)
        place = {"row": layer + 1, "col": head + 1}
        figure.add_trace(_heatmap(weights[layer, head], hoverinfo="skip", showscale=False, name=name), **place)
        chosen = (layer, head) == focus
        frame = {"showline": True, "mirror": True, "linewidth": 3 if chosen else 1}
        frame["linecolor"] = "#0d9488" if chosen else "rgba(124,135,148,0.35)"
        bare = {"showticklabels": False, "showgrid": False, "zeroline": False, "constrain": "domain", **frame}
        figure.update_xaxes(**bare, **place)
        figure.update_yaxes(**bare, autorange="reversed", scaleanchor=f"x{i + 1 if i else ''}", **place)
    return _dress(figure, height=40 + 170 * layers, left=12)


def one_head(weights: np.ndarray, tokens: list[str], words: dict[str, str]) -> go.Figure:
    """weights (query, key); `words` are the texts of axes and hover in the reader's language"""
    spacing = -(-len(tokens) // MOST_LABELS)
    places = list(range(0, len(tokens), spacing))
    labels = {"tickmode": "array", "tickvals": places, "ticktext": [tokens[i] for i in places]}
    axis = {"showgrid": False, "zeroline": False, "constrain": "domain", **labels}
    spelled = np.array([f"{token} ({words['hover_place']} {i})" for i, token in enumerate(tokens)], dtype=object)
    custom = np.stack(np.broadcast_arrays(spelled[:, None], spelled[None, :]), axis=-1)
    hover = (
        f"{words['hover_from']} %{{customdata[0]}}<br>{words['hover_to']} %{{customdata[1]}}"
        f"<br>{words['hover_weight']} %{{z:.4f}}<extra></extra>"
    )
    below = {"orientation": "h", "y": -0.01, "yanchor": "top", "len": 0.6}
    legend = {"title": {"text": words["colour"], "side": "top"}, "thickness": 8, "tickvals": [0, 0.5, 1], **below}
    figure = go.Figure(_heatmap(weights, customdata=custom, hovertemplate=hover, colorbar=legend))
    figure.update_xaxes(title=words["key"], side="top", **axis)
    figure.update_yaxes(title=words["query"], autorange="reversed", scaleanchor="x", **axis)
    return _dress(figure, height=560, left=48)


def _heatmap(weights: np.ndarray, **more: object) -> go.Heatmap:
    gap = 1 if len(weights) <= MOST_LABELS else 0
    return go.Heatmap(z=weights, zmin=0.0, zmax=1.0, colorscale=SCALE, xgap=gap, ygap=gap, hoverongaps=False, **more)


def _dress(figure: go.Figure, height: int, left: int) -> go.Figure:
    """Transparent, so that the page's light or dark ground shows through; the page also colours the text."""
    return figure.update_layout(
        height=height,
        margin={"l": left, "r": 12, "t": 48, "b": 12},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13},
        dragmode=False,
    )
