"""Panels of the position schemes that are trained: T5's buckets and learned tables, read off the run or one in its place."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, Value, by_state, text_value
from app.components.page_state import CHOOSE_RUN, Controls, Question, told
from app.components.words import chips, word
from app.figures import position_schemes as figures
from app.figures.expressions import Choose, Format, State
from app.i18n import in_all_languages
from app.service import positions
from app.service.positions import FALLBACK_RUNS
from app.tabs.positions.fixed_schemes import (
    Answered,
    computed,
    head_chips,
    option,
    scheme_values,
    sides_chips,
    told_heads,
)
from core.layers.positions import Learned, T5Bias
from core.translatable import Text

PARTS = {"cross": Text("Decoder looks at encoder"), "decoder": Text("Decoder"), "encoder": Text("Encoder")}
LEARNED_PLOTS = ("table_before", "cosines_before", "table", "cosines", "moved")


def part_chips() -> gr.Radio:
    return chips({"": Text("Model")}, label=word("Which part of the model"), show_label=False)


def told_parts(header: dict[str, Any], chosen: str | None, **state: Any) -> dict[str, Any]:
    """The parts of the model that have positions, and which of them is chosen."""
    parts = header["parts"]
    names = {part: next((name for word, name in PARTS.items() if word in part), Text("Model")) for part in parts}
    choices = [(in_all_languages(name), part) for part, name in names.items()]
    chosen = chosen if chosen in parts else parts[0]
    visible = {"positionPart": len(parts) > 1}
    return told(state={"positionPart": chosen, **state}, choices={"positionPart": choices}, visible=visible)


def origin_row(stand_in: str) -> tuple[LiveText, gr.Button, gr.Slider]:
    """Where trained positions come from; of a run shown in place of another: a way to it, and its own moment."""
    with gr.Row(elem_classes="positions-origin"):
        words = LiveText()
        go = gr.Button(word("Look at that run"), elem_classes="small-button", visible=False)
        moment = gr.Slider(
            0, 1, step=1, label=word("Moment of its training"), interactive=True, visible=False, min_width=240,
            elem_classes="slider-snapshot",
        )  # fmt: skip
    go.click(None, None, None, js=f"() => ({CHOOSE_RUN})('{stand_in}')", api_visibility="private")
    return words, go, moment


def told_origin(header: dict[str, Any], sentences: dict[str, Any]) -> list[Any]:
    """Values for `origin_row`: a run shown in place of another has a moment of its own."""
    asked, last = header["asked"], len(header["steps"]) - 1
    kind = ("given" if header["checkpoint"] else "own") if asked else "stand_in" if header["run"] else "untrained"
    return [
        text_value(sentences[kind]),
        gr.update(visible=kind == "stand_in"),
        gr.update(visible=not asked and last > 0, maximum=max(1, last)),
    ]


def run_title(header: dict[str, Any]) -> Any:
    return Choose(State("language"), header["title"]) if header["title"] else ""


def moment_state(key: str, header: dict[str, Any], question: Answered) -> dict[str, int]:
    """A run that stands in is at first shown as it is at the end."""
    return {key: len(header["steps"]) - 1} if question[key] is None else {}


def t5_panel() -> None:
    with gr.Row(elem_classes="positions-controls"):
        n_buckets, max_distance, side = option("n_buckets"), option("max_distance"), option("side")
        sides = sides_chips()
    Controls(n_buckets=n_buckets, max_distance=max_distance, side=side, sides=sides)
    problem = LiveText(classes="problem", role="alert")
    with gr.Column(elem_classes="positions-figures"):
        plots = [LivePlot(classes="t5-steps"), LivePlot(classes="t5-matrix")]
    with gr.Column(elem_classes="positions-trained"):
        origin = origin_row(FALLBACK_RUNS[T5Bias])
        with gr.Row(elem_classes="positions-controls"):
            part, head = part_chips(), head_chips()
        trained_problem = LiveText(classes="problem", role="alert")
        bias = LivePlot(classes="t5-bias")
    parts, heads = Controls(positionPart=part, t5Snapshot=origin[-1]), Controls(biasHead=head)
    question = Question(["n_buckets", "max_distance", "side"], when={"scheme": ["t5"]})
    ask(question.change, t5_buckets, [question], plots, problem)
    also = ["positionPart", "biasHead", "t5Snapshot"]
    trained = Question(["run", "lastStep"], when={"scheme": ["t5"]}, also=also)
    ask(trained.change, t5_bias, [trained], [parts, heads, *origin, bias], trained_problem, runs_model=True)


def t5_buckets(question: Answered) -> list[Value]:
    _, drawn = computed(positions.t5, figures.t5_bucket_figures, **question)
    values = scheme_values("t5", drawn)
    return [values["steps"], values["matrix"]]


def t5_bias(question: Answered) -> list[Any]:
    header, arrays = positions.t5_trained(question["run"])
    values = scheme_values("t5", figures.t5_bias_figures(header, arrays))
    sentences = {
        "own": Format("Read off the run you are looking at, at its moment."),
        "given": Format("Read off the checkpoint you are looking at."),
        "stand_in": Format("The run you are looking at has no T5 buckets: this is **{run}**.", run=run_title(header)),
        "untrained": Format("No run here was trained with T5 buckets: this is a T5 **before any training**, random numbers."),
    }  # fmt: skip
    return [
        told_parts(header, question["positionPart"], **moment_state("t5Snapshot", header, question)),
        told_heads(header["heads"], question["biasHead"]),
        *told_origin(header, sentences),
        by_state("positionPart", {name: values[f"{name}.bias"] for name in header["parts"]}),
    ]


def learned_panel() -> None:
    origin = origin_row(FALLBACK_RUNS[Learned])
    with gr.Row(elem_classes="positions-controls"):
        part = part_chips()
        views = {"whole": Text("as it is"), "added": Text("what training added")}
        view = chips(views, "whole", label=word("What is shown of it"), show_label=False)
    controls = Controls(positionPart=part, tableView=view, learnedSnapshot=origin[-1])
    problem = LiveText(classes="problem", role="alert")
    with gr.Column(elem_classes=["positions-figures", "positions-tables"]):
        plots = [
            LivePlot(classes="learned-table-before"),
            LivePlot(classes="learned-cosines-before"),
            LivePlot(classes="learned-table-now"),
            LivePlot(classes="learned-cosines-now"),
            LivePlot(classes="learned-moved", elem_classes="wide"),
        ]
    question = Question(["run", "lastStep"], when={"scheme": ["learned"]}, also=["positionPart", "learnedSnapshot"])
    ask(question.change, learned, [question], [controls, view, *origin, *plots], problem, runs_model=True)


def learned(question: Answered) -> list[Any]:
    header, arrays = positions.learned(question["run"])
    values = scheme_values("learned", figures.learned_figures(header, arrays))
    sentences = {
        "own": Format("Read off the run you are looking at: drag the playhead below to go through its training."),
        "given": Format("Read off the checkpoint you are looking at."),
        "stand_in": Format("The run you are looking at has no learned positions: this is **{run}**.", run=run_title(header)),
    }  # fmt: skip
    parts = header["parts"]
    return [
        told_parts(header, question["positionPart"], **moment_state("learnedSnapshot", header, question)),
        gr.update(visible=not header["checkpoint"]),
        *told_origin(header, sentences),
        *(by_state("positionPart", {one: values.get(f"{one}.{name}") for one in parts}) for name in LEARNED_PLOTS),
    ]
