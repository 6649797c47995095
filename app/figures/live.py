"""Live figures: a Plotly figure whose attributes are bound to arrays and state.

One description serves four places:

    live.at(snapshot=3, head=1)     a plain `go.Figure`, for Python, notebooks and tests
    live                            shows itself in Jupyter, VS Code and Colab, with a slider over the snapshots
    live.write_html("head.html")    a file that scrubs from disk, without a server
    live.spec(…)                    what the page's player needs; the arrays travel apart (`app.payload`)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Array, Expression, Slice, Translate, arrays_of, evaluate, keys_of, to_json, walk
from app.figures.theme import COLOURS, TEMPLATES

DEFAULTS = {"theme": "light", "language": "en", "width": 640}


def untranslated(message: str, language: str) -> str:
    return message


@dataclass(frozen=True)
class Cursor:
    """A vertical line that can be dragged: at `x[state[key]]`, setting that key to the nearest."""

    key: str
    x: list[float]


@dataclass(frozen=True)
class Crosshair:
    """A line at what is pointed at, in all subplots of a figure at once, with a dot on every curve and the exact values
    beside it. Laid over the plot, so that it costs no redraw and stays while the data grows.

    key     of the state: what is pointed at, a whole number from `first` to `last`; None: nothing
    x       an expression of it: where it lies on the x axes, from left to right
    charts  subplot ("xy", "x2y2") → {"dots": [{"x", "y", "colour"}], "lines": [{"value", "text"}]}; without a value, no line
    notes   [{"x", "text"}]: said where the line is near
    pin     the key that a click or Enter sets to the same; marked by a dotted line
    """

    key: str
    x: Any
    last: int
    charts: dict[str, Any]
    notes: list[Any] = field(default_factory=list)
    pin: str = ""
    first: int = 0


@dataclass(frozen=True)
class Label:
    """Words at an x above the picture, as far as there is room; those of a low rank first, among equals those `about` what
    is chosen (keys and values of the state). Of several at one x the first stands, with how many more there are.
    """

    x: float
    text: Any
    rank: int = 0
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PointNames:
    """Names of points (x, y), which a path joins in this order; those whose index is in `first` take their place first,
    the one of them at 0 is the chosen one. Or names of lines, each beside one of its points: with their `colours`, the
    `lines` to be kept clear, [x, y] each, and a `legend` instead where not all find room.
    """

    x: Any
    y: Any
    text: list[Any]
    first: list[Any] = field(default_factory=list)
    colours: list[Any] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)
    legend: bool = False


@dataclass(frozen=True)
class Parts:
    """What of a picture can be pointed at, with the pointer or with arrow keys, and has a `tip`; Enter is a click.

    rows, columns  the cells of a matrix, around whole numbers; or
    boxes   (x0, x1, y0, y1) in units of the axes, with the axes' number where there are several; x0 = None: the axis' whole
            width and as much as `around` on both sides
    steps   "ArrowLeft", … → for each box the one that key goes to; without: the one before or behind it
    around  px
    """

    rows: int = 0
    columns: int = 0
    boxes: list[tuple[Any, ...]] = field(default_factory=list)
    steps: dict[str, list[int]] = field(default_factory=dict)
    around: tuple[int, int] = (0, 0)


@dataclass
class Live:
    """A figure with bindings, and what else of the picture follows the state.

    bindings  attribute paths as Plotly spells them ("data[0].z", "layout.shapes[0].x0") → expressions
    title     above the picture; caption: the sentence below, with **bold** parts; file: its name when it is kept
    click     keys of the state ← "x", "y" (index of the clicked cell or point), "point" (index in its trace), "curve",
              "customdata", or an expression of those and of the state; a click on a row's name sets what
              depends on "y" alone
    arrows    "x" or "y" → (key, how many): what the arrow keys move; or its values in the order in which they go
    parts     what can be pointed at; tip: what is said of it, an expression of the state and of "point" (its index), "x", "y"
    tokens    "x" or "y" → tokens on that axis; shown as far as there is room
    links     "x" or "y" → the name of that token axis: pointing at a token lights it up wherever the name appears
    cursor    the playhead
    crosshair  the line that reads the values
    labels    words above the (first) picture, none over another, in at most `label_rows` rows, where it is `label_width` px wide
    names     whether lines are named at their ends, in their colours (where there is no room, in a legend above)
    table     column → values: what its CSV holds, where that is not what it draws; or pairs of these, of which one may be
              several columns: their names, and their values row by row
    pointed   "x" or "y" → what is said of a token that is pointed at elsewhere (`State("pointed")` is its position)
    reads     whether the arrow keys, PageUp and PageDown move the hover text through points and traces
    zoom      name of the axes, if they can be enlarged: a figure that takes the place of one with the same name keeps the part
              that was shown
    state     what keys are where nobody says otherwise
    height    px, an expression of them, "square": a plot as high as wide, `highest` px at most (0: what the window has room
              for), or (least, around, most): what the window leaves
              beside `around` px; 0: nothing is drawn, there are only words
    width     px that it takes at any size of the page: it scrolls where there is less room, and what is more stays empty
    reveal    px from where to where is in view at first, where it scrolls
    description  what a screen reader hears after the caption
    point_names  names beside points, each where there is room for it
    """

    figure: go.Figure
    bindings: dict[str, Any] = field(default_factory=dict)
    title: Any = ""
    caption: Any = ""
    file: Any = "figure"
    click: dict[str, Any] = field(default_factory=dict)
    arrows: dict[str, tuple[str, Any]] = field(default_factory=dict)
    parts: Parts | None = None
    tip: Any = ""
    tokens: dict[str, list[Any]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    cursor: Cursor | None = None
    crosshair: Crosshair | None = None
    labels: list[Label] = field(default_factory=list)
    label_rows: int = 2
    label_width: int = 560
    names: bool = False
    table: dict[str, Any] | list[tuple[Any, Any]] = field(default_factory=dict)
    pointed: dict[str, Any] = field(default_factory=dict)
    reads: bool = False
    zoom: str = ""
    state: dict[str, Any] = field(default_factory=dict)
    height: Any = 320
    highest: int = 0
    width: int = 0
    reveal: tuple[int, int] | None = None
    description: Any = ""
    point_names: PointNames | None = None

    def arrays(self) -> dict[str, Array]:
        """All arrays the picture reads, by name."""
        read = [self.crosshair.x, self.crosshair.charts, self.crosshair.notes] if self.crosshair else []
        named = vars(self.point_names) if self.point_names else {}
        words = [
            self.title,
            self.caption,
            self.file,
            self.description,
            self.pointed,
            self.tip,
            self.click,
            self.height,
        ]
        return arrays_of([self.bindings, *words, _columns(self.table), read, named])

    def keys(self) -> dict[str, int]:
        """The keys of the state that choose slices, with how many values each has."""
        sizes: dict[str, int] = {}
        for part in walk([self.bindings, self.title, self.caption]):
            if isinstance(part, Slice):
                for axis, key in enumerate(part.by):
                    if isinstance(key, str):
                        sizes[key] = max(sizes.get(key, 1), part.array.values.shape[axis])
        return sizes

    def at(self, *, translate: Translate = untranslated, **state: Any) -> go.Figure:
        """The picture in one state as a plain figure; keys that are not given are 0, the theme light."""
        whole: dict[str, Any] = {
            **dict.fromkeys(keys_of([self.bindings, self.title, self.caption]), 0),
            **DEFAULTS,
            **self.state,
            **state,
        }
        figure = go.Figure(self.figure)
        figure.update_layout(template=TEMPLATES[whole["theme"]])
        if isinstance(self.height, int | Expression):
            figure.update_layout(height=evaluate(self.height, whole, translate))
        for path, expression in self.bindings.items():
            set_path(figure, path, evaluate(expression, whole, translate))
        if self.cursor:
            x = self.cursor.x[whole.get(self.cursor.key, 0)]
            figure.add_vline(x, line={"width": 2, "color": COLOURS[whole["theme"]]["ink"]})
        return figure

    def sentence(self, *, translate: Translate = untranslated, **state: Any) -> str:
        """The caption in one state."""
        whole = {**dict.fromkeys(keys_of(self.caption), 0), **DEFAULTS, **self.state, **state}
        return evaluate(self.caption, whole, translate)

    def tip_text(self, *, translate: Translate = untranslated, **state: Any) -> str:
        """What is said of one part."""
        return evaluate(self.tip, {**dict.fromkeys(keys_of(self.tip), 0), **DEFAULTS, **state}, translate)

    def spec(self, translate: Translate = untranslated, languages: list[str] | None = None) -> dict[str, Any]:
        """For the page's player: figure and bindings as JSON, without the arrays."""
        languages = languages or ["en"]
        drawn = json.loads(self.figure.to_json())
        drawn["layout"].pop("template", None)  # the page sets its own
        parts = ("bindings", "title", "caption", "file", "click", "pointed", "tip", "tokens", "description", "height")
        table = [list(column) for column in self.table] if isinstance(self.table, list) else self.table
        named = to_json(vars(self.point_names), translate, languages) if self.point_names else None
        return {
            "figure": {"data": drawn["data"], "layout": drawn["layout"]},
            **{name: to_json(getattr(self, name), translate, languages) for name in parts},
            "arrows": {
                axis: [key, to_json(values, translate, languages)] for axis, (key, values) in self.arrows.items()
            },
            "point_names": named,
            "table": to_json(table, translate, languages),
            "parts": vars(self.parts) if self.parts else None,
            "links": self.links,
            "cursor": {"key": self.cursor.key, "x": self.cursor.x} if self.cursor else None,
            "crosshair": to_json(vars(self.crosshair), translate, languages) if self.crosshair else None,
            "labels": [
                {"x": one.x, "text": to_json(one.text, translate, languages), "rank": one.rank, "about": one.about}
                for one in self.labels
            ],
            "label_rows": self.label_rows,
            "label_width": self.label_width,
            "names": self.names,
            "keys": self.keys(),
            "highest": self.highest,
            "reads": self.reads,
            "zoom": self.zoom,
            "width": self.width,
            "reveal": self.reveal,
        }

    def fixed(self, **state: Any) -> Live:
        """The same figure, at first in this state."""
        return replace(self, state={**self.state, **state})

    def scrubbed(self, over: str = "snapshot", **state: Any) -> go.Figure:
        """A plain figure with a slider over one key: scrubs wherever Plotly shows figures, with no script of ours."""
        figure, count = self.at(**state), self.keys().get(over, 1)
        if count < 2:
            return figure
        steps, start = [], state.get(over, self.state.get(over, 0))
        for index in range(count):
            whole: dict[str, Any] = {**state, over: index}
            moved = self.at(**whole)
            changes = {
                path: _get_path(moved, path)
                for path, expression in self.bindings.items()
                if over in keys_of(expression)
            }
            traces = sorted({_trace(path) for path in changes if path.startswith("data[")})
            data, layout = _grouped(changes, traces, moved)
            steps.append({"method": "update", "args": [data, layout, traces], "label": str(index)})
        figure.update_layout(sliders=[{"steps": steps, "active": start, "currentvalue": {"prefix": f"{over} "}}])
        return figure

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **kwargs: Any) -> dict[str, Any]:
        return self.scrubbed()._repr_mimebundle_(include, exclude, **kwargs)

    def show(self, **state: Any) -> None:
        self.scrubbed(**state).show()


def _columns(table: dict[str, Any] | list[tuple[Any, Any]]) -> list[Any]:
    return list(table.values()) if isinstance(table, dict) else [part for column in table for part in column]


def set_path(figure: go.Figure, path: str, value: Any) -> None:
    """`"data[0].marker.color"` or `"layout.shapes[1].x0"` of a figure."""
    part, _, rest = path.partition(".")
    target = figure.layout if part == "layout" else figure.data[_trace(path)]
    target[rest] = value


def _get_path(figure: go.Figure, path: str) -> Any:
    part, _, rest = path.partition(".")
    target = figure.layout if part == "layout" else figure.data[_trace(path)]
    return target[rest] if rest.partition(".")[0].partition("[")[0] in target else None


def _trace(path: str) -> int:
    return int(path[len("data[") : path.index("]")])


def _grouped(
    changes: Mapping[str, Any], traces: list[int], figure: go.Figure
) -> tuple[dict[str, Any], dict[str, Any]]:
    """As Plotly's `update` takes them: attributes of these traces, one value each; attributes of the layout."""
    data: dict[str, Any] = {}
    layout: dict[str, Any] = {}
    for path, value in changes.items():
        part, _, rest = path.partition(".")
        if part == "layout":
            layout[rest] = _plain(value)
        elif rest not in data:
            data[rest] = [_plain(_get_path(figure, f"data[{trace}].{rest}")) for trace in traces]
    return data, layout


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
