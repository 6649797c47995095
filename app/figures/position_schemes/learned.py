"""Learned positions: a run's table before training and at a snapshot, the cosines of its rows, and how far each has moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Affine, Array, Choose, Expression, Fill, Format, Slice, State
from app.figures.live import Live
from app.figures.position_schemes.parts import line_chart, matrix_map, shaded, told
from app.figures.theme import SIGNED, colour

SIDE = 320  # px of a matrix of cosines
ADDED = Choose(State("tableView"), {"whole": 0, "added": 1})


def learned_figures(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Live]:
    """arrays, by part of the model: table and cosines (snapshot, position, …), the same of what training added, moved
    (snapshot, position). "<part>.table", … are at the snapshot that header["moment"] names; a checkpoint has one only.
    """
    figures: dict[str, Live] = {}
    for part in header["parts"]:
        own = {
            name.removeprefix(f"{part}."): Array(name, values)
            for name, values in arrays.items()
            if name.startswith(f"{part}.")
        }
        drawn = checkpoint(header, own) if header["checkpoint"] else trained(part, header, own)
        figures |= {f"{part}.{name}": live for name, live in drawn.items()}
    return figures


def trained(part: str, header: dict[str, Any], own: dict[str, Array]) -> dict[str, Live]:
    moment, steps = header["moment"], Array("steps", np.asarray(header["steps"], np.int32))
    tables = own["table"].values
    _, length, width = tables.shape
    seen, step = min(header["trained"], length), steps[moment]

    def fact(name: str, values: Any) -> Array:
        return Array(f"{part}.{name}", np.asarray(values, np.float32))

    started = np.square(tables[0, :seen].astype(float)).sum()
    share = fact("share", np.sqrt(np.square(own["added_table"].values[:, :seen].astype(float)).sum((1, 2)) / started))
    alike = {kind: neighbours(own[f"{kind}cosines"].values, seen) for kind in ("", "added_")}
    near, far = (fact(name, [alike[kind][i] for kind in ("", "added_")]) for i, name in enumerate(("near", "far")))
    facts = {"last": seen - 1}
    return {
        "table_before": table_map(
            own["table"][0],
            (length, width),
            largest(tables),
            file="learned-table-before",
            title=Format("The table before training"),
            caption=Format(
                "Step {step}: {length} positions × {width} dimensions.",
                step=header["steps"][0],
                length=length,
                width=width,
            ),
        ),
        "table": table_map(
            Choose(ADDED, [own["table"][moment], own["added_table"][moment]]),
            (length, width),
            Choose(ADDED, [largest(tables), largest(own["added_table"].values)]),
            file="learned-table-now",
            title=Choose(
                ADDED,
                [
                    Format("The table at step {step}", step=step),
                    Format("What training has added by step {step}", step=step),
                ],
            ),
            caption=Format(
                "Step {step}: the rows seen in training have moved by **{moved:.1%}** of their length.",
                step=step,
                moved=share[moment],
            ),
        ),
        "cosines_before": cosine_map(
            own["cosines"][0],
            length,
            file="learned-cosines-before",
            title=Format("How alike its positions are before training"),
            caption=Format(
                "Step {step}: among positions 0 to {last}, neighbours have a mean cosine of **{near:.2f}**, all other pairs **{far:.2f}**.",
                step=header["steps"][0],
                near=near[0, 0],
                far=far[0, 0],
                **facts,
            ),
        ),
        "cosines": cosine_map(
            Choose(ADDED, [own["cosines"][moment], own["added_cosines"][moment]]),
            length,
            file="learned-cosines-now",
            title=Choose(
                ADDED,
                [
                    Format("How alike its positions are at step {step}", step=step),
                    Format("How alike the additions are at step {step}", step=step),
                ],
            ),
            caption=Format(
                "Step {step}: among positions 0 to {last}, neighbours have a mean cosine of **{near:.2f}**, all other pairs **{far:.2f}**.",
                step=step,
                near=near[ADDED, moment],
                far=far[ADDED, moment],
                **facts,
            ),
        ),
        "moved": moved(own["moved"], seen, step, moment, fact),
    }


def moved(distances: Array, seen: int, step: Slice, moment: str, fact: Any) -> Live:
    values = distances.values  # (snapshot, position)
    length = values.shape[1]
    x, name = list(range(length)), Format("distance moved")
    inside = fact("moved_inside", values[:, :seen].mean(1))[moment]
    caption = Format(
        "At step {step}, positions 0 to {last} have moved by **{inside:.2f}** on average.",
        step=step,
        last=seen - 1,
        inside=inside,
    )
    if seen < length:
        caption = Format(
            "At step {step}, positions 0 to {last} have moved by **{inside:.2f}** on average; positions {first} to {to}, which training never met, by **{outside:.2f}**: they are still what chance made them.",
            step=step,
            last=seen - 1,
            inside=inside,
            first=seen,
            to=length - 1,
            outside=fact("moved_outside", values[:, seen:].mean(1))[moment],
        )
    live = line_chart(
        [
            go.Scatter(
                x=x, mode="lines+markers", line={"width": 3}, marker={"size": 6}, showlegend=False, cliponaxis=False
            )
        ],
        x,
        [0, 1.05 * max(0.1, float(values.max()))],
        names=(Format("position"), name),
        file="learned-moved",
        title=Format("How far each position has moved since the start"),
        caption=caption,
        bindings={
            "data[0].y": distances[moment],
            "data[0].name": name,
            "data[0].hovertemplate": told(name, ".4f"),
            "data[0].line.color": colour("accent"),
            "data[0].marker.color": colour("accent"),
        },
        height=240,
    )
    return shaded(live, 0, seen - 1, Format("seen in training"))


def checkpoint(header: dict[str, Any], own: dict[str, Array]) -> dict[str, Live]:
    """The table as it is; a few numbers far above the others must not make those invisible."""
    table = own["table"].values[0]
    length, width = table.shape
    most = largest(table)
    limit = min(most, 4 * float(np.sqrt(np.square(table.astype(float)).mean())))
    near, far = neighbours(own["cosines"].values, length)
    return {
        "table": table_map(
            own["table"][0],
            (length, width),
            limit,
            file="learned-table-now",
            title=Format("Its table"),
            caption=Format(
                "The first {length} of {positions} positions × {width} dimensions. Colours end at ±{limit:.3f}; {beyond:,} numbers lie beyond, the largest is {most:.2f}.",
                length=length,
                positions=header["checkpoint"]["positions"],
                width=width,
                limit=limit,
                beyond=int((np.abs(table) > limit).sum()),
                most=most,
            ),
        ),
        "cosines": cosine_map(
            own["cosines"][0],
            length,
            file="learned-cosines-now",
            title=Format("How alike its positions are"),
            caption=Format(
                "Among positions 0 to {last}, neighbours have a mean cosine of **{near:.2f}**, all other pairs **{far:.2f}**.",
                last=length - 1,
                near=float(near[0]),
                far=float(far[0]),
            ),
        ),
    }


def table_map(z: Expression, shape: tuple[int, int], limit: Any, **words: Any) -> Live:
    tip = Format("position {row}, dimension {column}: {value}", row="%{y}", column="%{x}", value="%{z:.4f}")
    return matrix_map(
        z,
        shape,
        limits=(Affine(limit, -1), limit),
        scale=SIGNED,
        ends=(Fill("{limit:.2f}", limit=Affine(limit, -1)), Fill("+{limit:.2f}", limit=limit)),
        names=(Format("position"), Format("dimension")),
        hover=Fill("{text}<extra></extra>", text=tip),
        **words,
    )


def cosine_map(z: Expression, side: int, **words: Any) -> Live:
    tip = Format("positions {row} and {column}: cosine {value}", row="%{y}", column="%{x}", value="%{z:.4f}")
    return matrix_map(
        z,
        (side, side),
        limits=(-1, 1),
        scale=SIGNED,
        ends=("−1.00", "+1.00"),
        names=(Format("position"), Format("position")),
        hover=Fill("{text}<extra></extra>", text=tip),
        side=max(SIDE, 3 * side),
        **words,
    )


def largest(values: np.ndarray) -> float:
    return max(1e-6, float(np.abs(values).max()))


def neighbours(cosines: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(snapshot,): mean cosine of neighbours, and of all other pairs, among the first n positions"""
    apart = np.subtract.outer(np.arange(n), np.arange(n))
    among = cosines[:, :n, :n].astype(float)
    near, far = among[:, apart == 1], among[:, apart > 1]
    missing = np.full(len(among), np.nan)
    return (near.mean(1) if near.size else missing), (far.mean(1) if far.size else missing)
