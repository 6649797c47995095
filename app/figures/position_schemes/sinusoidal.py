"""Sinusoidal positions (Vaswani et al. 2017): the table, its waves, and dot products of two positions by their offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Affine, Array, Choose, Clamp, Fill, Format, State
from app.figures.live import Live
from app.figures.position_schemes.parts import (
    STYLES,
    by_offset,
    framed,
    line_chart,
    lines_by_offset,
    marked,
    matrix_map,
    same_places,
    told,
    uneven,
    with_margin,
)
from app.figures.theme import SIGNED

NEAR = 8  # the offset whose dot product is told


def sinusoidal_figures(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Live]:
    """arrays: table (position, dimension), dots (position, position)"""
    return {"table": table(arrays["table"]), "waves": waves(arrays["table"]), "dots": dots(arrays["dots"])}


def table(values: np.ndarray) -> Live:
    length, width = values.shape
    live = matrix_map(
        Array("table", values)[()],
        values.shape,
        limits=(-1, 1),
        scale=SIGNED,
        ends=("−1", "+1"),
        names=(Format("position"), Format("dimension")),
        hover=Fill(
            "{text}<extra></extra>",
            text=Format(
                "position {position}, dimension {column}: {value}",
                position="%{y}",
                column="%{x} (%{customdata})",
                value="%{z:.4f}",
            ),
        ),
        file="sin-table",
        title=Format("The table"),
        caption=Format(
            "**{length}** positions × **{width}** dimensions. Each row is one position's vector; the waves slow down from left to right.",
            length=length,
            width=width,
        ),
    )
    live.figure.data[0].customdata = [["sin", "cos"] * (width // 2)] * length
    live.click = {"position": "y", "pair": Affine(State("x"), 0.5, whole=True)}
    live.arrows = {"x": ("pair", width // 2), "y": ("position", length)}
    pair = Clamp(State("pair"), 0, width // 2 - 1)
    return framed(live, Clamp(State("position"), 0, length - 1), Affine(pair, 2))


def waves(values: np.ndarray) -> Live:
    """The two columns of the chosen pair, and behind them the fastest and the slowest wave."""
    length, width = values.shape
    pairs, x = width // 2, list(range(length))
    wave = Array("waves", np.ascontiguousarray(values.T).reshape(pairs, 2, length))
    wavelength = Array("wavelength", (2 * np.pi * 10_000.0 ** (2 * np.arange(pairs) / width)).astype(np.float32))
    squares = Array("squares", np.square(wave.values).sum(1))  # (pair, position)
    is_chosen = Array("is_chosen", np.eye(pairs, dtype=np.int32)[[0, -1]])  # (fastest or slowest, pair)
    pair, position = Clamp(State("pair"), 0, pairs - 1), Clamp(State("position"), 0, length - 1)
    kinds = [(0, "sin", 0, STYLES[2]), (width - 2, "sin", 0, STYLES[3])]
    kinds += [(Affine(pair, 2), "sin", 0, STYLES[0]), (Affine(pair, 2, 1), "cos", 1, STYLES[1])]
    bindings: dict[str, Any] = {}
    for i, (column, function, part, (tint, _)) in enumerate(kinds):
        name = Format("{wave}, dim {column}", wave=function, column=column)
        bindings |= {
            f"data[{i}].y": wave[(0, pairs - 1)[i] if i < 2 else "pair", part],
            f"data[{i}].name": name,
            f"data[{i}].hovertemplate": told(name, ".4f"),
            f"data[{i}].line.color": tint,
        }
        if i < 2:
            bindings[f"data[{i}].visible"] = Choose(is_chosen[i, "pair"], [True, False])
    live = line_chart(
        [
            go.Scatter(x=x, mode="lines", line={"dash": dash, "width": 1.2 if i < 2 else 3})
            for i, (*_, (_, dash)) in enumerate(kinds)
        ],
        x,
        [-1.05, 1.05],
        names=(Format("position"), Format("value")),
        file="sin-waves",
        title=Format("Its waves"),
        caption=Format(
            "Pair {pair} repeats every **{wavelength:.1f}** positions. At position {position} it reads sin **{sin:.4f}**, cos **{cos:.4f}**; their squares sum to {sum:.4f}.",
            pair=pair,
            wavelength=wavelength["pair"],
            position=position,
            sin=wave["pair", 0, "position"],
            cos=wave["pair", 1, "position"],
            sum=squares["pair", "position"],
        ),
        bindings=bindings,
    )
    live.names, live.click = True, {"position": "x"}
    return marked(live, position, [wave["pair", part, "position"] for part in (0, 1)])


def dots(values: np.ndarray) -> Live:
    """Rows of the Gram matrix by offset: sin a sin b + cos a cos b = cos (a − b), so all lie on each other."""
    length = len(values)
    places, near = sorted({0, length // 4, length // 2, length - 1}), min(NEAR, length - 1)
    rows = Array("dots_by_offset", by_offset(values))
    traces, bindings = lines_by_offset(
        lambda place: rows[place], places, same_places("is_place", places, length), digits=".4f", chosen_width=3.5
    )
    seen_from = [", ".join(map(str, sorted({*places, position}))) for position in range(length)]
    live = line_chart(
        traces,
        list(range(1 - length, length)),
        with_margin(values),
        names=(Format("offset"), Format("dot product")),
        file="sin-dots",
        title=Format("How alike two positions are, by offset"),
        caption=Format(
            "Seen from positions {places}, the curves lie on each other: the same offset differs by at most **{worst:#.2g}** anywhere. The dot product is {here:.2f} at offset 0 and **{there:.2f}** at offset ±{near}.",
            places=Choose(State("position"), seen_from),
            worst=uneven(values),
            here=float(values[0, 0]),
            near=near,
            there=float(values[0, near]),
        ),
        bindings=bindings,
        signed=True,
    )
    return live
