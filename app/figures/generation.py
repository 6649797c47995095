"""Behind one generated token: the distribution it was chosen from, where the model looked, and gates and states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.bars import LEAST_SCALE, ROW, bar_axes, legend, name_room
from app.figures.expressions import Affine, Array, Choose, Fill, First, Format, Sentences, State, Take, Term
from app.figures.live import Live, Parts
from app.figures.matrix import matrix
from app.figures.theme import COLOURS, SIGNED, WEIGHT, colour, themed
from app.figures.tokens import drawn, quoted, seen

MOST, FEW, LEAST = 14, 4, 5e-4  # most and fewest bars, and the probability from which on there are more than the fewest
LEGEND, VALUES = 28, 130  # px
POINTS = {  # gates and states, in the order of the equations
    "forget": Term("gate", "forget"),
    "reset": Term("gate", "reset"),
    "input": Term("gate", "input"),
    "update": Term("gate", "update"),
    "candidate": Term("gate", "candidate"),
    "output": Term("gate", "output"),
    "cell": Term("gate", "cell"),
    "hidden": Term("gate", "hidden"),
}
GATES = ("forget", "reset", "input", "update", "output")  # from 0 to 1
OPEN, SHUT = 0.9, 0.1


@dataclass
class GenerationView:
    """One generated text: what was read, its tokens, and the distribution behind every one.

    steps    a `distribution` (app.service.generation.decode_trace) for every token
    tree     of a beam search: for every token its candidates
    tokens   the vocabulary; of a large one only the ids that occur, by their decimal digits, and its "length"
    score    of the text
    file     what a kept picture's name begins with
    """

    read: list[str]
    text: list[str]
    steps: list[dict[str, Any]]
    tree: list[list[dict[str, Any]]]
    tokens: Any
    score: float = 0.0
    file: str = "run"

    def token(self, index: int) -> str:
        return self.tokens[index] if isinstance(self.tokens, list) else self.tokens[str(index)]

    @property
    def vocabulary_size(self) -> int:
        return len(self.tokens) if isinstance(self.tokens, list) else self.tokens["length"]

    @cached_property
    def nodes(self) -> list[dict[str, Any]]:
        """The candidates of a beam search, level by level, each with its `level` and `place`."""
        return [node | {"level": level, "place": place} for level, nodes in enumerate(self.tree) for place, node in enumerate(nodes)]

    @property
    def at(self) -> Any:
        """The chosen token, within the text."""
        return Array("text.token", np.arange(len(self.steps), dtype=np.int32))["token"]

    def by_token(self, name: str, values: Any, kind: Any = np.float32) -> Any:
        return Array(f"text.{name}", np.asarray(values, kind))["token"]


class Distributions:
    """The distributions of a text's tokens and, behind them, of what could follow the nodes of its tree."""

    def __init__(self, view: GenerationView):
        following = [(i, node["next"]) for i, node in enumerate(view.nodes) if node["next"]]
        self.all = [*view.steps, *(distribution for _, distribution in following)]
        ids = np.array([one["ids"] for one in self.all])  # (distribution, token)
        vocabulary, local = np.unique(ids, return_inverse=True)
        self.names = [view.token(int(i)) for i in vocabulary]
        self.local = local.reshape(ids.shape)
        self.of_node = np.full(len(view.nodes) + 1, -1, np.int32)  # (1 + node,); 0: no node is chosen
        self.of_node[[1 + i for i, _ in following]] = len(view.steps) + np.arange(len(following))

    def rows(self, one: dict[str, Any]) -> list[int]:
        """Those with a bar: the likeliest, and the chosen one."""
        rows = [i for i in range(min(MOST, len(one["ids"]))) if i < FEW or max(one["before"][i], one["after"][i]) >= LEAST]
        chosen = one["ids"].index(one["chosen"])
        return rows if chosen in rows else [*rows[:-1], chosen]

    def bars(self) -> dict[str, np.ndarray]:
        """(distribution, bar) each: what is drawn, padded with NaN and the name behind the last"""
        shape = (len(self.all), MOST)
        bars = {
            "name": np.full(shape, len(self.names), np.int32),
            "before": np.full(shape, np.nan, np.float32),
            "after": np.full(shape, np.nan, np.float32),
            "value": np.full(shape, 3, np.int32),  # 0: both are equal; 1: they differ; 2: ruled out; 3: no bar
            "look": np.zeros(shape, np.int32),  # 1: the chosen one; 2: ruled out
        }
        for d, one in enumerate(self.all):
            for bar, i in enumerate(self.rows(one)):
                before, after = one["before"][i], one["after"][i]
                ruled_out = after == 0 and before > 0
                same = abs(before - after) < LEAST
                bars["name"][d, bar] = self.local[d, i]
                bars["before"][d, bar], bars["after"][d, bar] = before, after
                bars["value"][d, bar] = 0 if same else 2 if ruled_out else 1
                bars["look"][d, bar] = 1 if one["ids"][i] == one["chosen"] else 2 if ruled_out else 0
        return bars


def next_token(view: GenerationView) -> Live:
    """The likeliest next tokens before and after the distribution was narrowed: of a token of the text, or of what could
    follow a node of the tree.
    """
    found = Distributions(view)
    arrays = {name: Array(f"next.{name}", values) for name, values in found.bars().items()}
    node = Affine(State("node"), offset=1)
    of_node = Array("next.of_node", found.of_node)[node]
    has_node = Array("next.has_node", (found.of_node >= 0).astype(np.int32))[node]
    which = Choose(has_node, [view.at, of_node]) if view.nodes else view.at
    bars = {name: array[which] for name, array in arrays.items()}
    counts = Array("next.count", (arrays["value"].values < 3).sum(1).astype(np.int32))
    most = np.maximum(LEAST_SCALE, np.nanmax(np.stack([arrays["before"].values, arrays["after"].values]), (0, 2)))
    names = [*found.names, ""]
    left = name_room([seen(name) for name in names])
    x, y = bar_axes(MOST, 1.0)
    text = {"y": list(range(MOST)), "mode": "text", "cliponaxis": False, "hoverinfo": "skip"}
    bar: dict[str, Any] = {"y": list(range(MOST)), "orientation": "h", "hoverinfo": "skip", "marker": {"cornerradius": 2}}
    figure = go.Figure(
        [
            go.Bar(**bar), go.Bar(**bar),
            go.Scatter(x=[0] * MOST, textposition="middle left", **text), go.Scatter(textposition="middle right", **text),
        ],
        {
            "xaxis": x, "yaxis": y, "bargap": 0.36, "margin": {"l": left, "r": VALUES, "t": LEGEND, "b": 0},
            "annotations": [{"showarrow": False, "xref": "paper", "x": 0, "xanchor": "left", "xshift": -left, "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 4}],
        },
    )  # fmt: skip
    ends = np.fmax(arrays["before"].values, arrays["after"].values)
    tones = {theme: [of["ink"], of["accent"], of["mute"]] for theme, of in COLOURS.items()}
    bindings: dict[str, Any] = {
        "data[0].x": bars["before"],
        "data[0].marker.color": colour("mute"),
        "data[1].x": bars["after"],
        "data[1].marker.color": colour("accent"),
        "data[2].text": Take([f"{drawn(seen(name), 24)} " for name in names], bars["name"]),
        "data[2].textfont.color": themed(*(Take(tones[theme], bars["look"]) for theme in ("light", "dark"))),
        "data[2].textfont.weight": Take([400, 700, 400], bars["look"]),
        "data[2].textfont.lineposition": Take(["none", "none", "through"], bars["look"]),
        "data[3].x": Array("next.end", ends)[which],
        "data[3].text": [_value(arrays, which, bar) for bar in range(MOST)],
        "data[3].textfont.color": themed(*(Take([of["mute"], of["ink"], of["mute"]], bars["look"]) for of in COLOURS.values())),
        "layout.annotations[0].text": legend({"mute": Format("as the model gave it"), "accent": Format("as it was chosen from")}),
        "layout.annotations[0].font.color": colour("mute"),
        "layout.xaxis.range": [0, Array("next.most", most.astype(np.float32))[which]],
        "layout.yaxis.range": [Affine(counts[which], offset=-0.5), -0.5],
    }  # fmt: skip
    title = Choose(
        has_node,
        [
            Format(
                "{side}: what token {at} was chosen from",
                side=Choose(State("side"), {"a": "A", "b": "B"}),
                at=Affine(view.at, offset=1),
            ),
            Format(
                "What could follow {token}, token {at} of its beam",
                token=_named(view, node),
                at=Array("node.number", np.array([0, *(one["level"] + 1 for one in view.nodes)], np.int32))[node],
            ),
        ],
    )
    raw, name = [seen(name) for name in names], arrays["name"][which, "point"]
    shares = {"before": arrays["before"][which, "point"], "after": arrays["after"][which, "point"]}
    table = {side: Array(f"next.{side}.all", np.array([one[side] for one in found.all], np.float32))[which] for side in ("before", "after")}
    return Live(
        figure,
        bindings,
        title=title,
        caption=_choice_caption(view, found, which),
        description=title,
        file=f"{view.file}-next-token",
        parts=Parts(boxes=[(None, None, i - 0.5, i + 0.5) for i in range(MOST)], around=(left, VALUES)),
        tip=Choose(
            Array("next.ruled_out", (arrays["value"].values == 2).astype(np.int32))[which, "point"],
            [
                Format("{token}: {before:p} as the model gave it, {after:p} as it was chosen from", token=Choose(name, raw), **shares),
                Format("{token}: {before:p} as the model gave it, then ruled out ({after:p})", token=Choose(name, raw), **shares),
            ],
        ),
        table={"token": Take(found.names, Array("next.ids", found.local.astype(np.int32))[which]), **table},
        height=Affine(counts[which], ROW, LEGEND + 10),
    )  # fmt: skip


def _value(arrays: dict[str, Array], which: Any, bar: int) -> Any:
    before, after = arrays["before"][which, bar], arrays["after"][which, bar]
    return Choose(
        arrays["value"][which, bar],
        [
            Fill(" {before:.1%}", before=before),
            Fill(" {before:.1%} → {after:.1%}", before=before, after=after),
            Fill(" {before:.1%} → 0", before=before),
            "",
        ],
    )


def _named(view: GenerationView, node: Any) -> Any:
    return Choose(node, ["", *(seen(view.token(one["id"])) for one in view.nodes)]) if view.nodes else ""


def _choice_caption(view: GenerationView, found: Distributions, which: Any) -> Any:
    """What the chosen token had, and how the distribution was narrowed."""

    def numbers(name: str, values: Any, kind: Any = np.float32) -> Any:
        return Array(f"next.{name}", np.array(values, kind))[which]

    chosen = [one["ids"].index(one["chosen"]) for one in found.all]
    kinds = [0 if not one["narrowed"] else 2 if one["left"] == 1 else 1 for one in found.all]
    values = {
        "token": Choose(numbers("chosen", [found.local[d, i] for d, i in enumerate(chosen)], np.int32), [quoted(seen(name)) for name in found.names]),
        "before": numbers("chosen.before", [one["before"][i] for one, i in zip(found.all, chosen, strict=True)]),
        "bits": numbers("bits", [one["entropy"][0] for one in found.all]),
    }  # fmt: skip
    narrowed = values | {
        "after": numbers("chosen.after", [one["after"][i] for one, i in zip(found.all, chosen, strict=True)]),
        "left": numbers("left", [one["left"] for one in found.all], np.int32),
        "of": view.vocabulary_size,
        "then": numbers("bits.then", [one["entropy"][1] for one in found.all]),
    }
    return Choose(
        numbers("narrowed", kinds, np.int32),
        [
            Format("**{token}** had {before:.1%}; nothing was narrowed, and the model's uncertainty is {bits:.2f} bits.", **values),
            Format(
                "**{token}** had {before:.1%}, and {after:.1%} when it was chosen: {left:,} of {of:,} tokens are left, the uncertainty goes from {bits:.2f} to {then:.2f} bits.",
                **narrowed,
            ),
            Format(
                "**{token}** had {before:.1%}, and {after:.1%} when it was chosen: {left:,} of {of:,} tokens is left, the uncertainty goes from {bits:.2f} to {then:.2f} bits.",
                **narrowed,
            ),
        ],
    )  # fmt: skip


def attended(view: GenerationView, name: str, weights: np.ndarray, is_alignment: bool) -> Live:
    """Rows: the heads of the attention that reads the source or, where there is none, the text; columns: what they could
    look at when they wrote this token. weights: (layer, head, token, key)
    """
    layers, heads, tokens, keys = weights.shape
    read, wrote = [seen(token) for token in view.read], [seen(token) for token in view.text]
    columns = (read if name == "cross" else [*read, *wrote])[:keys]
    counts = np.array([len(columns) if name == "cross" else min(len(columns), len(read) + at) for at in range(tokens)], np.int32)
    array = Array(f"{name}.weights", weights)
    pairs = [(layer, head) for layer in range(layers) for head in range(heads)]
    rows: list[Any] = [Format("the alignment") if is_alignment else Format("head {head}", head=f"{layer}.{head}") for layer, head in pairs]
    best = []
    for at, count in enumerate(counts):
        seen_weights = weights[:, :, at, :count].reshape(len(rows), count)
        best.append(np.unravel_index(seen_weights.argmax(), seen_weights.shape))
    top = np.array([weights[pairs[row][0], pairs[row][1], at, key] for at, (row, key) in enumerate(best)], np.float32)
    count = view.by_token("looked.count", counts, np.int32)
    return matrix(
        rows,
        columns,
        {
            "z": [First(array[layer, head, "token"], count) for layer, head in pairs],
            "zmin": 0,
            "zmax": 1,
            "colorscale": WEIGHT,
            "layout.xaxis.range": [-0.5, Affine(count, offset=-0.5)],
        },
        260,
        title=Format("Where it looked when it wrote this token"),
        caption=Format(
            "Writing **{token}**, {head} put {weight:.0%} of its weight on **{to}**.",
            token=Choose(view.at, [quoted(token) for token in wrote]),
            head=Choose(view.by_token("looked.head", [row for row, _ in best], np.int32), rows),
            weight=view.by_token("looked.weight", top),
            to=Choose(view.by_token("looked.key", [key for _, key in best], np.int32), [quoted(token) for token in columns]),
        ),
        file=f"{view.file}-looked",
        tip=Format(
            "{head} → {token}: {weight:.3f}",
            head=Choose(State("y"), rows),
            token=Choose(State("x"), columns),
            weight=Choose(State("y"), [array[layer, head, "token", "x"] for layer, head in pairs]),
        ),
    )  # fmt: skip


def gates(view: GenerationView, points: dict[str, np.ndarray]) -> Live:
    """Rows: the gates and states of every layer that writes; columns: units; at the step that chose this token.

    points: name → (token, unit)
    """
    order = list(POINTS)
    parsed = sorted((int(name.split("layers.")[1].split(".")[0]), order.index(name.split(".")[-1]), name) for name in points)
    deep = any(layer for layer, _, _ in parsed)
    rows: list[Any] = [
        Fill("{layer} {point}", layer=layer, point=POINTS[order[kind]]) if deep else POINTS[order[kind]] for layer, kind, _ in parsed
    ]
    arrays = [Array(name, points[name]) for _, _, name in parsed]
    values = np.stack([array.values for array in arrays], 1)  # (token, point, unit)
    kinds = [order[kind] for _, kind, _ in parsed]
    states = values[:, len(kinds) - 1 - kinds[::-1].index("hidden")]  # (token, unit)
    most = np.abs(states).argmax(1)
    limit = view.by_token("gates.limit", np.maximum(1, np.abs(values).max((1, 2))))
    sentences: list[Any] = [
        Format(
            "At the step that chose **{token}**, unit {unit} holds the most: {value:+.2f}.",
            token=Choose(view.at, [quoted(seen(token)) for token in view.text]),
            unit=view.by_token("gates.unit", most, np.int32),
            value=view.by_token("gates.value", states[np.arange(len(states)), most]),
        )
    ]
    last = max((i for i, kind in enumerate(kinds) if kind in GATES), default=None)
    if last is not None:
        sentences.append(
            Format(
                "The gate “{gate}” is above 0.9 in {open} of {of} units and below 0.1 in {shut}.",
                gate=rows[last],
                open=view.by_token("gates.open", (values[:, last] > OPEN).sum(1), np.int32),
                shut=view.by_token("gates.shut", (values[:, last] < SHUT).sum(1), np.int32),
                of=states.shape[1],
            )
        )
    return matrix(
        rows,
        states.shape[1],
        {
            "z": [array["token"] for array in arrays],
            "zmin": Affine(limit, -1.0),
            "zmax": limit,
            "colorscale": SIGNED,
        },
        220,
        title=Format("Gates and states that chose this token"),
        caption=Sentences(sentences),
        file=f"{view.file}-gates",
        tip=Format(
            "{what}, unit {unit}: {value:+.3f}",
            what=Choose(State("y"), rows),
            unit=State("x"),
            value=Choose(State("y"), [array["token", "x"] for array in arrays]),
        ),
    )
