"""The Build tab: a family and its options, drawn as they change: diagram, parameters, costs, and what flows at each point."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.i18n import I18nData

import core
from app.components.diagram_view import DiagramView
from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, text_value
from app.components.page_state import Controls, Question
from app.components.words import chips, word
from app.figures.build import of_side
from app.figures.expressions import Format
from app.tabs.build.answers import (
    describe,
    draw,
    measure,
    measuring_stopped,
    to_be_trained,
    train_this,
)
from app.tabs.build.layers import layers_section
from app.tabs.build.options import BuildControls, family_options
from core.translatable import verbatim

OPEN_TRAIN = "() => innerview.build.openTab('train')"


def small(words: I18nData, **options: Any) -> gr.Button:
    """A quiet button in a line of words."""
    return gr.Button(words, size="sm", elem_classes=["small-button"], min_width=0, scale=0, **options)


def build_tab(tab: gr.Tab) -> None:
    """The contents of the tab; `tab` is the one around them."""
    families = {name: verbatim(name) for name in core.models()}
    with gr.Column(elem_id="build", elem_classes=["view-build"]):
        family = chips(families, show_label=False, elem_classes=["build-families"])
        for name in families:
            family_options(name)
        with gr.Row(elem_classes=["build-head"]):
            whose = LiveText(classes="build-whose", elem_classes=["build-whose-block"])
            train = gr.Button(
                word("Train this model"), size="sm", elem_classes=["small-button", "primary-button"],
                min_width=0, scale=0, elem_id="train-this",
            )  # fmt: skip
            of_recipe = small(word("The model to be trained"), elem_id="of-recipe")
            back = small(word("Back to the run's model"), visible=False, elem_id="back-to-run")
            unfold = small(word("Unfold all"), elem_id="unfold-all")
            fold = small(word("Fold all"), elem_id="fold-all")
            compare = small(word("Compare with another"), elem_id="compare")
            compare_end = small(word("End the comparison"), visible=False, elem_id="compare-end")
            side = chips(
                {"a": verbatim("A"), "b": verbatim("B")}, value="a", show_label=False, visible=False,
                elem_classes=["build-sides"],
            )  # fmt: skip
        problem = LiveText(role="alert", classes="problem", elem_classes=["build-problem"])
        with gr.Row(elem_classes=["build-grid"]):
            with gr.Column(elem_classes=["build-middle"]):
                differences = gr.Dataframe(
                    interactive=False, show_label=False, buttons=[], visible=False, elem_classes=["build-differences"]
                )
                differences_caption = LiveText(classes="caption")
                with gr.Row(elem_classes=["build-pictures"]):
                    diagrams = [DiagramView("a", first=True), DiagramView("b")]
            with gr.Column(elem_classes=["build-side"]):
                python = gr.Code(
                    language="python", interactive=False, lines=1, show_label=False, show_line_numbers=False,
                    wrap_lines=True, buttons=["copy"], elem_classes=["build-code"],
                )  # fmt: skip
                with gr.Column(elem_classes=["build-panel"]):
                    words = gr.HTML(apply_default_css=False, elem_classes=["build-words"])
                    points = gr.Radio(
                        [], show_label=False, interactive=True, visible=False, elem_classes=["chips", "build-taps"]
                    )
                    capture = gr.Code(
                        language="python", interactive=False, lines=1, show_label=False, show_line_numbers=False,
                        wrap_lines=True, buttons=["copy"], elem_classes=["build-code"],
                    )  # fmt: skip
                    heads = gr.Radio(
                        [], show_label=False, interactive=True, visible=False, elem_classes=["chips", "build-heads"]
                    )
                    activations = LivePlot(classes="build-activations")
                    not_run = LiveText(classes="caption", elem_classes=["build-not-run"])
                    panel_problem = LiveText(role="alert", classes="problem")
        with gr.Column(elem_classes=["build-below"]):
            treemap = LivePlot(classes="build-treemap")
            notes = gr.Markdown(elem_classes=["build-notes"])
            with gr.Row(elem_classes=["figure-head", "build-costs"]):
                LiveText(text_value(of_side(Format("Cost against length"))), tag="h3")
                status = LiveText(tag="small", role="status")
                measure_here = small(word("Measure here"), elem_id="measure-costs")
                stop = small(word("Stop"), visible=False, elem_id="stop-measuring")
            with gr.Row(elem_classes=["build-pair"]):
                operations, memory = LivePlot(classes="build-flops"), LivePlot(classes="build-memory")
        layers_section(tab)

    BuildControls("", {
        "family": family, "side": side, "compare": compare, "compare_end": compare_end, "back": back,
        "unfold": unfold, "fold": fold,
    }, [])  # fmt: skip
    controls = Controls(part=points, partHead=heads)
    configured = Question(["build", "run", "text", "heldOut", "language"])
    selected = Question(["built", "part", "copies", "build", "run", "text", "heldOut", "language"])
    recipe = Question(["recipe"])
    drawn = [
        controls, *diagrams, whose, differences, differences_caption, python, treemap, notes, operations, memory,
        measure_here, status,
    ]  # fmt: skip
    ask(configured.change, draw, [configured], drawn, problem)
    described = [controls, words, capture, activations, not_run]
    ask(selected.change, describe, [selected], described, panel_problem, runs_model=True)

    costs = [status, operations, memory, measure_here, stop]
    measuring = measure_here.click(
        measure, [configured], costs, show_progress="hidden", concurrency_limit=2, api_visibility="private"
    )
    buttons = [status, measure_here, stop]
    stop.click(
        measuring_stopped, None, buttons, cancels=[measuring], show_progress="hidden", api_visibility="private"
    )
    configured.change(None, None, None, cancels=[measuring], api_visibility="private")

    ask(train.click, train_this, [configured, recipe], [controls], problem)
    ask(of_recipe.click, to_be_trained, [configured, recipe], [controls], problem)
    train.click(None, None, None, js=OPEN_TRAIN, api_visibility="private")
