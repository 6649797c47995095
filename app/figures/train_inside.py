"""Inside a run while it learns: what its heads look at, or how its gates stand, on one held-out problem, as small maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import categories
from app.figures.expressions import Affine, Array, Choose, Expression, Fill, Format
from app.figures.live import Live
from app.figures.theme import SIGNED, WEIGHT, colour

GAP, NAME, LEAST = 12, 30, 96  # px between maps, for the name below one, and of a map's side


@dataclass
class SmallMap:
    """One head (rows look at columns), or one gate or state (rows are units, time goes to the right)."""

    id: str
    name: Any
    rows: list[str]
    columns: list[str]
    is_head: bool
    signed: bool = False
    values: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (row, column)
    limit: float | None = None  # of a signed one: from −limit to limit; None: its largest value


@dataclass
class InsideView:
    key: str
    maps: list[SmallMap]
    step: int = 0
    width: int = 500

    @property
    def across(self) -> int:
        return max(1, (self.width + GAP) // (LEAST + GAP))


def inside(view: InsideView) -> Live:
    """All maps side by side, each on its own axes."""
    across, maps = view.across, view.maps
    side = (view.width - GAP * (across - 1)) / across
    rows = -(-len(maps) // across)
    height = rows * (side + NAME)
    figure = go.Figure(layout={"margin": {"l": 1, "r": 1, "t": 1, "b": 1}, "dragmode": False})
    live = Live(
        figure,
        title=Format("Inside it, on the first of them"),
        caption=caption(view),
        file=f"innerview-inside-{view.key}",
        reads=True,
        height=round(height) + 2,
    )
    for i, small in enumerate(maps):
        axis, (row, column) = "" if i == 0 else str(i + 1), divmod(i, across)
        left, top = column * (side + GAP) / view.width, 1 - row * (side + NAME) / height
        common = {
            "fixedrange": True,
            "showticklabels": False,
            "ticks": "",
            "showgrid": False,
            "zeroline": False,
            "showline": True,
            "mirror": True,
        }
        figure.layout[f"xaxis{axis}"] = {
            "domain": [left, min(1, left + side / view.width)],
            "anchor": f"y{axis}",
            "type": "category",
            **common,
        }
        figure.layout[f"yaxis{axis}"] = {
            "domain": [max(0, top - side / height), top], "anchor": f"x{axis}", "type": "category", "range": [len(small.rows) - 0.5, -0.5], **common,
        }  # fmt: skip
        figure.add_heatmap(
            x=small.columns, y=small.rows, showscale=False, xaxis=f"x{axis}", yaxis=f"y{axis}", name=small.id
        )
        figure.add_annotation(
            x=left, y=top - side / height, xref="paper", yref="paper", xanchor="left", yanchor="top", yshift=-2, showarrow=False, font={"size": 13},
        )  # fmt: skip
        limit = Array(
            f"inside.{small.id}.limit",
            np.array(_limit(small)),
        )[()]
        live.bindings |= {
            f"data[{i}].z": Array(f"inside.{small.id}", small.values)[()],
            f"data[{i}].zmin": Affine(limit, scale=-1) if small.signed else 0,
            f"data[{i}].zmax": limit,
            f"data[{i}].colorscale": SIGNED if small.signed else WEIGHT,
            f"data[{i}].hovertemplate": _hover(small),
            f"data[{i}].name": small.name,
            f"layout.annotations[{i}].text": small.name,
            f"layout.annotations[{i}].font.color": colour("mute"),
        }
    return live


def _limit(small: SmallMap) -> float:
    if not small.signed or not small.values.size:
        return 1.0
    return float(np.abs(small.values).max()) if small.limit is None else small.limit


def _hover(small: SmallMap) -> Expression:
    cell = {"name": small.name, "value": "%{z:.3f}", "column": "%{x}"}
    if small.is_head:
        return Fill("{name}<br>{row} → {column}: {value}<extra></extra>", row="%{y}", **cell)
    return Fill(
        "{name}<br>{cell}<extra></extra>",
        name=small.name,
        cell=Format("unit {row} at {column}: {value}", row="%{y}", **cell),
    )


def token_names(tokens: list[str], count: int, pooled: int) -> list[str]:
    """Tokens with their positions; where a cell stands for several, the positions alone."""
    if len(tokens) == count:
        return categories(tokens)
    return [f"{i * max(1, pooled)}–{(i + 1) * pooled - 1}" if pooled > 1 else str(i) for i in range(count)]


def caption(view: InsideView) -> Expression:
    """The sharpest head, or how far the gates are open on average."""
    step = Array("inside.step", np.array(float(view.step)))[()]
    heads = [small for small in view.maps if small.is_head]
    if heads:
        sharpness = np.array([small.values.max(1).mean() if small.values.size else 0.0 for small in view.maps])
        best = Array("inside.best", np.array(float(sharpness.argmax())))[()]
        share = Array("inside.sharpness", sharpness)[best]
        name = Choose(best, [small.name for small in view.maps])
        return Format(
            "Step {step:,}. Sharpest is head **{name}**: on average **{share:.0%}** of a token's weight lies on one token.",
            step=step,
            name=name,
            share=share,
        )
    gates = [i for i, small in enumerate(view.maps) if not small.signed]
    if not gates:
        return Format("Step {step:,}. Rows are units, time goes to the right.", step=step)
    means = Array(
        "inside.means", np.array([small.values.mean() if small.values.size else 0.0 for small in view.maps])
    )
    opened = [Fill("{gate} {mean:.0%}", gate=view.maps[i].name, mean=means[i]) for i in gates]
    return Format(
        "Step {step:,}. How far open on average: {gates}. Rows are units, time goes to the right.",
        step=step,
        gates=reduce(_listed, opened),
    )


def _listed(first: Format, second: Format) -> Format:
    return Format("{first}, {second}", first=first, second=second)
