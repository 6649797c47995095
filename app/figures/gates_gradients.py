"""How much of the loss's gradient reaches each token: several recurrent runs in one picture, on a logarithmic scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.axes import plain_text, shortened
from app.figures.expressions import Affine, Array, Choose, Expression, Fill, Format, Sentences, State, Take
from app.figures.live import Live, PointNames
from app.figures.numbers import MISSING, RAISED
from app.figures.theme import HIGH, LOW, SIZE, colour, themed

LOOKS = {
    "rnn": ("high", "circle"),
    "gru": ("low", "square"),
    "lstm": ("ink", "diamond"),
    "seq2seq": ("ink", "circle"),
}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
CLOSE = 30  # so many marks on a line would hide its dashes
LETTERS, TICKS = 8, 11  # of a token below its place; of an axis of numbers
EMPTY = "\u00a0"


@dataclass
class GradientLine:
    """|∂ loss / ∂ h_t| of one layer of one run, at the snapshots that stand for those of the run on the page.

    gradients  (snapshot, time) in float64, because vanishing ones are tiny; NaN where the loss does not depend on h_t
    steps      (snapshot,): the training steps of these snapshots
    """

    name: Any
    family: str
    gradients: np.ndarray
    steps: list[int]
    backwards: bool = False
    place: int = 0  # among the lines of its run

    @property
    def end(self) -> int:
        """The position read last."""
        return 0 if self.backwards else self.gradients.shape[1] - 1

    @property
    def last(self) -> int:
        """The position read last of those on which the loss depends: in a language model nothing follows the very last."""
        reached = np.flatnonzero(np.isfinite(self.gradients).any(0))
        return int(reached[0 if self.backwards else -1]) if reached.size else self.end

    @property
    def logs(self) -> np.ndarray:
        """(snapshot, time): log₁₀ of the gradient divided by that at `last`"""
        logs = np.log10(self.gradients)
        return logs - logs[:, [self.last]]


def gradients(lines: list[GradientLine], of: str, tokens: list[str], axis: str = "source") -> Live:
    """`of` is "input" (these tokens), "long" (many longer problems) or "untrained"."""
    own, length = of == "input", lines[0].gradients.shape[1]
    relative = Array("gradients.relative", np.stack([10.0**line.logs for line in lines], 1))  # (snapshot, line, time)
    exact = Array("gradients.exact", np.stack([line.gradients for line in lines], 1))
    finite = [line.logs[np.isfinite(line.logs)] for line in lines]
    limits = [
        min((float(logs.min()) for logs in finite if logs.size), default=0.0) - 0.5,
        max((float(logs.max()) for logs in finite if logs.size), default=0.0) + 0.5,
    ]
    every = 1 if own else 5 * max(1, -(-length // (5 * TICKS)))
    ticks = list(range(0, length, every))
    texts = [plain_text(shortened(tokens[t], LETTERS)) if own else str(t) for t in ticks]
    traces, bindings = [], {}
    for i, line in enumerate(lines):
        tint, symbol = _colour(line.family), LOOKS[line.family][1]
        traces.append(
            go.Scatter(
                x=list(range(length)), mode="lines" if length > CLOSE else "lines+markers", marker={"symbol": symbol, "size": 8},
                line={"width": 2.5, "dash": DASHES[line.place % len(DASHES)]}, showlegend=True,
            )
        )  # fmt: skip
        bindings |= {
            f"data[{i}].y": relative["snapshot", i],
            f"data[{i}].customdata": exact["snapshot", i],
            f"data[{i}].name": line.name,
            f"data[{i}].line.color": tint,
            f"data[{i}].marker.color": tint,
            f"data[{i}].hovertemplate": Fill(
                "{name} · {x}<br>{share}: {y}<br>|∂L/∂h|: {exact}<extra></extra>", name=line.name, x="%{x}",
                share=Format("divided by the last token's"), y="%{y:.3e}", exact="%{customdata:.3e}",
            ),
        }  # fmt: skip
    figure = go.Figure(
        traces,
        {
            "xaxis": {"tickvals": ticks, "ticktext": texts, "zeroline": False, "range": [-0.5, length - 0.5], "showgrid": False, "title": {"standoff": 8, "font": {"size": SIZE}}},
            "yaxis": {
                "type": "log", "exponentformat": "power", "showexponent": "all", "range": limits, "zeroline": False,
                "dtick": max(1, math.ceil((limits[1] - limits[0]) / 9)), "title": {"standoff": 6, "font": {"size": SIZE}},
            },
            "margin": {"l": 78, "r": 16, "t": 12, "b": 52},
            "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0},
            "shapes": [{"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "opacity": 0.1, "line": {"width": 0}}] if own else [],
        },
    )  # fmt: skip
    bindings["layout.yaxis.title.text"] = (
        Format("|∂ loss / ∂ hₜ| divided by that at the token read last")
        if to_the_end(lines)
        else Format("|∂ loss / ∂ hₜ| divided by the last one that is not 0")
    )
    bindings["layout.xaxis.title.text"] = Format("token") if own else Format("position")
    if own:
        position = Array("gradients.positions", np.arange(length, dtype=np.int32))["time"]
        bindings |= {
            "layout.shapes[0].x0": Affine(position, offset=-0.5),
            "layout.shapes[0].x1": Affine(position, offset=0.5),
            "layout.shapes[0].fillcolor": colour("accent"),
        }
    steps = np.repeat(np.array([line.steps for line in lines], np.int32).T, length, 1)  # (snapshot, line · time)
    which = [line for line in range(len(lines)) for _ in range(length)]
    at = list(range(length)) * len(lines)
    return Live(
        figure,
        bindings,
        title=Format("Gradient through time"),
        caption=_caption(lines, of),
        file=Fill("gradient-{of}-step{step}", of=of, step=_steps(lines[:1])),
        click={"time": "x"} if own else {},
        arrows={"x": ("time", length)} if own else {},
        tokens={"x": tokens} if own else {},
        links={"x": axis} if own else {},
        point_names=PointNames(
            [length // 3] * len(lines),
            [relative["snapshot", i, length // 3] for i in range(len(lines))],
            [line.name for line in lines],
            colours=[_colour(line.family) for line in lines],
            lines=[[list(range(length)), relative["snapshot", i]] for i in range(len(lines))],
            legend=True,
        ),
        table={
            "name": Take([line.name for line in lines], which),
            "training_step": Array("gradients.steps", steps)["snapshot"],
            "position": at,
            "token": [tokens[t] for t in at] if own else [""] * len(at),
            "gradient_norm": Array("gradients.column", exact.values.reshape(len(exact.values), -1))["snapshot"],
            "relative_to_last_read": Array("gradients.shares", relative.values.reshape(len(relative.values), -1))[
                "snapshot"
            ],
        },
        height=(320, 410, 640),
    )


def to_the_end(lines: list[GradientLine]) -> bool:
    """Does the loss depend on the token read last?"""
    return all(line.last == line.end for line in lines)


def _colour(family: str) -> Expression:
    of = LOOKS[family][0]
    if of == "ink":
        return colour("ink")
    hue = HIGH if of == "high" else LOW
    return themed(f"rgb{hue['light']}", f"rgb{hue['dark']}")


def _caption(lines: list[GradientLine], of: str) -> Expression:
    length = lines[0].gradients.shape[1]
    step: Any = _steps(lines)
    if of == "untrained":
        where = Format(
            "Before any training, over {length} tokens, the gradient at the first token divided by that at the last:", length=length
        )  # fmt: skip
    elif of == "long":
        where = Format(
            "At training step {step}, over {length} tokens, the gradient at the first token divided by that at the last:",
            step=step,
            length=length,
        )
    elif to_the_end(lines):
        where = Format(
            "At training step {step}, the gradient at the token read first, divided by that at the token read last:", step=step
        )  # fmt: skip
    else:
        where = Format(
            "At training step {step}, the gradient at the token read first, divided by that at the last token on which the loss depends (position {place}):",
            step=step,
            place=lines[0].last,
        )
    parts: Any = None
    for line in lines:
        first = line.logs[:, -1 if line.backwards else 0]
        shares = Choose(State("snapshot"), [three_digits(float(log)) for log in first])
        part = Format("{name} **{share}**", name=line.name, share=shares)
        parts = part if parts is None else Format("{some}, {next}", some=parts, next=part)
    return Sentences([where, Format("{list}.", list=parts)])


def _steps(lines: list[GradientLine]) -> Expression:
    """The training steps of the lines, at each snapshot: "300", or "280/300"."""
    steps = zip(*(line.steps for line in lines), strict=True)
    return Choose(State("snapshot"), ["/".join(map(str, dict.fromkeys(at))) for at in steps])


def three_digits(log: float) -> str:
    """0.0145, 3.75 × 10⁻⁸: three digits of a number given as its logarithm"""
    if not math.isfinite(log):
        return MISSING
    if -3 <= log < 2.999:
        return f"{10**log:#.3g}".rstrip(".")
    power = math.floor(log)
    digits = f"{10 ** (log - power):.2f}"
    if digits == "10.00":  # 9.999
        digits, power = "1.00", power + 1
    return f"{digits} × 10{str(power).translate(RAISED)}".replace(" ", EMPTY)
