"""Answers that are not text: classes, tags, spans, words of the text that answer a question, and words for masks."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app.components.live_plot import LivePlot, plot_values
from app.components.words import chips, word
from app.routes.runs import load_input
from app.service.generation import answers
from app.service.generation.result import Result
from app.service.runs import run_registry
from app.service.runs.model_slots import exclusive_run
from app.tabs.generate.asked import Asked
from core.translatable import Text

MASK = "[MASK]"
NOWHERE = {"spanStart": -9, "spanEnd": -9, "latticeRow": -9, "latticeColumn": -9}  # no cell is chosen
Component = gr.components.Component


class Answers:
    """One column for each way of answering; the one of the run's is shown."""

    def __init__(self) -> None:
        self.columns: dict[str, gr.Column] = {}
        self.plots: dict[str, dict[str, LivePlot]] = {}  # by form, by the name of the figure
        with self._column("label"), gr.Row(elem_classes="generate-pair"):
            self._plot("label", "classes", "generate-classes")
            self._plot("label", "along", "generate-along")
        with self._column("tags"):
            self._plot("tags", "tags", "generate-tags")
            with gr.Row(elem_classes="generate-lattice"):
                with gr.Column(scale=3, min_width=320):
                    shown = {"scores": Text("emission scores"), "shares": Text("probabilities")}
                    self.scores_as = chips(shown, "scores", label=word("What the cells show"))
                    self._plot("tags", "lattice", "generate-scores")
                with gr.Column(scale=2, min_width=280):
                    self._plot("tags", "transitions", "generate-transitions")
        with self._column("spans"):
            self._plot("spans", "spans", "generate-spans")
            self.span_kind = gr.Radio([], label=word("Kind of span"), interactive=True, elem_classes="chips")
            self._plot("spans", "scores", "generate-span-scores")
        with self._column("answer"):
            self._plot("answer", "answer", "generate-answer")
            self._plot("answer", "answers", "generate-answers")
        with self._column("masked"):
            self.masks = gr.CheckboxGroup(
                [], label=word("Click a word to mask it, click again to show it"), interactive=True,
                elem_classes=["card", "generate-words"],
            )  # fmt: skip
            with gr.Row(elem_classes="generate-fill"):
                with gr.Column(scale=3, min_width=300):
                    self._plot("masked", "fillings", "generate-fillings")
                    self._plot("masked", "fillings_narrow", "generate-fillings-narrow")
                with gr.Column(scale=1, min_width=260):
                    self._plot("masked", "follows", "generate-follows")

    def _column(self, form: str) -> gr.Column:
        self.columns[form] = gr.Column(visible="hidden", elem_classes=["generate-view", f"generate-{form}"])
        return self.columns[form]

    def _plot(self, form: str, name: str, classes: str) -> None:
        self.plots.setdefault(form, {})[name] = LivePlot(classes=classes)

    @property
    def controls(self) -> dict[str, Any]:
        """By key of the page's state."""
        return {"scoresAs": self.scores_as, "spanKind": self.span_kind, "masks": self.masks}

    @property
    def outputs(self) -> list[Component]:
        return [plot for plots in self.plots.values() for plot in plots.values()]

    def answer(
        self, asked: Asked, state: dict[str, Any], is_new: bool
    ) -> tuple[dict[Any, Any], dict[str, Any], dict[str, Any]]:
        """Values of the plots, keys of the page's state to set, and choices to offer."""
        masks = None if is_new or state["masks"] is None else tuple(state["masks"])
        result = answered(asked.run, asked, masks)
        header, form = result.header, result.header["form"]
        made = plot_values(result.figures, asked.about(header["tokens"]))
        values = {plot: made.get(name) for name, plot in self.plots[form].items()}
        keys: dict[str, Any] = {**NOWHERE, "spanKind": 0} if is_new else {}
        choices: dict[str, Any] = {}
        if form == "masked":
            keys["masks"] = [hole["place"] for hole in header["holes"]]
            choices["masks"] = [(MASK if at in keys["masks"] else header["tokens"][at], at) for at in header["open"]]
        if form == "spans":
            choices["spanKind"] = [(label, kind) for kind, label in enumerate(header["labels"])]
        return values, keys, choices


@run_registry.cached
def answered(name: str, asked: Asked, masks: tuple[int, ...] | None) -> Result:
    with exclusive_run(name) as run:
        return answers.answer(run, load_input(asked, run), asked.step, None if masks is None else list(masks), name)
