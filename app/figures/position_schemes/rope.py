"""RoPE (Su et al. 2021): a dial per pair of dimensions, q·k by offset and for every pair of positions, wavelengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Affine, Array, Choose, Clamp, Expression, Fill, Format, State, Sum, Take
from app.figures.live import Live
from app.figures.position_schemes.parts import (
    STYLES,
    by_offset,
    chosen_among,
    framed,
    line_chart,
    lines_by_offset,
    marked,
    matrix_map,
    number_table,
    precise,
    same_places,
    told,
    uneven,
    with_margin,
)
from app.figures.theme import SIGNED, colour

COLUMNS = 4  # of dials
WIDE, HIGH = 2.7, 3.1  # room of a dial, in its radius
RADIUS = 34  # px
KEY = Choose(State("ropeKey"), {"same": 0, "other": 1})


def rope_figures(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Live]:
    """arrays: turned (position, pair, 2), scores (key, query, key), unturned (key,)"""
    turned, scores = arrays["turned"], arrays["scores"]
    return {
        "dials": dials(turned),
        "scores": scores_by_offset(scores, arrays["unturned"]),
        "matrix": score_matrix(scores),
        "wavelengths": wavelengths(turned),
    }


def angles(turned: np.ndarray) -> np.ndarray:
    """(pair,): radians per position, never more than 1"""
    return np.arctan2(turned[1, :, 1].astype(float), turned[1, :, 0].astype(float))


def places(length: int) -> tuple[Expression, Expression, Expression]:
    """The query's position, the key's, and the offset between them, all within the sequence."""
    position = Clamp(State("position"), 0, length - 1)
    other = Clamp(Sum([position, State("offset")]), 0, length - 1)
    return position, other, Sum([other, Affine(position, -1)])


def dials(turned: np.ndarray) -> Live:
    """Solid hands: where each pair stands at the position; dashed: at the position plus the offset."""
    length, pairs, _ = turned.shape
    columns = min(COLUMNS, pairs)
    rows = -(-pairs // columns)
    x, y = WIDE * (np.arange(pairs) % columns), -HIGH * (np.arange(pairs) // columns)
    around = np.append(np.linspace(0, 2 * np.pi, 49), np.nan)
    gap = np.full((length, pairs), np.nan)

    def hands(centre: np.ndarray, part: int) -> np.ndarray:
        """(position, 3 · pair): centre, end, gap"""
        ends = centre + turned[..., part]
        return np.stack([np.broadcast_to(centre, ends.shape), ends, gap], -1).reshape(length, -1).astype(np.float32)

    hand_x, hand_y = Array("hand_x", hands(x, 0)), Array("hand_y", hands(y, 1))
    theta = angles(turned)
    position, other, offset = places(length)
    by_position = Array("angle", (theta * np.arange(length)[:, None]).astype(np.float32))  # (position, pair)
    between = Array("between", (theta[:, None] * np.arange(1 - length, length)).astype(np.float32))  # (pair, offset)
    hot = chosen_among("is_pair", pairs)
    centre_x, centre_y = Array("dial_x", x.astype(np.float32)), Array("dial_y", y.astype(np.float32))
    hand = {"mode": "lines+markers", "hoverinfo": "skip", "marker": {"size": [0, 8, 0] * pairs, "opacity": 1}}
    figure = go.Figure(
        [
            go.Scatter(x=np.add.outer(x, np.cos(around)).ravel().tolist(), y=np.add.outer(y, np.sin(around)).ravel().tolist(), mode="lines", fill="toself", line={"width": 1.5}, hoverinfo="skip"),
            go.Scatter(x=np.stack([x, x + 1, x * np.nan], 1).ravel().tolist(), y=np.stack([y, y, y * np.nan], 1).ravel().tolist(), mode="lines", line={"width": 1}, hoverinfo="skip"),
            go.Scatter(**hand, line={"width": 3, "dash": "4px,5px"}),
            go.Scatter(**hand, line={"width": 3}),
            go.Scatter(x=x.tolist(), y=y.tolist(), mode="markers", marker={"size": 2 * RADIUS, "opacity": 0}),
            go.Scatter(x=x.tolist(), y=(y - 1.42).tolist(), mode="text", hoverinfo="skip"),
        ],
        {
            "xaxis": {"visible": False, "fixedrange": True, "range": [-WIDE / 2, WIDE * columns - WIDE / 2], "constrain": "domain"},
            "yaxis": {"visible": False, "fixedrange": True, "range": [-HIGH * rows + 1.3, 1.2], "constrain": "domain", "scaleanchor": "x", "constraintoward": "top"},
            "margin": {"l": 0, "r": 0, "t": 2, "b": 2},
            "dragmode": False,
            "shapes": [{"type": "circle", "line": {"width": 3}}],
        },
    )  # fmt: skip
    bindings = {
        "data[0].line.color": colour("line"),
        "data[0].fillcolor": colour("card"),
        "data[1].line.color": colour("line"),
        "data[2].x": hand_x[other],
        "data[2].y": hand_y[other],
        "data[2].line.color": colour("amber"),
        "data[2].marker.color": colour("amber"),
        "data[3].x": hand_x["position"],
        "data[3].y": hand_y["position"],
        "data[3].line.color": colour("ink"),
        "data[3].marker.color": colour("ink"),
        "data[4].customdata": by_position["position"],
        "data[4].hovertemplate": Fill(
            "{text}<extra></extra>",
            text=Format(
                "pair {pair} at position {position}: turned by {angle} rad",
                pair="%{pointNumber}",
                position=position,
                angle="%{customdata:.4f}",
            ),
        ),
        "data[5].text": [Format("pair {pair}", pair=pair) for pair in range(pairs)],
        "data[5].textfont.color": Take([colour("mute"), colour("accent")], hot["pair"]),
        "layout.shapes[0].x0": Affine(centre_x["pair"], offset=-1),
        "layout.shapes[0].x1": Affine(centre_x["pair"], offset=1),
        "layout.shapes[0].y0": Affine(centre_y["pair"], offset=-1),
        "layout.shapes[0].y1": Affine(centre_y["pair"], offset=1),
        "layout.shapes[0].line.color": colour("accent"),
    }
    turned_to = Array("turned", turned)
    return Live(
        figure,
        bindings,
        title=Format("One dial per pair of dimensions"),
        caption=Format(
            "Solid hands: position **{position}**; dashed: position {other}. Pair {pair} turns by {theta:.5f} rad per position, so the angle between its hands is **{turn:.3f}** rad at offset {offset:+}, wherever they stand: move the position and see.",
            position=position,
            other=other,
            offset=offset,
            pair=Clamp(State("pair"), 0, pairs - 1),
            theta=Array("theta", theta.astype(np.float32))["pair"],
            turn=between["pair", Affine(offset, offset=length - 1)],
        ),
        file="rope-dials",
        click={"pair": "point"},
        arrows={"x": ("pair", pairs)},
        table={
            "pair": list(range(pairs)),
            "theta": theta.tolist(),
            "cos": [turned_to["position", pair, 0] for pair in range(pairs)],
            "sin": [turned_to["position", pair, 1] for pair in range(pairs)],
        },
        height=round((HIGH * rows - 0.1) * RADIUS) + 4,
    )


def scores_by_offset(scores: np.ndarray, unturned: np.ndarray) -> Live:
    """One query's rows of q·k, from several positions, and q·k without turning."""
    length = scores.shape[-1]
    fixed_places = sorted({0, length // 2, length - 1})
    rows, values = Array("scores_by_offset", by_offset(scores)), Array("scores", scores)  # (key, position, offset)
    traces, bindings = lines_by_offset(
        lambda place: rows[KEY, place],
        fixed_places,
        same_places("is_place", fixed_places, length),
        digits=".5f",
        chosen_width=3,
    )
    x, last = list(range(1 - length, length)), len(traces)
    plain, name = Array("unturned", unturned), Format("without turning")
    traces.append(go.Scatter(x=x, mode="lines", showlegend=False, line={"width": 1.4, "dash": STYLES[4][1]}))
    bindings |= {
        f"data[{last}].y": Array("unturned_line", np.repeat(unturned[:, None], len(x), 1))[KEY],
        f"data[{last}].name": name,
        f"data[{last}].hovertemplate": told(name, ".5f"),
        f"data[{last}].line.color": STYLES[4][0],
    }
    _, other, offset = places(length)
    here = values[KEY, "position", other]
    ranges = [with_margin(np.append(score, flat)) for score, flat in zip(scores, unturned, strict=True)]
    live = line_chart(
        traces,
        x,
        Choose(KEY, ranges),
        names=(Format("offset"), "q·k"),
        file="rope-scores",
        title=Format("q·k by offset"),
        caption=Format(
            "At offset **{offset:+}**, q·k = **{value:.5f}**, from whichever position: over all places the same offset differs by at most **{worst:#.2g}**. Without turning it would be {unturned:.5f} everywhere.",
            offset=offset,
            value=here,
            worst=Choose(KEY, [uneven(score) for score in scores]),
            unturned=plain[KEY],
        ),
        bindings=bindings,
        signed=True,
    )
    live.click = {"offset": "x"}
    return marked(live, offset, [here])


def score_matrix(scores: np.ndarray) -> Live:
    length = scores.shape[-1]
    limit = Array("score_limit", np.maximum(1e-6, np.abs(scores).max((1, 2))).astype(np.float32))
    between = np.arange(length) - np.arange(length)[:, None]
    live = matrix_map(
        Array("scores", scores)[KEY],
        scores.shape[1:],
        limits=(Affine(limit[KEY], -1), limit[KEY]),
        scale=SIGNED,
        ends=(Fill("{limit:.2f}", limit=Affine(limit[KEY], -1)), Fill("{limit:.2f}", limit=limit[KEY])),
        names=(Format("query's position"), Format("key's position")),
        hover=Fill(
            "{text}<extra></extra>",
            text=Format(
                "q at {m}, k at {n} (offset {offset}): {value}",
                m="%{y}",
                n="%{x}",
                offset="%{customdata:+d}",
                value="%{z:.5f}",
            ),
        ),
        file="rope-matrix",
        title=Format("q·k for every pair of positions"),
        caption=Format(
            "Constant along every diagonal, up to **{worst:#.2g}**: only the offset counts.",
            worst=Choose(KEY, [uneven(score) for score in scores]),
        ),
        side=max(320, 3 * length),
    )
    live.bindings["data[0].customdata"] = Array("between_positions", between.astype(np.int32))[()]
    live.click = {"position": "y", "offset": Sum([State("x"), Affine(State("y"), -1)])}
    position, other, _ = places(length)
    return framed(live, position, other)


def wavelengths(turned: np.ndarray) -> Live:
    length, pairs, _ = turned.shape
    theta = angles(turned)
    wavelength = 2 * math.pi / theta
    turns = (length - 1) / wavelength
    columns: dict[str, Any] = {
        "pair": (Format("pair"), list(range(pairs)), [str(pair) for pair in range(pairs)]),
        "theta": (Format("θ (rad per position)"), theta.tolist(), [precise(one, 4) for one in theta]),
        "wavelength": (
            Format("wavelength (positions)"),
            wavelength.tolist(),
            [precise(one, 4) for one in wavelength],
        ),
        "turns": (Format("turns over all positions"), turns.tolist(), [precise(one, 3) for one in turns]),
    }
    return number_table(
        columns,
        chosen_among("is_pair", pairs)["pair"],
        file="rope-wavelengths",
        title=Format("Wavelengths"),
        caption=Format(
            "Over {length} positions, **{whole}** of {pairs} pairs complete a full turn; the slowest would need {slowest} positions.",
            whole=int((turns >= 1).sum()),
            pairs=pairs,
            length=length,
            slowest=round(float(wavelength[-1])),
        ),
    )
