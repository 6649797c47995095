"""Shares as bars one below the other, in one or more groups side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from app.figures.expressions import Choose, Fill, State
from app.figures.live import Live, Parts
from app.figures.theme import colour
from app.figures.tokens import Words, drawn, text_width

ROW, HEAD, BELOW, GAP = 24, 30, 10, 20  # px of a row, of a group's title, below a group, between groups
NAME, VALUE = (70, 190), 62  # px of a name at least and at most, of a share
COLUMN = 300  # px of a group at least, where several stand side by side
LEAST_SCALE = 0.25  # the longest bar stands for this much at least
LETTERS = 24  # of a name


@dataclass(frozen=True)
class BarRow:
    name: Words
    share: float
    tip: Any
    strong: bool = False


@dataclass(frozen=True)
class BarGroup:
    rows: list[BarRow]
    title: Any = ""


def name_room(names: list[Words]) -> int:
    """px of the longest name"""
    return round(min(NAME[1], max([NAME[0], *(text_width(name, 13, LETTERS) + 16 for name in names)])))


def bar_axes(rows: Any, scale: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    bare = {"fixedrange": True, "showgrid": False, "showticklabels": False, "ticks": ""}
    return {**bare, "range": [0, scale], "zeroline": True, "zerolinewidth": 1}, {
        **bare,
        "range": [rows - 0.5, -0.5],
        "zeroline": False,
    }


def legend(names: dict[str, Any]) -> Fill:
    """Colour → name, in one line, for an annotation."""
    places = list(range(len(names)))
    squares = "\u2003".join(f'<span style="color:{{tone{i}}}">■</span> {{name{i}}}' for i in places)
    tones = {f"tone{i}": colour(name) for i, name in enumerate(names)}
    return Fill(squares, **tones, **{f"name{i}": name for i, name in enumerate(names.values())})


def share_bars(groups: list[BarGroup], across: int = 1, **more: Any) -> Live:
    """One group below the other, or so many side by side."""
    every = [row for group in groups for row in group.rows]
    scale = max([LEAST_SCALE, *(row.share for row in every)])
    name = name_room([row.name for row in every])
    room = across * COLUMN - name - VALUE  # px of all bars, at the least width
    gap = (name + VALUE + GAP) / room if across > 1 else 0.0
    wide = (1 - gap * (across - 1)) / across
    lines = [groups[at : at + across] for at in range(0, len(groups), across)]
    heads = [HEAD if any(group.title for group in line) else 0 for line in lines]
    heights = [
        head + ROW * max(len(group.rows) for group in line) + BELOW for head, line in zip(heads, lines, strict=True)
    ]
    total, figure, bindings, boxes = sum(heights), go.Figure(), {}, []
    for index, group in enumerate(groups):
        line, column = divmod(index, across)
        top = sum(heights[:line]) + heads[line]
        number = str(index + 1) if index else ""
        x, y = bar_axes(len(group.rows), scale)
        left = column * (wide + gap)
        x |= {"domain": [left, left + wide], "anchor": f"y{number}"}
        y |= {
            "domain": [max(0.0, 1 - (top + ROW * len(group.rows)) / total), 1 - top / total],
            "anchor": f"x{number}",
        }
        figure.update_layout({f"xaxis{number}": x, f"yaxis{number}": y})
        _add_group(figure, bindings, group, number, name)
        boxes += [(None, None, i - 0.5, i + 0.5, number) for i in range(len(group.rows))]
    figure.update_layout(margin={"l": name, "r": VALUE, "t": 0, "b": 0}, bargap=0.42)
    return Live(
        figure,
        bindings,
        parts=Parts(boxes=boxes, around=(name, VALUE)),
        tip=Choose(State("point"), [row.tip for row in every]),
        height=total,
        **more,
    )


def _add_group(figure: go.Figure, bindings: dict[str, Any], group: BarGroup, number: str, name: int) -> None:
    rows, first = group.rows, len(list(figure.data))
    axes: dict[str, Any] = {"xaxis": f"x{number}", "yaxis": f"y{number}", "hoverinfo": "skip"}
    places, weights = list(range(len(rows))), [700 if row.strong else 400 for row in rows]
    text: dict[str, Any] = {"y": places, "mode": "text", "cliponaxis": False, **axes}
    figure.add_bar(x=[row.share for row in rows], y=places, orientation="h", marker={"cornerradius": 2}, **axes)
    figure.add_scatter(x=[0] * len(rows), textposition="middle left", textfont={"weight": weights}, **text)
    figure.add_scatter(x=[row.share for row in rows], textposition="middle right", **text)
    bindings |= {
        f"data[{first}].marker.color": colour("accent"),
        f"data[{first + 1}].text": [_spaced(row.name) for row in rows],
        f"data[{first + 1}].textfont.color": [colour("accent" if row.strong else "ink") for row in rows],
        f"data[{first + 2}].text": [Fill(" {share:.1%}", share=row.share) for row in rows],
        f"data[{first + 2}].textfont.color": [colour("ink" if row.strong else "mute") for row in rows],
    }
    if group.title:
        at = len(list(figure.select_annotations()))
        figure.add_annotation(
            text="", showarrow=False, xref=f"x{number} domain", x=0, xanchor="left", xshift=-name, yref=f"y{number} domain",
            y=1, yanchor="bottom", yshift=2, font={"weight": 600},
        )  # fmt: skip
        bindings[f"layout.annotations[{at}].text"] = group.title


def _spaced(name: Words) -> Any:
    return Fill("{name} ", name=drawn(name, LETTERS))
