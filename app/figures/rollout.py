"""Attention rollout (Abnar & Zuidema 2020): heads averaged, half of each layer passed on, multiplied up through the layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.attention import token_map, waiting
from app.figures.attention_view import AttentionView
from app.figures.axes import categories, token_axis
from app.figures.expressions import Affine, Array, Expression, Fill, Format, Sentences, State
from app.figures.live import Live
from app.figures.theme import colour


def rollout(view: AttentionView) -> Live:
    """Attention rollout (Abnar & Zuidema 2020): heads averaged, half of each layer passed on, multiplied up to this layer."""
    assert view.rollout is not None
    live = token_map(view, view.rollout["snapshot", "layer"], 1.0)
    live.title = Format("Rollout through layer {layer}", layer=State("layer"))
    live.file = Fill("{name}-rollout{layer}-step{step}", name=view.file, layer=State("layer"), step=view.step)
    live.caption = _rollout_caption(view)
    if view.pooled:
        live.caption = Sentences([live.caption, waiting(view)])
    return live


def _rollout_caption(view: AttentionView) -> Expression:
    """How much of the chosen token is still its own, and which other gave most."""
    assert view.rollout is not None
    shares, side = view.rollout.values * np.float32(view.rollout.unit), max(1, view.pooled)
    at = np.arange(shares.shape[-1])
    own = Array(f"{view.name}.rollout.own", shares[..., at, at].astype(np.float32))  # (snapshot, layer, token)
    others = np.array(shares)
    others[..., at, at] = -1
    most = Array(f"{view.name}.rollout.most", others.max(-1).astype(np.float32))
    place = Array(f"{view.name}.rollout.place", (others.argmax(-1) * side).astype(np.int32))
    tile = Affine(State("query"), 1 / side, whole=True)
    chosen = ("snapshot", "layer", tile)
    about: dict[str, Any] = {
        "layer": State("layer"), "token": view.query_token(State("query")), "at": State("query"), "own": own[chosen],
    }  # fmt: skip
    if len(view.queries) == 1:
        return Format(
            "**{token}** ({at}) is the only token: through layer {layer}, {own:.0%} of it is its own.", **about
        )
    return Format(
        "Up to layer {layer}, heads averaged and half of each layer passed on unchanged: **{own:.0%}** of **{token}** ({at}) is still its own; of the others **{other}** ({place}) gave most, **{share:.0%}**.",
        **about,
        other=view.query_token(place[chosen]),
        place=place[chosen],
        share=most[chosen],
    )


def sources(view: AttentionView) -> Live:
    """The row of the chosen token as bars: how much of it comes from each token, up to the chosen layer."""
    assert view.rollout is not None
    side = max(1, view.pooled)
    places = np.arange(view.rollout.values.shape[-1]) * side
    chosen = ("snapshot", "layer", Affine(State("query"), 1 / side, whole=True))
    token = view.query_token(State("query"))
    return Live(
        go.Figure(
            go.Bar(x=[categories(view.queries)[place] for place in places], marker={"line": {"width": 0}}),
            {
                "xaxis": token_axis(view.queries, fixedrange=True),
                "yaxis": {
                    "range": [0, 1.02],
                    "nticks": 3,
                    "fixedrange": True,
                    "showgrid": False,
                    "tickformat": ".0%",
                },
                "margin": {"l": 44, "r": 4, "t": 6, "b": 30},
                "bargap": 0.2,
            },
        ),
        {
            "data[0].y": view.rollout[chosen],
            "data[0].marker.color": colour("accent"),
            "data[0].hovertemplate": Fill("{token}: {share}<extra></extra>", token="%{x}", share="%{y:.4f}"),
        },
        title=Format("Where {token} ({at}) comes from", token=token, at=State("query")),
        file=Fill(
            "{name}-sources{layer}-{at}-step{step}",
            name=view.file,
            layer=State("layer"),
            at=State("query"),
            step=view.step,
        ),
        tokens={"x": view.queries},
        height=190,
    )
