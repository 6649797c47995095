"""The report card of a head: each measure of what it does, through training, and the role they amount to, if any."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.attention_view import CHOSEN, ROLES, SHARES, AttentionView
from app.figures.expressions import Array, Choose, Expression, Fill, Format, State
from app.figures.live import Live
from app.figures.theme import colour

ROLE_NAMES = [
    Format("alignment head"),
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
MEASURE_HELP = {
    "entropy": Format("bits; 0 = looks at one token"),
    "distance": Format("tokens away, on average"),
    "previous": Format("share of weight"),
    "own": Format("share of weight"),
    "first": Format("share of weight; where idle heads rest"),
    "induction": Format(
        "share of weight on the tokens that followed earlier occurrences of the current one (Olsson et al. 2022)"
    ),
    "agreement": Format("share of weight where the right answer comes from"),
}
BASE, TOP = 0.15, 0.7  # of a row of height 1: where its curve begins, and how high it goes


def report_card(view: AttentionView) -> Live:
    """One row a measure: its curve over log(1 + step) and its value now; the one that names the role stands out."""
    names, rows = list(view.measures), len(view.measures)
    curves = {name: np.moveaxis(values.values, 0, -1).astype(np.float32) for name, values in view.measures.items()}
    height = rows - 1 - np.arange(rows)  # the first measure above
    most = np.stack([_scale(view, name, values) for name, values in curves.items()], -1)  # (layer, head, measure)
    values = np.stack(list(curves.values()), 2)  # (layer, head, measure, snapshot)
    level = (height[:, None] + BASE + TOP * np.minimum(1, values / most[..., None])).astype(np.float32)
    x = np.log1p(np.asarray(view.steps, np.float64))
    if len(x) == 1:  # nothing to draw a curve of: a bar as long as the value
        lines_x, lines_y = _bars(values / most[..., None], height)
    else:
        lines_x, lines_y = np.tile(np.append(x, np.nan), rows), _with_gaps(level)
    row_of = np.array([rows, *(names.index(role) if role in names else rows for role in ROLES)], np.int32)
    role_row = Array(f"{view.name}.role_row", row_of[view.role.values])
    nothing = np.full((*level.shape[:2], 1, level.shape[3]), np.nan, np.float32)
    hot = Array(f"{view.name}.hot", np.concatenate([level, nothing], 2))  # (layer, head, measure or none, snapshot)
    now = Array(f"{view.name}.level", np.moveaxis(level, -1, 0))  # (snapshot, layer, head, measure)
    last = float(x.max()) or 1.0
    figure = go.Figure(
        [
            go.Scatter(x=lines_x if len(x) > 1 else None, y=lines_y if len(x) == 1 else None, mode="lines", line={"width": 1.4 if len(x) > 1 else 9}),
            go.Scatter(x=x, mode="lines", line={"width": 2.2}, hoverinfo="skip"),
            go.Scatter(mode="markers", marker={"size": 7 if len(x) > 1 else 0.1}, hoverinfo="skip"),
            go.Scatter(x=[1.0] * rows, y=height + 0.4, mode="text", textposition="middle left", xaxis="x2"),
            go.Scatter(x=[0.0] * rows, y=height + 0.4, mode="text", textposition="middle right", xaxis="x3"),
            go.Scatter(x=[-0.02 * last, 1.02 * last, np.nan] * rows, y=np.repeat(height, 3) + BASE - 0.05, mode="lines", line={"width": 1}, hoverinfo="skip"),
        ],
        {
            "xaxis": {"visible": False, "domain": [0.32, 0.84], "fixedrange": True, "range": [-0.02 * last, 1.03 * last]},
            "xaxis2": {"visible": False, "domain": [0.86, 1], "fixedrange": True, "range": [0, 1]},
            "xaxis3": {"visible": False, "domain": [0, 0.3], "fixedrange": True, "range": [0, 1]},
            "yaxis": {"visible": False, "fixedrange": True, "range": [-0.1, rows]},
            "margin": {"l": 12, "r": 12, "t": 8, "b": 8},
        },
    )  # fmt: skip
    chosen = role_row[CHOSEN]
    return Live(
        figure,
        {
            **(
                {"data[0].y": Array(f"{view.name}.curves", lines_y)["layer", "head"]}
                if len(x) > 1
                else {"data[0].x": Array(f"{view.name}.bars", lines_x)["layer", "head"]}
            ),
            "data[0].customdata": Array(f"{view.name}.exact_values", _with_gaps(values))["layer", "head"],
            "data[0].text": _tips(view, names),
            "data[0].hovertemplate": Fill("{name}: {value}<extra></extra>", name="%{text}", value="%{customdata:.4f}"),
            "data[0].line.color": colour("mute"),
            "data[1].y": hot["layer", "head", chosen],
            "data[1].line.color": colour("accent"),
            "data[2].x": [Array("log_steps", x.astype(np.float32))["snapshot"]] * rows,
            "data[2].y": now[CHOSEN],
            "data[2].marker.color": colour("ink"),
            "data[3].text": [Fill("{value:.2f}", value=view.measures[name][CHOSEN]) for name in names],
            "data[3].customdata": [MEASURE_HELP[name] for name in names],
            "data[3].hovertemplate": "%{customdata}<extra></extra>",
            "data[3].textfont.color": _standing_out(chosen, rows, colour("accent"), colour("ink")),
            "data[3].textfont.weight": _standing_out(chosen, rows, 600, 400),
            "data[4].text": [MEASURE_NAMES[name] for name in names],
            "data[4].customdata": [MEASURE_HELP[name] for name in names],
            "data[4].hovertemplate": "%{customdata}<extra></extra>",
            "data[4].textfont.color": _standing_out(chosen, rows, colour("accent"), colour("ink")),
            "data[4].textfont.weight": _standing_out(chosen, rows, 600, 400),
            "data[5].line.color": colour("line"),
        },
        title=Format("Report card"),
        caption=_caption(view),
        file=Fill("{name}-{layer}.{head}-report", name=view.file, layer=State("layer"), head=State("head")),
        click={"snapshot": Choose(State("point"), [*range(len(x)), len(x) - 1] * rows)} if len(x) > 1 else {},
        table={
            "step": list(view.steps),
            **{name: Array(f"{view.name}.{name}.curve", values)["layer", "head"] for name, values in curves.items()},
        },
        height=27 * rows + 16,
    )  # fmt: skip


def _standing_out(chosen: Expression, rows: int, hot: Any, plain: Any) -> list[Expression]:
    """One value a row: `hot` for the chosen one."""
    return [Choose(chosen, [hot if row == one else plain for one in range(rows + 1)]) for row in range(rows)]


def _scale(view: AttentionView, name: str, values: np.ndarray) -> np.ndarray:
    """(layer, head): the value at the top of a row: 1 for shares; else the largest in training, or the largest possible."""
    if name in SHARES:
        return np.ones(values.shape[:2])
    if values.shape[-1] > 1:
        return np.maximum(values.max(-1), 1e-9)
    keys = len(view.keys)
    return np.full(values.shape[:2], max(1e-9, np.log2(keys) if name == "entropy" else keys - 1))


def _with_gaps(rows: np.ndarray) -> np.ndarray:
    """(layer, head, measure, snapshot) → (layer, head, measure · (snapshot + 1)), NaN between two measures"""
    padded = np.pad(rows, [(0, 0)] * 3 + [(0, 1)], constant_values=np.nan)
    return padded.reshape(*padded.shape[:2], -1).astype(np.float32)


def _bars(shares: np.ndarray, height: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One line from 0 to each value: x (layer, head, 3 · measure), y (3 · measure)"""
    ends = np.minimum(1, shares[..., 0])  # (layer, head, measure)
    x = np.stack([np.zeros_like(ends), ends, np.full_like(ends, np.nan)], -1)
    return x.reshape(*x.shape[:2], -1).astype(np.float32), np.repeat(height, 3) + 0.4


def _tips(view: AttentionView, names: list[str]) -> list[Expression | str]:
    """For each point of the curves: measure and step."""
    tips: list[Expression | str] = []
    for name in names:
        tips += [Format("{measure}, step {step}", measure=MEASURE_NAMES[name], step=step) for step in view.steps]
        tips += [""] if len(view.steps) > 1 else ["", ""]
    return tips


def _caption(view: AttentionView) -> Expression:
    about: dict[str, Any] = {"who": view.who, "clear": view.clear}
    if view.too_short:
        return Format("Too few tokens for a role.")
    if not view.trained:
        none = Format("{who} has **no clear role** on this input: no share reaches {clear:.0%}.", **about)
        return Choose(
            view.role[CHOSEN], [none, *(Format("{who}: **{role}**.", who=view.who, role=role) for role in ROLE_NAMES)]
        )
    none = Format(
        "{who} has **no clear role** at step {step}: no share reaches {clear:.0%}.", **about, step=view.step
    )
    since: dict[str, Any] = {"who": view.who, "step": view.since[CHOSEN]}
    roles = [Format("{who}: **{role}**, since step {step}.", **since, role=role) for role in ROLE_NAMES]
    if not view.has_heads:
        roles[0] = Format("{who} has pointed at the **right source tokens** since step {step}.", **since)
    return Choose(view.role[CHOSEN], [none, *roles])
