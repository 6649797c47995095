"""Length extrapolation: the same model trained with each scheme, accuracy by length within and beyond training."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Choose, Expression, Fill, Format, Sentences, State
from app.figures.live import Live
from app.figures.numbers import write
from app.figures.position_schemes.parts import SCHEME_NAMES, STYLES, line_chart, shaded, told

LEARNED = 0.95  # mean accuracy within the lengths of training from which a scheme counts as learned
FAMILIES = {"transformer": Format("A Transformer")}
TASKS = {"copy": Format("copy")}


def effect(comparison: dict[str, Any]) -> Live:
    """comparison: what `app.service.experiments.extrapolation` has measured"""
    lengths, (low, high) = comparison["lengths"], comparison["trained_on"]
    schemes = [results(one, np.asarray(lengths) <= high) for one in comparison["schemes"]]
    bindings: dict[str, Any] = {}
    for i, (one, (tint, _)) in enumerate(zip(schemes, STYLES, strict=True)):
        mine = Choose(State("scheme"), {other["scheme"]: int(other is one) for other in schemes})
        bindings |= {
            f"data[{i}].name": one["name"],
            f"data[{i}].hovertemplate": told(one["name"], ".1%"),
            f"data[{i}].mode": Choose(mine, ["lines", "lines+markers"]),
            f"data[{i}].line.width": Choose(mine, [2, 4]),
            f"data[{i}].line.color": tint,
            f"data[{i}].marker.color": tint,
        }
    live = line_chart(
        [
            go.Scatter(x=lengths, y=one["accuracy"], line={"dash": dash}, marker={"size": 8})
            for one, (_, dash) in zip(schemes, STYLES, strict=True)
        ],
        lengths,
        [0, 1.02],
        names=(Format("length of the problem"), Format("accuracy")),
        file="positions-effect",
        title=Format("Its effect: the same model trained with each scheme"),
        caption=Sentences(
            [
                beyond_training(schemes, high, lengths[-1]),
                not_learned(schemes),
                Choose(State("scheme"), {one["scheme"]: one_scheme(one, lengths[-1]) for one in schemes}),
                Format(
                    "{family} learns the task “{task}”; lines are means over {seeds} seeds and {problems} held-out problems per length, counting the tokens the model writes by itself.",
                    family=FAMILIES[comparison["family"]],
                    task=TASKS[comparison["task"]],
                    seeds=len(comparison["seeds"]),
                    problems=comparison["evaluated_on"],
                ),
            ]
        ),
        bindings=bindings,
        height=340,
    )
    live.names = True
    live.figure.update_yaxes(tickvals=[0, 0.5, 1])
    live.figure.update_xaxes(range=[lengths[0] - 0.12, lengths[-1] + 0.12])  # room for the points at the ends
    live.bindings["layout.yaxis.ticktext"] = [Fill("{share:.0%}", share=share) for share in (0, 0.5, 1)]
    return shaded(live, low, high, Format("trained on lengths {low}–{high}", low=low, high=high))


def results(measured: dict[str, Any], inside: np.ndarray) -> dict[str, Any]:
    """Means over seeds: by length, within the lengths of training, and at the greatest length."""
    accuracy = np.asarray(measured["accuracy"])  # (seed, length)
    mean, ends = accuracy.mean(0), accuracy[:, -1]
    return {
        "scheme": measured["scheme"],
        "name": SCHEME_NAMES[measured["scheme"]],
        "accuracy": mean.tolist(),
        "inside": float(mean[inside].mean()),
        "beyond": float(mean[-1]),
        "facts": {
            "steps": measured["steps"],
            "heads": measured["heads"],
            "low": float(ends.min()),
            "high": float(ends.max()),
        },
    }


def beyond_training(schemes: list[dict[str, Any]], high: int, longest: int) -> Expression | str:
    """Of those that learned the task: which keeps most beyond training, which least."""
    learned = sorted((one for one in schemes if one["inside"] >= LEARNED), key=lambda one: -one["beyond"])
    if len(learned) < 2:
        return ""
    return Format(
        "Beyond length {high}, **{best}** keeps **{best_share:.0%}** at length {longest}; **{worst}** falls to **{worst_share:.0%}**.",
        high=high,
        longest=longest,
        best=learned[0]["name"],
        best_share=learned[0]["beyond"],
        worst=learned[-1]["name"],
        worst_share=learned[-1]["beyond"],
    )


def not_learned(schemes: list[dict[str, Any]]) -> Expression | str:
    listed: Expression | str = ""
    for one in schemes:
        if one["inside"] < LEARNED:
            share = Format("{scheme} ({share:.0%})", scheme=one["name"], share=one["inside"])
            listed = Format("{first}, {second}", first=listed, second=share) if listed else share
    if not listed:
        return ""
    return Format(
        "Even within its training lengths this recipe does not learn the task with: {schemes}.", schemes=listed
    )


def one_scheme(one: dict[str, Any], longest: int) -> Expression:
    facts = {
        "scheme": one["name"],
        "inside": one["inside"],
        "beyond": one["beyond"],
        "longest": longest,
        **one["facts"],
    }
    if write(facts["low"], ".0%") != write(facts["high"], ".0%"):
        return Format(
            "{scheme} ({steps} steps, {heads} heads): {inside:.0%} within its training lengths, {beyond:.0%} at length {longest} ({low:.0%} to {high:.0%} by seed).",
            **facts,
        )
    return Format(
        "{scheme} ({steps} steps, {heads} heads): {inside:.0%} within its training lengths, {beyond:.0%} at length {longest}, with every seed.",
        **facts,
    )
