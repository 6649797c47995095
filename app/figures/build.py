"""The Build tab's figures: where the parameters are, and the activations at one capture point. The diagram is in `diagram.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import plain_text, token_axis
from app.figures.diagram_layout import Part, parts_of
from app.figures.expressions import Affine, Array, Choose, Expression, Fill, Format, Sentences, State
from app.figures.live import Live
from app.figures.theme import COLOURS, SIGNED, WEIGHT, colour, themed, weight_colour

SHADES = {  # kinds of modules, by the end of their class's name
    "Embedding": 0.12, "Learned": 0.2, "Attention": 0.42, "Alignment": 0.42, "FeedForward": 0.75, "Layer": 0.75,
    "Norm": 0.05, "Head": 0.3,
}  # fmt: skip
PLAIN = 0.3  # a module of no such kind, in no such module
NAMED = 3  # of several equally large parts
NUMBER = re.compile(r"\.\d+")  # of a block, in a path
DARK = 0.4  # shades from here on have light words


def of_side(title: Expression) -> Expression:
    """Which of two configurations it is, where two are compared: `compared` is 0 for one alone, 1 for A, 2 for B."""
    return Choose(State("compared"), [title, Fill("A · {title}", title=title), Fill("B · {title}", title=title)])


@dataclass
class Area:
    """A part with its parameters; a folded group counts as often as it is there, with a star for its numbers."""

    id: str
    path: str
    name: str
    module: str
    count: int
    shade: float
    inner: list[Area] = field(default_factory=list)

    @property
    def leaves(self) -> list[Area]:
        return [leaf for area in self.inner for leaf in area.leaves] if self.inner else [self]

    @property
    def all(self) -> list[Area]:
        return [self, *(one for area in self.inner for one in area.all)]


def areas(part: Part, times: int = 1, outer: str = "", outer_shade: float | None = None, stars: int = 0) -> Area:
    times, stars = times * part["times"], stars + (part["times"] > 1)
    path = NUMBER.sub(".*", part["path"], count=stars) if stars else part["path"]
    name = part["path"].removeprefix(f"{outer}.") if outer else part["path"]
    if part["times"] > 1:
        name = f"{NUMBER.sub('', name, count=1)} × {part['times']}"
    shade = next((shade for kind, shade in SHADES.items() if part["module"].endswith(kind)), outer_shade)
    inner = [areas(one, times, part["path"], shade, stars) for one in parts_of(part) if one["count"]]
    own = sum(weight["count"] for weight in part["weights"]) * times
    tint = PLAIN if shade is None else shade
    if own and inner:
        inner.append(Area(part["id"], path, "·", part["module"], own, tint))
    inner.sort(key=lambda area: -area.count)
    return Area(part["id"], path, name, part["module"], part["count"] * times, tint, inner)


def parameter_treemap(anatomy: Mapping[str, Any]) -> Live:
    """Every module an area as large as its parameter count; a click selects it in the diagram."""
    root, total = areas(anatomy["root"]), anatomy["parameters"]
    root.name = root.path = anatomy["family"]
    nodes, parents = root.all, {id(inner): area for area in root.all for inner in area.inner}
    keys = {id(area): f"{index}" for index, area in enumerate(nodes)}
    words = [
        f"<b>{plain_text(area.name)}</b>" if area.inner else f"{plain_text(area.name)}<br>{area.count:,}"
        for area in nodes
    ]
    hover = [
        Format("{path} · {module}<br>{n:,} parameters, {share:.1%}", path=plain_text(area.path), module=plain_text(area.module), n=area.count, share=area.count / total)
        for area in nodes
    ]  # fmt: skip
    fills = [
        [COLOURS[theme]["card"] if area.inner else weight_colour(theme, area.shade) for area in nodes]
        for theme in COLOURS
    ]
    inks = [
        [COLOURS[theme]["ink" if area.inner or area.shade < DARK else "paper"] for area in nodes] for theme in COLOURS
    ]
    figure = go.Figure(
        go.Treemap(
            ids=[keys[id(area)] for area in nodes], labels=[plain_text(area.name) for area in nodes], text=words, textinfo="text",
            parents=[keys[id(parents[id(area)])] if id(area) in parents else "" for area in nodes],
            values=[area.count for area in nodes], branchvalues="total", sort=False, customdata=[area.id for area in nodes],
            textposition="top left", textfont={"size": 11.5}, pathbar={"visible": False}, tiling={"pad": 2},
            marker={"pad": {"t": 20, "l": 3, "r": 3, "b": 3}, "cornerradius": 4, "line": {"width": 1}},
            hovertemplate="%{hovertext}<extra></extra>",
        ),
        {"margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "uniformtext": {"minsize": 11, "mode": "hide"}},
    )  # fmt: skip
    return Live(
        figure,
        {
            "data[0].hovertext": hover,
            "data[0].marker.colors": themed(*fills),
            "data[0].marker.line.color": colour("line"),
            "data[0].textfont.color": themed(*inks),
        },
        title=of_side(Format("Where the parameters are")),
        caption=_largest(root.leaves, total),
        file=f"innerview-{anatomy['family']}-parameters",
        click={"part": "customdata"},
        table={name: [getattr(leaf, name if name != "parameters" else "count") for leaf in root.leaves] for name in ("path", "module", "parameters")},
        height=320,
    )  # fmt: skip


def _largest(leaves: list[Area], total: int) -> Expression:
    count = max(leaf.count for leaf in leaves)
    paths: list[Any] = [leaf.path for leaf in leaves if leaf.count == count]
    facts = {"n": total, "count": count, "share": count / total if total else 0.0}
    if len(paths) == 1:
        return Format(
            "**{n:,}** parameters in all. The largest single part is {path} with **{count:,}**, {share:.0%}.",
            path=paths[0], **facts,
        )  # fmt: skip
    some = [*paths[:NAMED], Format("{n} more", n=len(paths) - NAMED)] if len(paths) > NAMED + 1 else paths
    return Format(
        "**{n:,}** parameters in all. {ties} parts are the largest, with **{count:,}** each ({share:.0%}): {paths}.",
        ties=len(paths), paths=_listed(some), **facts,
    )  # fmt: skip


def _listed(items: list[Any]) -> Any:
    if len(items) == 2:
        return Format("{first} and {last}", first=items[0], last=items[1])
    first = items[0]
    for item in items[1:-1]:
        first = Format("{first}, {next}", first=first, next=item)
    return Format("{first}, and {last}", first=first, last=items[-1])


@dataclass
class ActivationsView:
    """The tensor at one capture point, cut to a thumbnail.

    values  (snapshot, head, row, column) of the first sequence; one snapshot if the model is untrained
    shape   of the whole tensor, and its axes' names; rows and columns are the last two
    steps   of the snapshots; None: untrained
    rows    what stands on the edges: tokens, or numbers
    """

    point: str
    values: np.ndarray
    shape: list[int]
    axes: list[str]
    steps: list[int] | None
    rows: list[str]
    columns: list[str]


def activations(view: ActivationsView) -> Live:
    """One head's activations (row × column); weights from 0 to 1, anything else on a scale around 0."""
    chosen = ("snapshot", "partHead")
    values = view.values
    finite = np.where(np.isfinite(values), values, np.nan)  # a masked score is −∞
    known = np.asarray(np.isfinite(finite).any((-2, -1)))  # (snapshot, head)
    spread = {
        name: Array(f"activations.{name}", _over_cells(function, finite, known))
        for name, function in (("low", np.nanmin), ("high", np.nanmax), ("mean", np.nanmean))
    }
    largest = np.maximum(np.abs(spread["low"].values), np.abs(spread["high"].values))
    limit = Array("activations.limit", np.maximum(np.nan_to_num(largest), 1e-9).astype(np.float32))
    is_share = view.point.endswith((".weights", ".mask"))
    names = {"row": view.axes[-2] if len(view.axes) > 1 else "", "column": view.axes[-1] if view.axes else ""}
    hover = Fill("{row} {y}, {column} {x}: {z}<extra></extra>", **names, y="%{y}", x="%{x}", z="%{z:.4g}")
    figure = go.Figure(
        go.Heatmap(showscale=False, hoverongaps=False),
        {
            "xaxis": {**token_axis(view.columns), "type": "linear", "side": "top", "tickangle": 0},
            "yaxis": {**token_axis(view.rows), "type": "linear", "range": [len(view.rows) - 0.5, -0.5]},
            "margin": {"l": 30, "r": 2, "t": 22, "b": 2},
        },
    )
    bindings: dict[str, Any] = {
        "data[0].z": Array("values", values)[chosen],
        "data[0].zmin": 0 if is_share else Affine(limit[chosen], -1.0),
        "data[0].zmax": 1 if is_share else limit[chosen],
        "data[0].colorscale": WEIGHT if is_share else SIGNED,
        "data[0].hovertemplate": hover,
    }
    if not np.isfinite(values).all():
        hidden = np.where(np.isfinite(values), np.nan, 1.0).astype(np.float32)
        ground = colour("hidden")
        figure.add_heatmap(showscale=False, hoverongaps=False, zmin=0, zmax=1)
        bindings["data[1].z"] = Array("activations.hidden", hidden)[chosen]
        bindings["data[1].colorscale"] = [[0, ground], [1, ground]]
        bindings["data[1].hovertemplate"] = Fill(
            "{row} {y}, {column} {x}: −∞<extra></extra>", **names, y="%{y}", x="%{x}"
        )
    return Live(
        figure,
        bindings,
        title=Format("What flows here"),
        caption=Sentences([_whose(view), Format("From {low:g} to {high:g}, mean {mean:g}.", **{name: array[chosen] for name, array in spread.items()}), *_cut(view)]),
        file=view.point,
        tokens={"x": view.columns, "y": view.rows},
        height=240,
    )  # fmt: skip


def _over_cells(function: Any, finite: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(snapshot, head): NaN where no number is finite"""
    filled = np.where(known[..., None, None], finite, 0.0)
    return np.where(known, function(filled, axis=(-2, -1)), np.nan).astype(np.float32)


def _whose(view: ActivationsView) -> Expression:
    if view.steps is None:
        return Format("**Untrained**: a fresh model with seed 0, reading random tokens.")
    steps = Array("activations.steps", np.asarray(view.steps, np.int32))
    return Format("The run at step **{step}**, reading the current input.", step=steps["snapshot"])


def _cut(view: ActivationsView) -> list[Expression]:
    sides = zip(
        view.axes[-2:], view.values.shape[-len(view.axes[-2:]) :], view.shape[-len(view.axes[-2:]) :], strict=False
    )
    return [
        Format("{name}: the first {n} of {all}.", name=name, n=shown, all=whole)
        for name, shown, whole in sides
        if name != "batch" and shown < whole
    ]
