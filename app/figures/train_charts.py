"""The charts of training: five measures of some runs over their steps, on one scale, read by one line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.figures.expressions import Array, Choose, Expression, Fill, Format, Log1p, Nearest, Sentences, State
from app.figures.live import Crosshair, Label, Live
from app.figures.theme import colour
from app.figures.train_view import SMOOTHED, RunHistory, TrainEvent, TrainView
from app.figures.training import step_ticks

MARGIN = {"l": 52, "r": 18, "t": 12, "b": 26}  # px
NARROW, ROOMY = (
    720,
    900,
)  # px: below, the charts stand below each other; from there on, small ones have room for more words
TALL, SMALL = 168, 84  # px: heights of what is plotted
FLAGS = 50  # px above the accuracy, for words about events
TICK, TOGETHER = 40, 60  # px between ticks of steps; between heads that are told together
TITLES = {
    "accuracy": Format("accuracy in training"),
    "loss": Format("loss"),
    "grad_norm": Format("gradient norm"),
    "lr": Format("learning rate"),
    "tokens_per_s": Format("tokens per second"),
}
NUMBERS = {"accuracy": ("{x:.0%}", "{x:.2%}"), "tokens_per_s": ("{x:,.0f}", "{x:,.0f}")}  # in brief, and exactly
USUAL = ("{x:.3g}", "{x:r}")
SCALE = State("trainScale")


@dataclass(frozen=True)
class Place:
    """Where a chart lies: columns as shares of the width, and px from the top."""

    left: float
    right: float
    heading: int
    top: int
    foot: int


def learning_curves(view: TrainView) -> Live:
    """Accuracy, loss, gradient norm, learning rate and speed: the steps of the run in focus thin and pale, running means on
    top, what was before a rewind wide and pale behind.
    """
    measures = [name for name in TITLES if name != "tokens_per_s" or view.timed]
    narrow = view.width < NARROW
    margin = {**MARGIN, "r": 66} if narrow else MARGIN
    places, inner = _places(measures, narrow)
    figure = go.Figure(
        layout={
            "margin": margin, "hovermode": False, "dragmode": False,
            "annotations": [], "shapes": [],
        }
    )  # fmt: skip
    live = Live(
        figure,
        title=Format("How it learns"),
        caption=caption(view),
        file=f"innerview-training-{view.focus}",
        labels=_labels(view, measures, places, margin),
        label_rows=3,
        label_width=0,
        table=_table(view),
        height=inner + margin["t"] + margin["b"],
    )
    charts: dict[str, Any] = {}
    for i, measure in enumerate(measures):
        axis, place = "" if i == 0 else str(i + 1), places[measure]
        width = (place.right - place.left) * (view.width - margin["l"] - margin["r"])
        _axes(live, view, measure, axis, place, inner, width)
        _events(live, view.lead.events, view.last, axis, width, place.foot - place.top)
        _curves(live, view, measure, axis, place.foot - place.top >= TALL)
        _heading(live, view, measure, place, inner, narrow or i < 2 or view.width >= ROOMY)
        charts[f"x{axis}y{axis}"] = {"dots": _dots(view, measure), "lines": _lines(view, measure)}
    _levels(live, view.lead, places["accuracy"], inner, margin["r"] if narrow else 40)
    live.crosshair = Crosshair(
        "trainStep",
        Choose(SCALE, {"log": Log1p(State("trainStep")), "linear": State("trainStep")}),
        view.last,
        charts,
        notes=[{"x": _scaled(e.step), "text": Fill("◆ {what}", what=_at_step(e))} for e in view.lead.events],
        pin="trainPinned",
        first=1,
    )
    return live


def _places(measures: list[str], narrow: bool) -> tuple[dict[str, Place], int]:
    """Two tall charts above small ones, or all below each other; and the height in px of them all."""
    if narrow:
        places, top = {}, 0
        for measure in measures:
            height = TALL if measure in ("accuracy", "loss") else SMALL
            begin = top + 28 + (FLAGS if measure == "accuracy" else 0)
            places[measure] = Place(0.0, 1.0, top, begin, begin + height)
            top = begin + height + 44
        return places, top - 44
    foot = 28 + FLAGS + TALL
    columns = [(0.0, 0.275), (0.36, 0.635), (0.725, 1.0)] if len(measures) == 5 else [(0.0, 0.44), (0.55, 1.0)]
    places = {
        "accuracy": Place(0.0, 0.44, 0, foot - TALL, foot),
        "loss": Place(0.55, 1.0, 0, 28, foot),
    }
    for measure, (left, right) in zip(measures[2:], columns, strict=True):
        places[measure] = Place(left, right, foot + 46, foot + 74, foot + 74 + SMALL)
    return places, foot + 74 + SMALL


def _axes(live: Live, view: TrainView, measure: str, axis: str, place: Place, inner: int, width: float) -> None:
    limits, log = view.scale(measure)
    wide = float(np.log1p(view.last))
    ticks = {"log": _fitting(step_ticks(view.last), np.log1p, width), "linear": _linear_ticks(view.last, width)}
    common = {"fixedrange": True, "zeroline": False, "ticks": ""}
    live.figure.layout[f"xaxis{axis}"] = {
        "domain": [place.left, place.right], "anchor": f"y{axis}", "showgrid": False, "tickangle": 0, "ticklabelstandoff": 3, "tickfont": {"size": 12}, **common,
    }  # fmt: skip
    live.figure.layout[f"yaxis{axis}"] = {
        "domain": [1 - place.foot / inner, 1 - place.top / inner], "anchor": f"x{axis}", "showgrid": True,
        "ticklabelstandoff": 5, "nticks": 6 if place.foot - place.top >= TALL else 4, "exponentformat": "SI" if measure == "tokens_per_s" else "power",
        "minexponent": 4 if measure != "tokens_per_s" else 3, **common,
    }  # fmt: skip
    live.bindings |= {
        f"layout.xaxis{axis}.range": Choose(SCALE, {"log": [0, wide], "linear": [0, view.last]}),
        f"layout.xaxis{axis}.tickvals": Choose(
            SCALE, {"log": [float(np.log1p(step)) for step in ticks["log"]], "linear": ticks["linear"]}
        ),
        f"layout.xaxis{axis}.ticktext": Choose(
            SCALE, {name: [f"{step:,}" for step in steps] for name, steps in ticks.items()}
        ),
        f"layout.yaxis{axis}.range": limits[()],
        f"layout.yaxis{axis}.type": Choose(log[()], ["linear", "log"]),
        f"layout.yaxis{axis}.dtick": Choose(log[()], [None, 1]),
        f"layout.yaxis{axis}.tickfont.size": Choose(log[()], [12, 10]),  # powers of ten are drawn larger
    }
    if measure == "accuracy":
        shares = [0, 0.2, 0.4, 0.6, 0.8, 1]
        live.bindings["layout.yaxis.tickvals"] = shares
        live.bindings["layout.yaxis.ticktext"] = [Fill("{x:.0%}", x=share) for share in shares]
        del live.bindings["layout.yaxis.dtick"], live.bindings["layout.yaxis.type"]


def _fitting(steps: list[int], scale: Any, width: float) -> list[int]:
    """Those of the steps that have room for their numbers; the last one has."""
    px, last, kept = width / float(scale(steps[-1])), steps[-1], []
    for step in steps[:-1]:
        if kept and (scale(step) - scale(kept[-1])) * px < TICK:
            continue
        if (scale(last) - scale(step)) * px >= TICK:
            kept.append(step)
    return [*kept, last]


def _linear_ticks(last: int, width: float) -> list[int]:
    rough = last / max(2, width / 70)
    power = 10 ** int(np.floor(np.log10(max(1.0, rough))))
    each = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * 0.999)
    return _fitting([*range(0, last, each), last], float, width)


def _next(live: Live, part: str) -> str:
    """The path of what is added next: `data[3]`, `layout.shapes[0]`."""
    figure: Any = live.figure
    return f"data[{len(figure.data)}]" if part == "data" else f"layout.{part}[{len(figure.layout[part])}]"


def _scaled(step: int) -> Choose:
    return Choose(SCALE, {"log": float(np.log1p(step)), "linear": step})


def _at_step(event: TrainEvent) -> Format:
    return Format("step {step}: {what}", step=event.step, what=event.text)


def _events(live: Live, events: list[TrainEvent], last: int, axis: str, width: float, height: int) -> None:
    """A dotted line up from a diamond at the foot for every event."""
    steps = sorted({event.step for event in events})
    if not steps:
        return
    lines, diamonds = {}, {}
    for name, scale in (("log", np.log1p), ("linear", float)):
        dx, dy = 5 * float(scale(last)) / width, 6 / height
        at = [round(float(scale(step)), 6) for step in steps]
        lines[name] = "".join(f"M{x},0V1" for x in at)
        diamonds[name] = "".join(f"M{x - dx:.6f},0L{x},{dy:.4f}L{x + dx:.6f},0L{x},{-dy:.4f}Z" for x in at)
    for path, style in (
        (lines, {"line": {"width": 1, "dash": "dot"}, "opacity": 0.6}),
        (diamonds, {"line": {"width": 0}}),
    ):
        shape = _next(live, "shapes")
        live.figure.add_shape(type="path", xref=f"x{axis}", yref=f"y{axis} domain", layer="above", **style)
        live.bindings[f"{shape}.path"] = Choose(SCALE, path)
        live.bindings[f"{shape}.line.color" if path is lines else f"{shape}.fillcolor"] = colour("amber")


def _curves(live: Live, view: TrainView, measure: str, axis: str, tall: bool) -> None:
    def line(run: RunHistory, x: Any, y: Any, **style: Any) -> None:
        trace = _next(live, "data")
        opacity = style.pop("opacity", 1)
        live.figure.add_scatter(
            mode="lines", line=style, opacity=opacity, connectgaps=True, hoverinfo="skip", xaxis=f"x{axis}", yaxis=f"y{axis}",
            name=str(run.number),
        )  # fmt: skip
        live.bindings |= {f"{trace}.x": x, f"{trace}.y": y, f"{trace}.line.color": run.colour}

    for run in view.runs:
        focus = run.key == view.focus
        if run.before is not None:
            line(run, run.x(before=True), run.mean_before(measure)[()], width=8, opacity=0.22)
        if focus and measure in SMOOTHED:
            line(run, run.x(), run.column(measure)[()], width=1, opacity=0.3)
        line(run, run.x(), run.mean(measure)[()], width=2.4 if focus else 1.7)
    _run_numbers(live, view, measure, axis, tall and len(view.runs) > 1)


def _run_numbers(live: Live, view: TrainView, measure: str, axis: str, numbered: bool) -> None:
    """The ends of the curves: a dot, or, where there are several in a tall chart, a disc with the run's number."""
    x, y = view.ends(measure)
    where = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "hoverinfo": "skip", "cliponaxis": False}
    if numbered:  # a thin line to a disc that had to be moved
        trace = _next(live, "data")
        live.figure.add_scatter(mode="lines", line={"width": 1.2}, **where)
        none = np.zeros(0)
        live.bindings |= {
            f"{trace}.x": Array(f"ties.{measure}.x", none)[()],
            f"{trace}.y": Array(f"ties.{measure}.y", none)[()],
            f"{trace}.line.color": colour("mute"),
        }
    trace = _next(live, "data")
    sizes = (
        [18 if run.key == view.focus else 16 for run in view.runs]
        if numbered
        else [9 if run.status == "running" else 6 for run in view.runs]
    )
    live.figure.add_scatter(
        mode="markers+text" if numbered else "markers", marker={"size": sizes, "opacity": 1, "line": {"width": 0}},
        text=[str(run.number) for run in view.runs] if numbered else None, textfont={"size": 11.5, "weight": 600}, **where,
    )  # fmt: skip
    live.bindings |= {
        f"{trace}.x": x[()],
        f"{trace}.y": y[()],
        f"{trace}.marker.color": [run.colour for run in view.runs],
        f"{trace}.textfont.color": colour("card"),
    }


def _heading(live: Live, view: TrainView, measure: str, place: Place, inner: int, roomy: bool) -> None:
    """What is measured and where the run in focus stands; on the right what runs along the axis."""
    at = {"xref": "paper", "yref": "paper", "y": 1 - place.heading / inner, "yanchor": "top", "showarrow": False}
    text = _next(live, "annotations")
    live.figure.add_annotation(x=place.left, xanchor="left", xshift=-44, align="left", **at)
    _, log = view.scale(measure)
    brief, _ = NUMBERS.get(measure, USUAL)
    template = '<b><span style="color:{mute}">{title}</span>  <span style="color:{ink}">{now}</span></b>'
    title = TITLES[measure]
    live.bindings[f"{text}.text"] = Fill(
        template,
        mute=colour("mute"),
        ink=view.lead.colour if len(view.runs) > 1 else colour("ink"),
        title=Choose(log[()], [title, Format("{name}, log scale", name=title)]),
        now=Choose(view.facts["begun"], ["", Fill(brief, x=view.now(measure)[()])]),
    )
    if roomy:
        text = _next(live, "annotations")
        live.figure.add_annotation(x=place.right, xanchor="right", font={"size": 12}, **at)
        live.bindings |= {f"{text}.text": Format("step →"), f"{text}.font.color": colour("mute")}


def _levels(live: Live, run: RunHistory, place: Place, inner: int, room: int) -> None:
    """Chance and goal: dotted lines, each named beside the accuracy."""
    levels = [(run.goal, Format("goal")), (run.chance, Format("chance"))]
    apart = 30 / (place.foot - place.top)  # two lines of type
    above = 2.0
    for value, name in levels:
        if value is None:
            continue
        shape, text = (
            _next(live, "shapes"),
            _next(live, "annotations"),
        )
        live.figure.add_shape(
            type="line", xref="x domain", x0=0, x1=1, y0=value, y1=value, line={"width": 1.4, "dash": "dot"}
        )
        above = min(value, above - apart)
        live.figure.add_annotation(
            xref="x domain", x=1, xanchor="left", xshift=14 if room > 50 else 13, y=above, yanchor="middle", align="left", showarrow=False, font={"size": 12},
        )  # fmt: skip
        live.bindings |= {
            f"{shape}.line.color": colour("mute"),
            f"{text}.text": Fill("{name}<br>{value:.0%}", name=name, value=value),
            f"{text}.font.color": colour("mute"),
        }


def _labels(view: TrainView, measures: list[str], places: dict[str, Place], margin: dict[str, int]) -> list[Label]:
    """Words above the accuracy: the run's own events first, then its heads; on either scale."""
    width = (places["accuracy"].right - places["accuracy"].left) * (view.width - margin["l"] - margin["r"])
    labels = []
    for name, scale in (("log", np.log1p), ("linear", float)):
        px = width / float(scale(view.last))
        own = [event for event in reversed(view.lead.events) if not event.head]
        heads = [(float(scale(event.step)) * px, event) for event in view.lead.events if event.head]
        groups = sorted(_together(heads), key=len, reverse=True)
        told = [(event.step, event.text) for event in own]
        told += [
            (group[0].step, group[0].text if len(group) == 1 else Format("{n} heads find their role", n=len(group)))
            for group in groups
        ]
        labels += [
            Label(float(scale(step)), Choose(SCALE, {name: text, _other(name): ""}), rank)
            for rank, (step, text) in enumerate(told)
        ]
    return labels


def _other(scale: str) -> str:
    return "linear" if scale == "log" else "log"


def _together(events: list[tuple[float, TrainEvent]]) -> list[list[TrainEvent]]:
    """Events (with their px), grouped where each follows closely on the one before."""
    groups = [[event] for _, event in events[:1]]
    for (before, _), (at, event) in pairwise(events):
        if at - before < TOGETHER:
            groups[-1].append(event)
        else:
            groups.append([event])
    return groups


def _dots(view: TrainView, measure: str) -> list[dict[str, Any]]:
    at = {run.key: (run.column("step")[()], State("trainStep")) for run in view.runs}
    return [
        {
            "x": Nearest(run.x(), *at[run.key]),
            "y": Nearest(run.column(measure)[()], *at[run.key]),
            "colour": run.colour,
        }
        for run in view.runs
    ]


def _lines(view: TrainView, measure: str) -> list[dict[str, Any]]:
    """The step, and the exact value of every run there."""
    _, exact = NUMBERS.get(measure, USUAL)
    step = State("trainStep")
    lines: list[dict[str, Any]] = [{"value": step, "text": Format("step {step}", step=step)}]
    for run in sorted(view.runs, key=lambda one: one.number):
        value = Nearest(run.column(measure)[()], run.column("step")[()], step)
        written = Fill(exact, x=value)
        several = Fill("{number}: {value}  {name}", number=run.number, value=written, name=run.name)
        lines.append({"value": value, "text": several if len(view.runs) > 1 else written})
    return lines


def _table(view: TrainView) -> dict[str, Any]:
    tables = [run.table() for run in view.runs]
    return {name: [table[name] for table in tables] for name in tables[0]} if tables else {}


def caption(view: TrainView) -> Expression:
    """What the curves of the run in focus say: how often it is right against chance and goal, its loss, the newest event,
    and whether a run that was rewound takes the same path.
    """
    run, facts = view.lead, view.facts
    share = {"step": facts["step"], "now": facts["now"], "chance": run.chance, "goal": run.goal}
    newest = run.events[-1] if run.events else TrainEvent(0, "")
    return Sentences(
        [
            Choose(
                facts["kind"],
                [
                    "",
                    Format("It was trained before: this is how it went."),
                    Format("It waits for a free worker."),
                    Format("The first steps are on their way."),
                    Format(
                        "Solved at step **{solved:,}**; now right **{now:.0%}** of the time, where chance is {chance:.0%}.",
                        solved=facts["solved"],
                        **share,
                    ),
                    Format(
                        "At step **{step:,}** it is right **{now:.0%}** of the time: no better than chance (**{chance:.0%}**).",
                        **share,
                    ),
                    Format(
                        "At step **{step:,}** it is right **{now:.0%}** of the time; chance is {chance:.0%}.", **share
                    ),
                    Format("At step **{step:,}** it is right **{now:.0%}** of the time: the goal is reached.", **share),
                    Format(
                        "At step **{step:,}** it is right **{now:.0%}** of the time; chance is {chance:.0%}, the goal {goal:.0%}.",
                        **share,
                    ),
                ],
            ),
            Choose(
                facts["several"],
                [
                    "",
                    Format("The loss went from {first:.3g} to {last:.3g}.", first=facts["first_loss"], last=facts["loss"]),
                ],
            ),
            Choose(facts["ended"], ["", Format("On held-out problems: **{share:.1%}**.", share=run.held_out)]),
            Choose(
                facts["newest"], ["", Format("Step {step:,}: {what}.", step=newest.step, what=newest.text)]
            ),
            Choose(
                facts["repeated"],
                [
                    "",
                    Format("Back at the start. The pale curve is how it went before: continue, and it takes the same path."),
                    Format(
                        "So far every loss (**{same:,}**) is the same as before the rewind, to the last bit.",
                        same=facts["same"],
                    ),
                    Format("The losses differ from those before the rewind from step {differs} on.", differs=facts["differs"]),
                ],
            ),
        ]
    )  # fmt: skip
