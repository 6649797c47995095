"""ALiBi (Press et al. 2022): what each head adds to its scores by distance, causal or two-sided, and its slopes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Affine, Array, Choose, Clamp, Fill, Format, Sentences, State
from app.figures.live import Live
from app.figures.position_schemes.parts import (
    SIDES,
    chosen_among,
    line_chart,
    matrix_map,
    number_table,
    precise,
    told,
    with_margin,
)
from app.figures.theme import COLOURS, colour, shade, signed_scale, themed

NEGATIVE = themed(*([[2 * at, tint] for at, tint in signed_scale(theme) if at <= 0.5] for theme in ("light", "dark")))


def alibi_figures(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Live]:
    """arrays: slopes (head,), bias (head, query, key), causal (query, key)"""
    slopes, bias = arrays["slopes"], arrays["bias"]
    return {
        "matrix": matrix(slopes, bias, arrays["causal"].astype(bool)),
        "lines": by_distance(slopes, bias),
        "slopes": slope_table(slopes),
    }


def matrix(slopes: np.ndarray, bias: np.ndarray, causal: np.ndarray) -> Live:
    heads, side, _ = bias.shape
    far = side - 1
    head = Clamp(State("biasHead"), 0, heads - 1)
    slope, limit = Array("slopes", slopes), Array("limit", slopes * far)
    seen = np.where(causal, bias, np.nan).astype(np.float32)
    distance = np.abs(np.arange(side) - np.arange(side)[:, None])
    facts = {
        "head": head,
        "slope": slope["biasHead"],
        "far": far,
        "bias": Array("farthest", np.ascontiguousarray(bias[:, far, 0]))["biasHead"],
    }
    live = matrix_map(
        Choose(SIDES, [Array("causal_bias", seen)["biasHead"], Array("bias", bias)["biasHead"]]),
        (side, side),
        limits=(Affine(limit["biasHead"], -1), 0),
        scale=NEGATIVE,
        ends=(Fill("{limit:.2f}", limit=Affine(limit["biasHead"], -1)), "0"),
        names=(Format("query's position"), Format("key's position")),
        hover=Fill(
            "{text}<extra></extra>",
            text=Format(
                "head {head}, {query} → {key} (distance {distance}): {value}",
                head=head,
                query="%{y}",
                key="%{x}",
                distance="%{customdata}",
                value="%{z:.4f}",
            ),
        ),
        file="alibi-matrix",
        title=Format("What one head adds to its scores"),
        caption=Choose(
            SIDES,
            [
                Format(
                    "Head **{head}** takes **{slope:.5f}** off per token of distance: {bias:.3f} at distance {far}. What lies ahead is masked.",
                    **facts,
                ),
                Format(
                    "Head **{head}** takes **{slope:.5f}** off per token of distance, alike to both sides: {bias:.3f} at distance {far}. It cannot tell left from right.",
                    **facts,
                ),
            ],
        ),
        side=380,
    )
    live.bindings["data[0].customdata"] = Array("distance", distance.astype(np.int32))[()]
    masked = np.where(causal, np.nan, 1).astype(np.float32)
    live.figure.update_traces(hoverongaps=False)
    live.figure.add_heatmap(zmin=0, zmax=1, showscale=False, hoverongaps=False, meta="overlay")  # not in its CSV
    live.bindings |= {
        "data[1].z": Array("masked", masked)[()],
        "data[1].visible": Choose(SIDES, [True, False]),
        "data[1].colorscale": themed(*([[0, of["hidden"]], [1, of["hidden"]]] for of in COLOURS.values())),
        "data[1].hovertemplate": Fill(
            "{text}<extra></extra>",
            text=Format("{query} → {key}: comes later, masked", query="%{y}", key="%{x}"),
        ),
    }
    return live


def by_distance(slopes: np.ndarray, bias: np.ndarray) -> Live:
    heads, side, _ = bias.shape
    x, hot = list(range(side)), chosen_among("is_head", heads)
    lines = Array("by_distance", np.ascontiguousarray(bias[:, :, 0]))  # (head, distance)
    bindings: dict[str, Any] = {}
    for head in range(heads):
        name, mine = Format("head {n}", n=head), hot["biasHead", head]
        bindings |= {
            f"data[{head}].y": lines[head],
            f"data[{head}].name": name,
            f"data[{head}].hovertemplate": told(name, ".4f"),
            f"data[{head}].line.color": Choose(
                mine, [shade(0.35 + 0.65 * head / max(1, heads - 1)), colour("accent")]
            ),
            f"data[{head}].line.width": Choose(mine, [1.8, 4]),
        }
    live = line_chart(
        [go.Scatter(x=x, mode="lines") for _ in range(heads)],
        x,
        with_margin(lines.values),
        names=(Format("distance"), Format("added to the score")),
        file="alibi-lines",
        title=Format("All heads, by distance"),
        caption=Format(
            "With equal q·k, head **{head}** halves a token's weight every **{half:.1f}** tokens of distance.",
            head=Clamp(State("biasHead"), 0, heads - 1),
            half=Array("half", (math.log(2) / slopes).astype(np.float32))["biasHead"],
        ),
        bindings=bindings,
        height=330,
    )
    live.names = True
    return live


def slope_table(slopes: np.ndarray) -> Live:
    heads = len(slopes)
    half = math.log(2) / slopes.astype(float)
    power = 2 ** int(math.log2(heads))
    columns: dict[str, Any] = {
        "head": (Format("head"), list(range(heads)), [str(head) for head in range(heads)]),
        "slope": (Format("slope"), slopes.tolist(), [precise(float(slope), 5) for slope in slopes]),
        "half": (Format("weight halves every … tokens"), half.tolist(), [precise(one, 3) for one in half]),
    }
    told_of_all = Format(
        "{heads} slopes, fixed before training: the steepest, {steep:.4f}, halves the weight every **{short:.1f}** tokens, the gentlest every **{long:.1f}**.",
        heads=heads,
        steep=float(slopes.max()),
        short=float(half.min()),
        long=float(half.max()),
    )
    between = Format(
        "{heads} is not a power of two: heads 0 to {last} have the slopes of {power} heads, the others lie between, at every second slope of {double} heads.",
        heads=heads,
        power=power,
        last=power - 1,
        double=2 * power,
    )
    return number_table(
        columns,
        chosen_among("is_head", heads)["biasHead"],
        file="alibi-slopes",
        title=Format("Slopes"),
        caption=Sentences([told_of_all, between if heads > power else ""]),
    )
