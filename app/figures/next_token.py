"""The distribution a token was chosen from, before and after it was narrowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.bars import LEAST_SCALE, ROW, bar_axes, legend, name_room
from app.figures.expressions import Affine, Array, Choose, Fill, Format, State, Take
from app.figures.generation import GenerationView
from app.figures.live import Live, Parts
from app.figures.theme import COLOURS, colour, themed
from app.figures.tokens import drawn, quoted, seen

MOST, FEW, LEAST = (
    14,
    4,
    5e-4,
)  # most and fewest bars, and the probability from which on there are more than the fewest
LEGEND, VALUES = 28, 130  # px


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
        rows = [
            i for i in range(min(MOST, len(one["ids"]))) if i < FEW or max(one["before"][i], one["after"][i]) >= LEAST
        ]
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
    bar: dict[str, Any] = {
        "y": list(range(MOST)),
        "orientation": "h",
        "hoverinfo": "skip",
        "marker": {"cornerradius": 2},
    }
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
                "{side}: what “{token}” at position {at} was chosen from",
                side=Choose(State("side"), {"a": "A", "b": "B"}),
                token=Choose(view.at, [seen(token) for token in view.text]),
                at=view.at,
            ),
            Format(
                "What could follow “{token}”, position {at} of its beam",
                token=_named(view, node),
                at=Array("node.number", np.array([0, *(one["level"] for one in view.nodes)], np.int32))[node],
            ),
        ],
    )
    raw, name = [seen(name) for name in names], arrays["name"][which, "point"]
    shares = {"before": arrays["before"][which, "point"], "after": arrays["after"][which, "point"]}
    table = {
        side: Array(f"next.{side}.all", np.array([one[side] for one in found.all], np.float32))[which]
        for side in ("before", "after")
    }
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
