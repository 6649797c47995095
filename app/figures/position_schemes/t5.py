"""T5's relative positions (Raffel et al. 2020): which offsets share a bucket, and what trained heads add for each offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Array, Choose, Fill, Format
from app.figures.live import Live
from app.figures.position_schemes.parts import SIDES, STYLES, chosen_among, line_chart, matrix_map, told
from app.figures.theme import WEIGHT, colour, shade

DASHES = ("solid", "7px,3px", "2px,3px", "9px,3px,2px,3px")


def t5_bucket_figures(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Live]:
    """arrays: offsets (offset,), buckets (sides, offset), matrix (sides, query, key)"""
    n_buckets = header["n_buckets"]
    return {
        "steps": by_offset(arrays["offsets"], arrays["buckets"], n_buckets),
        "matrix": between_tokens(arrays["matrix"], n_buckets),
    }


def by_offset(offsets: np.ndarray, buckets: np.ndarray, n_buckets: int) -> Live:
    x, (tint, _), name = offsets.tolist(), STYLES[0], Format("bucket")
    one, two = ({**bucket_facts(offsets, side), "offsets": len(offsets)} for side in buckets)
    return line_chart(
        [go.Scatter(x=x, mode="lines", line={"shape": "hv", "width": 2.5}, showlegend=False)],
        x,
        [0, n_buckets],
        names=(Format("offset (key − query)"), name),
        file="t5-steps",
        title=Format("Bucket by offset"),
        caption=Choose(
            SIDES,
            [
                Format(
                    "One-sided: for earlier tokens, distances 0 to **{alone}** have a bucket each, and from **{last}** on all share bucket {far}. All later tokens fall into bucket {ahead}. {used} buckets for {offsets} offsets.",
                    **one,
                ),
                Format(
                    "Two-sided: distances up to **{alone}** have a bucket each, one for either side; from **{last}** on, all earlier tokens share bucket {far} and all later ones bucket {ahead}. {used} buckets for {offsets} offsets.",
                    **two,
                ),
            ],
        ),
        bindings={
            "data[0].y": Array("buckets", buckets)[SIDES],
            "data[0].name": name,
            "data[0].hovertemplate": told(name, "d"),
            "data[0].line.color": tint,
        },
        signed=True,
        height=330,
    )


def bucket_facts(offsets: np.ndarray, buckets: np.ndarray) -> dict[str, int]:
    """alone: up to this distance back each has a bucket of its own; last: from this distance back all share one."""
    at = dict(zip(offsets.tolist(), buckets.tolist(), strict=True))
    alone = 0
    while at[-alone - 1] != at[-alone] and at[-alone - 2] != at[-alone - 1]:
        alone += 1
    last = int(offsets[0])
    while at[last + 1] == at[last]:
        last += 1
    ends = {"far": int(buckets[0]), "ahead": int(buckets[-1])}
    return {"alone": alone, "last": -last, "used": len(np.unique(buckets)), **ends}


def between_tokens(matrix: np.ndarray, n_buckets: int) -> Live:
    side = matrix.shape[-1]
    between = np.arange(side) - np.arange(side)[:, None]
    live = matrix_map(
        Array("matrix", matrix)[SIDES],
        (side, side),
        limits=(0, n_buckets - 1),
        scale=WEIGHT,
        ends=("0", str(n_buckets - 1)),
        names=(Format("query's position"), Format("key's position")),
        hover=Fill(
            "{text}<extra></extra>",
            text=Format(
                "{query} → {key} (offset {offset}): bucket {bucket}",
                query="%{y}",
                key="%{x}",
                offset="%{customdata:+d}",
                bucket="%{z}",
            ),
        ),
        file="t5-matrix",
        title=Format("Buckets between tokens"),
        caption=Format(
            "{side} tokens meet **{used}** of the {buckets} buckets; each diagonal is one offset.",
            side=side,
            used=Choose(SIDES, [len(np.unique(one)) for one in matrix]),
            buckets=n_buckets,
        ),
        side=330,
    )
    live.bindings["data[0].customdata"] = Array("between_tokens", between.astype(np.int32))[()]
    return live


def t5_bias_figures(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Live]:
    """arrays: "<part>.bias" (snapshot, head, offset); one figure a part, at the snapshot that header["moment"] names."""
    return {f"{part}.bias": bias(part, header, arrays[f"{part}.bias"]) for part in header["parts"]}


def bias(part: str, header: dict[str, Any], values: np.ndarray) -> Live:
    offsets = np.asarray(header["offsets"])
    kept = offsets <= (0 if part in header["one_sided"] else offsets[-1])
    x, heads, moment = offsets[kept].tolist(), values.shape[1], header["moment"]
    shown = Array(f"{part}.bias", values)
    if not kept.all():
        shown = Array(f"{part}.bias_back", np.ascontiguousarray(values[:, :, kept]))
    # what a head favours most, against its own mean: softmax does not see what is added to all alike
    above = shown.values - shown.values.mean(-1, keepdims=True)
    head, offset = np.unravel_index(above.reshape(len(above), -1).argmax(-1), above.shape[1:])

    def told_now(name: str, by_snapshot: np.ndarray) -> Any:
        return Array(f"{part}.{name}", by_snapshot)[moment]

    facts = {
        "head": told_now("best_head", head.astype(np.int32)),
        "offset": told_now("best_offset", np.asarray(x, np.int32)[offset]),
        "value": told_now("best_value", above.reshape(len(above), -1).max(-1)),
    }
    strongest = Format(
        "At step {step}, the strongest preference is head **{head}**'s for offset **{offset:+}**: {value:.2f} above its mean.",
        step=Array("steps", np.asarray(header["steps"], np.int32))[moment],
        **facts,
    )
    if header["checkpoint"]:
        strongest = Format(
            "The strongest preference is head **{head}**'s for offset **{offset:+}**: {value:.2f} above its mean.",
            **facts,
        )
    hot, most = chosen_among(f"{part}.is_head", heads), 1.05 * max(0.1, float(np.abs(values).max()))
    bindings: dict[str, Any] = {}
    for one in range(heads):
        name, mine = Format("head {n}", n=one), hot["biasHead", one]
        bindings |= {
            f"data[{one}].y": shown[moment, one],
            f"data[{one}].name": name,
            f"data[{one}].hovertemplate": told(name, ".4f"),
            f"data[{one}].line.color": Choose(mine, [shade(0.35 + 0.65 * one / max(1, heads - 1)), colour("accent")]),
            f"data[{one}].line.width": Choose(mine, [1.6, 4]),
            f"data[{one}].line.dash": Choose(mine, [DASHES[one % len(DASHES)], "solid"]),
        }
    live = line_chart(
        [go.Scatter(x=x, mode="lines", line={"shape": "hv"}) for _ in range(heads)],
        x,
        [-most, most],
        names=(Format("offset (key − query)"), Format("added to the score")),
        file="t5-bias",
        title=Format("What heads have learned to add, by offset"),
        caption=strongest,
        bindings=bindings,
        signed=True,
        height=320,
    )
    live.names = True
    return live
