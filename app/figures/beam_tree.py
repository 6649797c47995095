"""Beam search as a tree: every candidate at its step, those that went on, those that ended, and the text that won."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Affine, Array, Choose, Expression, Format, State
from app.figures.generation import GenerationView
from app.figures.live import Live, Parts
from app.figures.theme import COLOURS, MONO, colour, themed
from app.figures.tokens import drawn, seen, text_width

BETWEEN, HIGH, PAD, LEGEND, SIZE = (
    34,
    26,
    14,
    34,
    14,
)  # px from a token to its children, from candidate to candidate, around, above the tree; of the type
LETTERS = 7  # of a token
WRITTEN, ALL = (
    "written",
    100_000,
)  # key of the state: how many tokens are shown, while the text is written step by step
FATES = {
    "won": Format("part of the best text"),
    "kept": Format("went on"),
    "ended": Format("complete"),
    "dropped": Format("dropped"),
}
TONES = {"won": "accent", "kept": "ink", "ended": "ink", "dropped": "mute"}
LINES = {  # of the edge to a candidate
    "won": {"line": {"width": 2.5}},
    "kept": {"line": {"width": 1.2}},
    "ended": {"line": {"width": 1.2}},
    "dropped": {"line": {"width": 1.2, "dash": "2px,3px"}, "opacity": 0.5},
}


def best_path(tree: list[list[dict[str, Any]]], text: list[str], view: GenerationView) -> list[int]:
    """The places of the best text's tokens, level by level."""

    def follow(level: int, place: int) -> list[int]:
        return [] if level < 0 else [*follow(level - 1, tree[level][place]["parent"]), place]

    length = len(text)
    for place, node in enumerate(tree[length - 1] if length <= len(tree) else []):
        if not node["ended"] and not node["kept"] and length < len(tree):
            continue
        path = follow(length - 1, place)
        if all(view.token(tree[level][at]["id"]) == text[level] for level, at in enumerate(path)):
            return path
    return []


def parents_of(view: GenerationView) -> list[int]:
    """For every node the index of its parent; −1: it has none."""
    index = {(node["level"], node["place"]): i for i, node in enumerate(view.nodes)}
    return [index.get((node["level"] - 1, node["parent"]), -1) for node in view.nodes]


def chosen_path_sentence(view: GenerationView) -> Expression:
    """How likely the text up to the chosen node is, and what became of it; nothing where none is chosen."""
    path = best_path(view.tree, view.text, view)
    fates = [list(FATES).index(_fate(node, path)) for node in view.nodes]
    scores = np.array([0.0, *(node["score"] for node in view.nodes)], np.float32)
    node = Affine(State("node"), offset=1)
    said = Format(
        "log-likelihood {score:.3f}, {share:p} · {fate}",
        score=Array("node.score", scores)[node],
        share=Array("node.likelihood", np.exp(scores))[node],
        fate=Choose(Array("node.fate", np.array([0, *fates], np.int32))[node], list(FATES.values())),
    )
    return Choose(node, ["", said])


def beam_tree(view: GenerationView) -> Live:
    """1 px = 1 unit of the axes."""
    nodes, tree = view.nodes, view.tree
    path = best_path(tree, view.text, view)
    fates = [_fate(node, path) for node in nodes]
    names = [seen(view.token(node["id"])) for node in nodes]
    wide = [text_width(name, SIZE, LETTERS) for name in names]
    root = seen(view.read[-1])
    lefts = [PAD + text_width(root, SIZE, 4) + BETWEEN]
    for level in range(len(tree)):
        lefts.append(
            lefts[-1] + max(w for w, node in zip(wide, nodes, strict=True) if node["level"] == level) + BETWEEN
        )
    x = [lefts[node["level"]] for node in nodes]
    y = [LEGEND + HIGH * (node["place"] + 0.5) for node in nodes]
    index = {(node["level"], node["place"]): i for i, node in enumerate(nodes)}
    parents = [index[node["level"] - 1, node["parent"]] if node["level"] else None for node in nodes]
    start = (PAD + text_width(root, SIZE, 4) + 4, LEGEND + HIGH / 2)
    edges: dict[str, list[str]] = {fate: [] for fate in LINES}
    for i, (fate, parent) in enumerate(zip(fates, parents, strict=True)):
        x0, y0 = start if parent is None else (x[parent] + wide[parent] + 4, y[parent])
        bend = (x0 + x[i] - 5) / 2
        edges[fate].append(f"M{x0},{y0}C{bend},{y0} {bend},{y[i]} {x[i] - 5},{y[i]}")
    boxes = [(left - 4, left + max(16, w + 4), top - 12, top + 12) for left, top, w in zip(x, y, wide, strict=True)]
    height = LEGEND + HIGH * max(len(level) for level in tree) + PAD
    legend = [fate for fate in FATES if fate in fates]
    return _live(
        view,
        fates,
        names,
        boxes,
        edges,
        legend,
        max(lefts[-1] - BETWEEN + PAD, 4 * 130),
        height,
        _points(x, y, root, legend),
        _steps(nodes, parents, index, tree),
        path,
    )


def _fate(node: dict[str, Any], path: list[int]) -> str:
    if node["level"] < len(path) and path[node["level"]] == node["place"]:
        return "won"
    return "ended" if node["ended"] else "kept" if node["kept"] else "dropped"


def _points(x: list[float], y: list[float], root: str, legend: list[str]) -> dict[str, Any]:
    at, places = float(PAD), []
    for fate in legend:
        places.append(at)
        at += 7.6 * len(FATES[fate].message) + 24
    return {"x": [*x, PAD, *places], "y": [*y, LEGEND + HIGH / 2, *([10.0] * len(legend))]}


def _steps(
    nodes: list[Any], parents: list[int | None], index: dict[tuple[int, int], int], tree: list[Any]
) -> dict[str, list[int]]:
    """Left: the parent; right: the likeliest child; up and down: within a level."""
    children: dict[int, int] = {}
    for i, parent in enumerate(parents):
        if parent is not None:
            children.setdefault(parent, i)  # candidates stand in order, the best first

    def beside(node: dict[str, Any], by: int) -> int:
        return index[node["level"], max(0, min(len(tree[node["level"]]) - 1, node["place"] + by))]

    return {
        "ArrowLeft": [i if parent is None else parent for i, parent in enumerate(parents)],
        "ArrowRight": [children.get(i, i) for i in range(len(nodes))],
        "ArrowUp": [beside(node, -1) for node in nodes],
        "ArrowDown": [beside(node, 1) for node in nodes],
    }


def _live(
    view: GenerationView, fates: list[str], names: list[str], boxes: list[tuple[Any, ...]], edges: dict[str, list[str]],
    legend: list[str], width: float, height: float, points: dict[str, Any], steps: dict[str, list[int]], path: list[int],
) -> Live:  # fmt: skip
    nodes, looks = view.nodes, [*fates, "root", *legend]
    levels = np.array([node["level"] for node in nodes], np.int32)
    lefts = [min(box[0] for box, at in zip(boxes, levels, strict=True) if at == one) for one in range(len(view.tree))]
    starts = np.array([*lefts, width + 1], np.float32)
    hidden: dict[str, Any] = {
        "layer": "above",
        "x1": width + 1,
        "y0": LEGEND,
        "y1": height,
    }  # what is not written yet
    shapes: list[dict[str, Any]] = [
        {"type": "rect", "line": {"width": 0}, "layer": "below"},
        {"type": "rect", "line": {"width": 0}, **hidden},
    ]
    bindings: dict[str, Any] = {
        "layout.shapes[0].fillcolor": colour("soft"),
        "layout.shapes[1].fillcolor": colour("paper"),
        "layout.shapes[1].x0": Array("level.start", starts)[WRITTEN],
    }
    outside = (-9.0, -8.0, -9.0, -8.0)  # where the box of no node lies
    corners = Array("node.box", np.array([outside, *boxes], np.float32))
    for corner, name in enumerate(("x0", "x1", "y0", "y1")):
        bindings[f"layout.shapes[0].{name}"] = corners[Affine(State("node"), offset=1), corner]
    for fate, paths in edges.items():
        if paths:
            bindings[f"layout.shapes[{len(shapes)}].line.color"] = colour("accent" if fate == "won" else "mute")
            shapes.append({"type": "path", "path": "".join(paths), "layer": "below", **LINES[fate]})
    sizes = [MONO] * (len(nodes) + 1)
    figure = go.Figure(
        go.Scatter(
            **points, mode="text", textposition="middle right", hoverinfo="skip", cliponaxis=False,
            textfont={
                "size": SIZE, "family": [*sizes, *(["system-ui, 'Noto Sans CJK SC', sans-serif"] * len(legend))],
                "weight": [700 if look == "won" else 400 for look in looks],
                "style": ["italic" if look == "ended" else "normal" for look in looks],
                "lineposition": ["through" if look == "dropped" else "none" for look in looks],
            },
        ),
        {
            "xaxis": {"visible": False, "fixedrange": True, "range": [0, width]},
            "yaxis": {"visible": False, "fixedrange": True, "range": [height, 0]},
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "shapes": shapes,
        },
    )  # fmt: skip
    bindings |= {
        "data[0].text": [
            *(drawn(name, LETTERS) for name in names),
            drawn(seen(view.read[-1]), 4),
            *(FATES[fate] for fate in legend),
        ],
        "data[0].textfont.color": themed(
            *([of[TONES.get(look, "mute")] for look in looks] for of in COLOURS.values())
        ),
    }
    won = np.array([fate == "won" for fate in fates], np.int32)
    last = won * (levels + 1 == len(path))  # the text's own last token has nothing behind it
    facts = {"seen": len(nodes), "ended": sum(node["ended"] for node in nodes), "score": view.score}
    greedy = all(place == 0 for place in path)
    caption = Format(
        "{seen:,} candidates were weighed; texts completed: {ended}. The best, at {score:.3f}, takes the likeliest token at every step, as greedy writing does.",
        **facts,
    )
    if not greedy:
        caption = Format(
            "{seen:,} candidates were weighed; texts completed: {ended}. The best, at {score:.3f}, is **not** the likeliest at every step: it gave something up to gain more later.",
            **facts,
        )
    columns = ("level", "place", "parent", "id", "share", "score", "kept", "ended")
    table = {name: [node[name] for node in nodes] for name in columns}
    return Live(
        figure,
        bindings,
        title=Format("The beams as a tree"),
        caption=caption,
        description=Format("Arrow keys move through it: left to the parent, right to the likeliest child, up and down within a step; Enter shows what could follow."),
        file=f"{view.file}-beams",
        parts=Parts(boxes=boxes, steps=steps),
        tip=Format(
            "{token}: {share:p} here, {score:.2f} in all · {fate}",
            token=Choose(State("point"), names),
            share=Array("node.share", np.array([node["share"] for node in nodes], np.float32))["point"],
            score=Array("node.score", np.array([node["score"] for node in nodes], np.float32))["point"],
            fate=Choose(Array("node.fate", np.array([list(FATES).index(fate) for fate in fates], np.int32))["point"], list(FATES.values())),
        ),
        click={
            "node": Choose(Array("node.last", last.astype(np.int32))["point"], [State("point"), -1]),
            "token": Choose(Array("node.won", won)["point"], [State("token"), Array("node.level", levels)["point"]]),
            "side": State("treeSide"),
        },
        table={
            "step": table["level"], "place": table["place"], "parent": table["parent"], "token": [view.token(i) for i in table["id"]],
            "share": table["share"], "score": table["score"], "kept": table["kept"], "ended": table["ended"],
        },
        height=round(height),
        width=round(width),
        state={WRITTEN: ALL},
    )  # fmt: skip
