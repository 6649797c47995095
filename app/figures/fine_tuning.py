"""Fine-tuned against from scratch: the share of right tags by the number of labelled sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Array, Choose, Expression, Fill, Format, Sentences, State
from app.figures.live import Crosshair, Live
from app.figures.theme import colour

CLEAR = 0.01  # a difference below this is none
KEY = "fineTuningLabels"
NAMES = {"tuned": Format("fine-tuned"), "scratch": Format("from scratch")}
COLOURS = {"tuned": colour("accent"), "scratch": colour("amber")}
DASHES = {"tuned": "solid", "scratch": "7px,3px"}


def accuracy_by_labels(
    labels: list[int], seeds: list[int], accuracies: dict[str, np.ndarray], sentences: int
) -> Live:
    """Means over the seeds as thick lines, every seed thin; accuracies: method → (seed, labels)."""
    x = np.log2(labels)
    least = min(float(values.min()) for values in accuracies.values())
    ticks = [share / 100 for share in range(0, 101, 20) if share / 100 >= least - 0.04]
    figure = go.Figure(
        layout={
            "hovermode": False, "dragmode": False, "margin": {"l": 62, "r": 24, "t": 12, "b": 46},
            "xaxis": {"tickvals": list(x), "ticktext": [str(n) for n in labels], "fixedrange": True, "showgrid": False, "zeroline": False, "title": {"standoff": 6, "font": {"size": 13}}, "range": [x[0] - 0.04, x[-1] + 0.04]},
            "yaxis": {"range": [least - 0.04, 1.012], "tickvals": ticks, "fixedrange": True, "zeroline": False, "title": {"standoff": 8, "font": {"size": 13}}, "ticklabelstandoff": 5},
        }
    )  # fmt: skip
    bindings: dict[str, Any] = {
        "layout.xaxis.title.text": Format("labelled sentences →"),
        "layout.yaxis.title.text": Format("tags right"),
        "layout.yaxis.ticktext": [Fill("{x:.0%}", x=tick) for tick in ticks],
    }
    for i, (method, values) in enumerate(accuracies.items()):
        trace = f"data[{i}]"
        gaps = np.full((len(seeds), 1), np.nan)
        figure.add_scatter(
            x=np.tile(np.append(x, np.nan), len(seeds)).tolist(), y=np.hstack([values, gaps]).ravel().tolist(), mode="lines", opacity=0.45,
            line={"width": 1, "dash": DASHES[method]}, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
        bindings[f"{trace}.line.color"] = COLOURS[method]
    for i, (method, values) in enumerate(accuracies.items()):
        trace = f"data[{len(accuracies) + i}]"
        figure.add_scatter(
            x=x.tolist(), y=values.mean(0, dtype=np.float64).tolist(), mode="lines+markers", line={"width": 3, "dash": DASHES[method]}, marker={"size": 7}, hoverinfo="skip",
            showlegend=True,
        )  # fmt: skip
        bindings |= {
            f"{trace}.line.color": COLOURS[method],
            f"{trace}.marker.color": COLOURS[method],
            f"{trace}.name": NAMES[method],
        }
    rows = [(method, s, i) for method in accuracies for s in range(len(seeds)) for i in range(len(labels))]
    return Live(
        figure,
        bindings,
        title=Format("Fine-tuned against from scratch"),
        caption=caption(labels, accuracies, sentences),
        file="innerview-fine-tuning",
        names=True,
        crosshair=Crosshair(KEY, _position(x), len(labels) - 1, {"xy": _reading(labels, len(seeds), x, accuracies)}),
        table={
            "labels": [labels[i] for _, _, i in rows],
            "way": [method for method, _, _ in rows],
            "seed": [seeds[s] for _, s, _ in rows],
            "accuracy": [round(float(accuracies[method][s, i]), 6) for method, s, i in rows],
        },
        height=320,
    )


def _position(x: np.ndarray) -> Expression:
    return Array("fine_tuning.x", x.astype(np.float32))[State(KEY)]


def _reading(labels: list[int], seeds: int, x: np.ndarray, accuracies: dict[str, np.ndarray]) -> dict[str, Any]:
    """Mean and range of the seeds at one number of labels, the better method first."""
    at, count = State(KEY), Array("fine_tuning.labels", np.array(labels, np.int32))
    dots, lines = [], []
    for method, values in accuracies.items():
        mean, low, high = (
            Array(f"fine_tuning.{method}.{name}", numbers.astype(np.float32))[at]
            for name, numbers in (
                ("mean", values.mean(0, dtype=np.float64)),
                ("low", values.min(0)),
                ("high", values.max(0)),
            )
        )
        text = Format(
            "{name}: {mean:.1%}, from {low:.1%} to {high:.1%} in {seeds} seeds",
            name=NAMES[method], mean=mean, low=low, high=high, seeds=seeds,
        )  # fmt: skip
        dots.append({"x": _position(x), "y": mean, "colour": COLOURS[method]})
        lines.append({"value": mean, "text": text})
    better = (accuracies["tuned"].mean(0) >= accuracies["scratch"].mean(0)).astype(np.int32)
    first = Array("fine_tuning.better", better)[at]
    ordered = [Choose(first, [lines[1], lines[0]]), Choose(first, [lines[0], lines[1]])]
    heading = {"value": at, "text": Format("labelled sentences {n}", n=count[at])}
    return {"dots": dots, "lines": [heading, *ordered]}


def caption(labels: list[int], accuracies: dict[str, np.ndarray], sentences: int) -> Expression:
    """What is to be seen, whichever way it came out."""
    tuned, scratch = (accuracies[method].mean(0, dtype=np.float64) for method in ("tuned", "scratch"))
    seeds, gain = len(accuracies["tuned"]), tuned - scratch
    few = {
        "n": labels[0],
        "tuned": float(tuned[0]),
        "scratch": float(scratch[0]),
        "wins": int((accuracies["tuned"][:, 0] > accuracies["scratch"][:, 0]).sum()),
        "seeds": seeds,
    }
    reached = np.flatnonzero(scratch >= tuned[0])
    if gain[0] > CLEAR:
        first = Format("With **{n}** labelled sentences the fine-tuned model gets **{tuned:.0%}** of the tags right, the one from scratch **{scratch:.0%}**; it is ahead in {wins} of {seeds} seeds.", **few)  # fmt: skip
    elif gain[0] < -CLEAR:
        first = Format("With **{n}** labelled sentences the fine-tuned model gets **{tuned:.0%}** of the tags right, the one from scratch **{scratch:.0%}**: here the pretraining does harm. The fine-tuned one is ahead in {wins} of {seeds} seeds.", **few)  # fmt: skip
    else:
        first = Format("With **{n}** labelled sentences both get about as many tags right, **{tuned:.0%}** and **{scratch:.0%}**; the fine-tuned one is ahead in {wins} of {seeds} seeds.", **few)  # fmt: skip
    more: Any = ""
    if gain[0] > CLEAR and not len(reached):
        more = Format("From scratch, not even **{most}** get as far as these **{n}**.", most=labels[-1], n=labels[0])
    elif gain[0] > CLEAR and reached[0] > 0:
        more = Format("From scratch, that takes **{m}** instead of **{n}**.", m=labels[int(reached[0])], n=labels[0])
    points = {"n": labels[-1], "points": float(abs(100 * gain[-1]))}
    if gain[-1] >= 0:
        most = Format("With {n}, fine-tuned is {points:.1f} points ahead.", **points)
    else:
        most = Format("With {n}, fine-tuned is {points:.1f} points behind.", **points)
    how = Format("Thick lines are means over {seeds} seeds, each with its own pretraining, labels and head (thin lines); every run was tried on {sentences:,} sentences that it never read.", seeds=seeds, sentences=sentences)  # fmt: skip
    return Sentences([first, more, most, how])
