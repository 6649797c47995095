"""The arithmetic of one attention weight: its numbers as a table, and the terms of its score as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.attention_view import CHOSEN, AttentionView
from app.figures.axes import shortened
from app.figures.expressions import Array, BySign, Choose, Expression, Fill, Format, Sentences, State, Transpose
from app.figures.live import Live
from app.figures.theme import BLUE, ORANGE, colour

CELL = (*CHOSEN, "key")
NAMED = 13  # letters of a token beside its position
SCORES = {"dot": Format("q · k"), "luong": Format("state · source"), "additive": Format("v · tanh(q + k)")}


@dataclass(frozen=True)
class RowArithmetic:
    """Every number between one query and each key, of (snapshot, layer, head, …); NaN where there is none."""

    kind: str  # "dot", "luong" or "additive"
    rotated: bool  # has RoPE been applied to q and k?
    scale: float
    q: np.ndarray  # (…, unit)
    k: np.ndarray  # (…, key, unit)
    terms: np.ndarray  # (…, key, unit): they add up to the score before scale, bias and mask
    bias: np.ndarray  # (…, key), as the rest
    kept: np.ndarray  # 1 where the mask lets the query look
    score: np.ndarray
    exp: np.ndarray
    sum_exp: np.ndarray  # (…)
    weight: np.ndarray

    @property
    def dot(self) -> np.ndarray:
        return self.terms.sum(-1, dtype=np.float64)


def cell_numbers(view: AttentionView, row: RowArithmetic) -> Live:
    """From q · k to the weight, number by number."""

    def number(name: str, values: np.ndarray) -> Expression:
        return Array(f"cell.{name}", values.astype(np.float32))[(*CHOSEN, "key")[: values.ndim]]

    weight = number("weight", row.weight)
    parts: list[tuple[str, Any, Any, Any]] = [  # as the CSV calls it, its name, as it is written, exactly
        ("query", Format("query"), _token(view.queries, "query"), None),
        ("key", Format("key"), _token(view.keys, "key"), None),
        ("dot", SCORES[row.kind], None, number("dot", row.dot)),
    ]
    if row.kind == "dot":
        named = Format("not scaled") if row.scale == 1 else Format("/ √d ({width})", width=row.terms.shape[-1])
        parts.append(("scaled", named, None, number("scaled", row.dot * row.scale)))
        bias = Format("none") if np.isnan(row.bias).all() else None
        parts.append(("bias", Format("+ bias"), bias, number("bias", row.bias)))
    masked, kept = (
        not np.isnan(row.kept).all(),
        Array("cell.kept", np.nan_to_num(row.kept, nan=1).astype(np.int32))[CELL],
    )
    parts += [
        ("score", Format("score"), None, number("score", row.score)),
        ("mask", Format("mask"), Choose(kept, [Format("hides it"), Format("lets it through")]) if masked else Format("there is none"), None),
        ("exp", Format("exp(score)"), None, number("exp", row.exp)),
        ("total", Format("/ Σ exp(scores)"), None, number("total", row.sum_exp)),
        ("weight", Format("weight"), Fill("{weight:.4f}", weight=weight), weight),
    ]  # fmt: skip
    ink, mute, accent = colour("ink"), colour("mute"), colour("accent")
    others = len(parts) - 1
    about: dict[str, Any] = {
        "query": view.query_token(State("query")), "key": view.key_token(State("key")), "weight": weight,
        "where": view.where, "step": view.step,
    }  # fmt: skip
    return Live(
        go.Figure(go.Table(header={"values": ["", ""]})),
        {
            "data[0].cells.values": [
                [name for _, name, _, _ in parts],
                [Fill("{value:g}", value=exact) if written is None else written for _, _, written, exact in parts],
            ],
            "data[0].cells.font.color": [[mute] * others + [accent], [ink] * others + [accent]],
        },
        title=Format("The arithmetic"),
        caption=Choose(
            kept,
            [
                Format("{where}: the mask hides **{key}** from **{query}**, whose weight for it is 0.", **about),
                Format("{where}: **{query}** gives **{key}** {weight:.1%} of its weight.", **about),
            ],
        ),
        file=_file(view),
        table={
            "part": [part for part, *_ in parts],
            "value": [written if exact is None else exact for _, _, written, exact in parts],
        },
        height=1,
    )


def _token(tokens: list[str], key: str) -> Expression:
    names = [f"\u2068{shortened(token, NAMED)}\u2069 ({position})" for position, token in enumerate(tokens)]
    return Choose(State(key), names)


def _file(view: AttentionView) -> Expression:
    return Fill(
        "{name}-{layer}.{head}-cell{query}-{key}-step{step}",
        name=view.file, layer=State("layer"), head=State("head"), query=State("query"), key=State("key"), step=view.step,
    )  # fmt: skip


def _range(terms: np.ndarray) -> np.ndarray:
    """(layer, head, key, 2): from the smallest term to the largest, in all of training: one scale to see it grow."""
    low, high = terms.min((0, -1)).clip(max=0), terms.max((0, -1)).clip(min=0)
    spare = 0.05 * np.maximum(high - low, 1e-6)
    return np.stack([low - spare, high + spare], -1).astype(np.float32)


def score_terms(view: AttentionView, row: RowArithmetic) -> Live:
    """The terms of one score, q_i · k_i (or v_i tanh(q_i + k_i)), dimension by dimension."""
    terms, kind = row.terms, row.kind
    size = np.abs(terms)
    order = np.argsort(-size, axis=-1, kind="stable")
    reached = np.cumsum(np.take_along_axis(size, order, -1), -1) < size.sum(-1, keepdims=True) / 2
    few = Array("terms.few", (reached.sum(-1) + 1).astype(np.int32))
    largest = Array("terms.largest", order[..., 0].astype(np.int32))
    term = Array("terms.term", np.take_along_axis(terms, order[..., :1], -1)[..., 0].astype(np.float32))
    figure = go.Figure(
        go.Bar(marker={"line": {"width": 0}}),
        {
            "bargap": 0.15,
            "xaxis": {
                "showgrid": False,
                "zeroline": False,
                "fixedrange": True,
                "nticks": 5,
                "range": [-0.5, terms.shape[-1] - 0.5],
            },
            "yaxis": {"nticks": 3, "fixedrange": True, "showgrid": False},
            "margin": {"l": 44, "r": 4, "t": 4, "b": 20},
        },
    )
    values = Array("terms", terms.astype(np.float32))
    q, k = Array("terms.q", row.q.astype(np.float32))[CHOSEN], Array("terms.k", row.k.astype(np.float32))[CELL]
    about: dict[str, Any] = {
        "few": few[CELL], "width": terms.shape[-1], "unit": largest[CELL], "term": term[CELL],
    }  # fmt: skip
    said = [
        Format(
            "Half of the sum of |q · k| comes from **{few}** of {width} dimensions; the largest is dimension **{unit}** with {term:g}.",
            **about,
        )
        if kind == "dot"
        else Format(
            "Half of the sum of |terms| comes from **{few}** of {width} units; the largest is unit **{unit}** with {term:g}.",
            **about,
        )
    ]
    if row.rotated:
        said.append(Format("q and k are those after RoPE has turned them."))
    return Live(
        figure,
        {
            "data[0].y": values[CELL],
            "data[0].customdata": Transpose([q, k]),
            "layout.yaxis.range": Array("terms.range", _range(terms))["layer", "head", "key"],
            "data[0].marker.color": BySign(values[CELL], BLUE, ORANGE),
            "data[0].hovertemplate": Format(
                "{unit}: q {q}, k {k}, term {term}<extra></extra>",
                unit="%{x}", q="%{customdata[0]:.4f}", k="%{customdata[1]:.4f}", term="%{y:.4f}",
            ),
        },
        title={
            "dot": Format("q · k by dimension"),
            "luong": Format("state · source by unit"),
            "additive": Format("v · tanh(q + k) by unit"),
        }[kind],
        caption=Sentences(said),
        file=_file(view),
        table={
            "unit": list(range(terms.shape[-1])),
            "q": q,
            "k": k,
            "term": values[CELL],
        },
        height=132,
    )  # fmt: skip
