"""No positions: one sentence in two orders, what a model with each scheme makes of its words, and how much order matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import categories, tick_labels
from app.figures.expressions import Array, Choose, Expression, Fill, Format, Sentences, State, Take
from app.figures.live import Live
from app.figures.numbers import write
from app.figures.position_schemes.parts import SCHEME_NAMES, chosen_among, matrix_map
from app.figures.theme import WEIGHT, colour, shade

SAME = 1e-4  # differences below this are rounding
WITH: dict[str, Expression] = {
    "none": Format("Without positions"),
    "sinusoidal": Format("With sinusoidal positions"),
    "learned": Format("With learned positions"),
    "rope": Format("With RoPE"),
    "alibi": Format("With two-sided ALiBi"),
    "t5": Format("With T5 buckets"),
    "causal": Format("Without positions, but causal"),
}


def reordered_figures(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Live]:
    """arrays: cosines (scheme, word, reordered word), apart (scheme,)"""
    schemes, apart = header["schemes"], arrays["apart"]
    chosen = Choose(State("modelScheme"), {scheme: i for i, scheme in enumerate(schemes)})
    return {
        "map": outputs(header, arrays["cosines"], apart, chosen),
        "apart": differences(schemes, apart, chosen, header["order"]),
    }


def outputs(header: dict[str, Any], cosines: np.ndarray, apart: np.ndarray, chosen: Choose) -> Live:
    words, places = header["words"], header["places"]
    other = [words[place] for place in places]
    n = len(words)
    ticks = {"type": "category", "tickmode": "array", "tickvals": list(range(n)), "tickfont": {"size": 15}}
    live = matrix_map(
        Array("cosines", cosines)[chosen],
        (n, n),
        limits=(0, 1),
        scale=WEIGHT,
        ends=("≤ 0", "1"),
        names=(Format("words in their order"), Format("the same words reordered")),
        hover=Fill(
            "{text}<extra></extra>",
            text=Format("{word} and {other}: cosine {value}", word="%{y}", other="%{x}", value="%{z:.5f}"),
        ),
        file="none-map",
        title=Format("What comes out for each word, in both orders"),
        caption=Choose(
            chosen,
            [
                Format(
                    "{scheme}, each word comes out **the same** wherever it stands (framed): the largest difference of any number is **{apart:#.2g}**, which is rounding.",
                    scheme=WITH[scheme],
                    apart=float(value),
                )
                if value < SAME
                else Format(
                    "{scheme}, the same word in another place comes out differently (framed): some number of its output differs by **{apart:#.2g}**.",
                    scheme=WITH[scheme],
                    apart=float(value),
                )
                for scheme, value in zip(header["schemes"], apart, strict=True)
            ],
        ),
        side=340,
        left=max(32, 14 + max(label_width(label) for label in tick_labels(words))),
        axes={
            "xaxis": {**ticks, "range": [-0.5, n - 0.5], "ticktext": tick_labels(other), "side": "top", "autotickangles": [0, 90], "automargin": True},
            "yaxis": {**ticks, "range": [n - 0.5, -0.5], "ticktext": tick_labels(words)},
        },
    )  # fmt: skip
    live.figure.update_traces(x=categories(other), y=categories(words))
    corners = "M{0},{2}H{1}V{3}H{0}Z"
    frames = "".join(
        corners.format(column - 0.48, column + 0.48, row - 0.48, row + 0.48) for column, row in enumerate(places)
    )
    live.figure.add_shape(type="path", path=frames, line={"width": 2})
    live.bindings["layout.shapes[0].line.color"] = colour("amber")
    return live


def label_width(text: str) -> int:
    """px of a word beside its row, about"""
    return round(sum(15 if letter > "\u2e7f" else 8.5 for letter in text))


def differences(schemes: list[str], apart: np.ndarray, chosen: Choose, order: str) -> Live:
    """The largest change of an output when the words change places, by scheme."""
    names = [SCHEME_NAMES[scheme] for scheme in schemes]
    hot = chosen_among("is_scheme", len(schemes))[chosen]
    most, rows = float(apart.max()) or 1.0, len(schemes)
    figure = go.Figure(
        go.Bar(
            x=apart.tolist(), y=list(range(rows)), orientation="h", text=[write(float(one), ".2g") for one in apart],
            textposition="outside", cliponaxis=False, customdata=schemes, hoverinfo="none", width=0.45,
        ),
        {
            "xaxis": {"visible": False, "fixedrange": True, "range": [0, 1.3 * most]},
            "yaxis": {
                "range": [rows - 0.5, -0.5], "fixedrange": True, "showgrid": False, "zeroline": False, "ticks": "", "automargin": True,
                "tickvals": list(range(rows)), "ticklabelstandoff": 8,
            },
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "dragmode": False,
        },
    )  # fmt: skip
    blind: Expression | str = ""
    for name, value in zip(names, apart, strict=True):
        if value < SAME:
            blind = Format("{first} and {second}", first=blind, second=name) if blind else name
    caption = [
        Format(
            "One untrained encoder of two layers, the same with each scheme. Blind to this change of order: **{blind}**.",
            blind=blind,
        ),
        Format("A mirror keeps all distances, and two-sided ALiBi sees nothing else.") if order == "reverse" else "",
        Format(
            "A causal mask tells order by itself: a token that sees fewer others stands earlier (change {apart:#.2g}).",
            apart=float(apart[-1]),
        ),
    ]
    return Live(
        figure,
        {
            "data[0].marker.color": Take([shade(0.35), colour("accent")], hot),
            "data[0].textfont.color": Take([colour("ink"), colour("accent")], hot),
            "layout.yaxis.ticktext": names,
            "layout.yaxis.tickfont.color": colour("ink"),
        },
        title=Format("How much order matters, by scheme"),
        caption=Sentences(caption),
        file="none-apart",
        click={"modelScheme": "customdata"},
        table={"scheme": names, "largest change of an output": apart.tolist()},
        height=34 * rows + 16,
    )
