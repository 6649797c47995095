"""Fine-tuned against from scratch: a comparison of runs that came with the app, folded away below what is trained."""

from __future__ import annotations

import gradio as gr
import numpy as np

from app.components.live_plot import LivePlot, LiveText, plot_values, text_value
from app.components.words import word
from app.figures.expressions import Format
from app.figures.fine_tuning import accuracy_by_labels
from app.service.experiments.fine_tuning import METHODS, comparison


def section() -> None:
    facts = comparison()
    accuracies = {method: np.array(facts[method]["accuracy"], np.float32) for method in METHODS}
    figure = accuracy_by_labels(facts["labels"], facts["seeds"], accuracies, facts["evaluated_on"])
    lead = Format(
        "A small BERT reads news for {first_steps:,} steps, fills in masked words and says whether one sentence goes on from the other: no labels needed. Then it learns to tag people, places, organisations and dates in {steps} steps from a few labelled sentences: **fine-tuned** with that body and a fresh head, or **from scratch**, with the same labels and the same recipe.",
        first_steps=facts["first_steps"],
        steps=facts["steps"],
    )
    with gr.Accordion(
        word("Another experiment: fine-tuned against from scratch"), open=False, elem_classes="fine-tuning"
    ):
        LiveText(text_value(lead), classes="fine-tuning-lead")
        LivePlot(plot_values({"accuracy": figure})["accuracy"], classes="fine-tuning-figure")
