"""The Build tab's costs against the length of the input: operations of one pass, and memory; predicted, and measured as far as known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from app.figures.expressions import Choose, Expression, Fill, Format, Sentences
from app.figures.live import Live
from app.figures.numbers import fixed, scaled
from app.figures.theme import LOW, SIZE, colour, themed

TOKENS = Format("tokens")
BLUE = themed(*("#{:02x}{:02x}{:02x}".format(*LOW[theme]) for theme in ("light", "dark")))


@dataclass
class CostsView:
    """Costs by length, as `app.service.build.costs` predicts them; `measured` by length, as far as it has been."""

    lengths: list[int]
    flops: dict[str, list[int]]  # by part of the model
    activations: list[int]  # bytes of all capture points
    formula: Mapping[str, int]  # activations = a + b·n + c·n²
    state: list[int | None]  # bytes to go on writing; None: it does not write
    measured: dict[int, Mapping[str, float]] = field(default_factory=dict)  # length → flops, seconds, bytes

    def known(self, name: str) -> list[float | None]:
        return [self.measured[n][name] if n in self.measured else None for n in self.lengths]


@dataclass
class Line:
    column: str
    name: Expression
    values: list[Any]
    colour: Choose
    width: float = 2
    dash: str = "solid"
    dots: bool = False


def operations(view: CostsView) -> Live:
    """Floating-point operations of one forward pass: in all, those that compare tokens, and those that torch counts."""
    total = [sum(part[i] for part in view.flops.values()) for i in range(len(view.lengths))]
    lines = [Line("total", Format("in all"), total, colour("accent"), 3)]
    if "attention" in view.flops:
        lines.append(
            Line("attention", Format("comparing tokens"), view.flops["attention"], colour("amber"), 2, "7px,3px")
        )
    if view.measured:
        lines.append(
            Line("counted", Format("counted by torch"), view.known("flops"), colour("ink"), 2, "1px,7px", True)
        )
    facts = {"n": view.lengths[-1], "total": scaled(total[-1]), "ratio": _growth(total)}
    words: list[Any] = [Format(
        "At {n:,} tokens one pass takes **{total}** operations; the last doubling of the length costs **{ratio:.2f} ×** as many.",
        **facts,
    )]  # fmt: skip
    known = sorted(view.measured)[-2:]
    if len(known) == 2:
        before, last = (view.measured[n]["seconds"] for n in known)
        words.append(Format(
            "Measured here: {ms} ms at {last:,} tokens, **{ratio:.2f} ×** the time of {before:,}.",
            ms=fixed(1000 * last, 1), last=known[1], before=known[0], ratio=last / before,
        ))  # fmt: skip
    return _lines(view, lines, Format("Operations of one pass"), Sentences(words), "innerview-flops", scaled)


def memory(view: CostsView) -> Live:
    """Bytes of all activations, of what training keeps of them, and of what is kept to write the next token."""
    lines = [Line("activations", Format("all stations"), view.activations, colour("accent"), 3)]
    state = view.state
    words: list[Any] = [Format("All stations together: {sum} bytes.", sum=polynomial(**view.formula))]
    if state[0] is not None and state[-1] is not None:
        lines.append(Line("state", Format("to go on writing"), state, colour("amber"), 2, "7px,3px"))
        size = in_bytes(state[-1])
        if state[0] == state[-1]:
            words.append(Format("To write the next token it keeps {bytes}, however much it has read.", bytes=size))
        else:
            words.append(
                Format(
                    "To write the next token it keeps **{bytes}** after {n:,} tokens.", bytes=size, n=view.lengths[-1]
                )
            )
    if view.measured:
        tape, saved = view.known("activation_bytes"), view.known("saved_bytes")
        lines.append(Line("on_tape", Format("on the tape"), tape, colour("ink"), 2, "1px,7px", True))
        lines.append(Line("saved", Format("kept for training"), saved, BLUE, 2, "2px,3px", True))
    return _lines(view, lines, Format("Memory"), Sentences(words), "innerview-memory", in_bytes)


def _lines(
    view: CostsView,
    lines: list[Line],
    title: Expression,
    caption: Expression,
    file: str,
    unit: Callable[[float], str],
) -> Live:
    """Both axes double: a line of slope 1 costs as much per token however long the input."""
    values = [value for line in lines for value in line.values if value]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 0.01)
    figure = go.Figure(
        [
            go.Scatter(
                x=view.lengths, y=[value or None for value in line.values], customdata=[value and unit(value) for value in line.values],
                mode="lines+markers" if line.dots else "lines", line={"width": line.width, "dash": line.dash}, marker={"size": 6}, cliponaxis=False,
                showlegend=True,
            )
            for line in lines
        ],
        {
            "hovermode": "x unified",
            "dragmode": False,
            "xaxis": {
                "type": "log", "range": [math.log10(view.lengths[0]), math.log10(view.lengths[-1])] if len(view.lengths) > 1 else None,
                "tickvals": view.lengths, "ticktext": [f"{n:,}" for n in view.lengths], "showgrid": False, "zeroline": False,
                "fixedrange": True, "hoverformat": ",", "showspikes": True, "spikemode": "across", "spikethickness": 1, "spikedash": "solid",
                "title": {"font": {"size": SIZE}, "standoff": 6},
            },
            "yaxis": {
                "type": "log", "range": [low, high], "tickvals": [10.0**k for k in range(low, high + 1)], "fixedrange": True, "zeroline": False,
                "ticktext": [unit(10**k) for k in range(low, high + 1)], "ticklabelstandoff": 6,
            },
            "margin": {"l": 68, "r": 16, "t": 8, "b": 44},
        },
    )  # fmt: skip
    bindings: dict[str, Any] = {
        "layout.xaxis.title.text": Fill("{tokens} →", tokens=TOKENS),
        "layout.xaxis.unifiedhovertitle.text": Fill("{tokens} {n}", tokens=TOKENS, n="%{x:,}"),
        "layout.xaxis.spikecolor": colour("accent"),
    }
    for i, line in enumerate(lines):
        bindings |= {
            f"data[{i}].name": line.name,
            f"data[{i}].line.color": line.colour,
            f"data[{i}].marker.color": line.colour,
            f"data[{i}].hovertemplate": Fill("{name}: {value}<extra></extra>", name=line.name, value="%{customdata}"),
        }
    table = {"tokens": view.lengths, **{line.column: line.values for line in lines}}
    return Live(figure, bindings, title, caption, file, names=True, table=table, height=290)


def in_bytes(value: float) -> str:
    return scaled(value, "B")


def _growth(values: list[int]) -> float:
    return values[-1] / values[-2] if len(values) > 1 else 1.0


def polynomial(a: int, b: int, c: int) -> str:
    """As "768 · n + **66** · n²": only the terms that are there."""
    terms = [(a, "{}"), (b, "{} · n"), (c, "**{}** · n²")]
    written = ""
    for size, term in terms:
        if size:
            sign = (" − " if size < 0 else " + ") if written else ("−" if size < 0 else "")
            written += sign + term.format(f"{abs(size):,}")
    return written or "0"
