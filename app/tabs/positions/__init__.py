"""The Positions tab: one position scheme at a time, with its formula and its pictures, and what it does for a trained model."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, Value, plot_values, text_value
from app.components.page_state import Controls, Question, show_by, told
from app.components.words import chips, word
from app.figures import position_schemes as figures
from app.figures.expressions import Choose, Format, State
from app.i18n import WORDS
from app.service.experiments.extrapolation import comparison
from app.service.runs import run_registry
from app.tabs.positions.fixed_schemes import alibi_panel, no_positions_panel, rope_panel, sinusoidal_panel
from app.tabs.positions.trained_schemes import learned_panel, t5_panel
from app.tabs.positions.words import FORMULAS, IDEAS, NAMES, SPOKEN_FORMULAS, WEAKNESSES

PANELS = {
    "sinusoidal": sinusoidal_panel,
    "learned": learned_panel,
    "rope": rope_panel,
    "alibi": alibi_panel,
    "t5": t5_panel,
    "none": no_positions_panel,
}


def positions_tab() -> None:
    scheme = chips(
        {name: NAMES[name] for name in PANELS},
        label=word("Position scheme"),
        show_label=False,
        elem_classes=["positions-schemes"],
    )
    controls = Controls(scheme=scheme)
    of_run = LiveText(classes="positions-run")
    columns = {}
    for name, panel in PANELS.items():
        with gr.Column(elem_classes=["view", "positions-panel"], visible="hidden") as columns[name]:
            with gr.Row(elem_classes=["card", "positions-idea"]):
                gr.Markdown(
                    f"$${FORMULAS[name]}$$",
                    latex_delimiters=[{"left": "$$", "right": "$$", "display": True}],
                    elem_classes="formula",
                )
                with gr.Column(min_width=0):
                    LiveText(text_value(SPOKEN_FORMULAS[name]), classes="only-spoken", role="math")
                    LiveText(text_value(IDEAS[name]))
                    LiveText(text_value(WEAKNESSES[name]), classes="weakness")
            panel()
    show_by("scheme", columns)
    with gr.Column(elem_classes=["view", "positions-below"]):
        about = Format("Position scheme: {scheme}", scheme=Choose(State("scheme"), dict(figures.SCHEME_NAMES)))
        effect = plot_values({"effect": figures.effect(comparison())}, about)
        LivePlot(effect["effect"], classes="positions-effect")
    question, problem = Question(["run", "schemeRun"]), LiveText(classes="problem", role="alert")
    ask(question.change, scheme_of_run, [question, scheme], [controls, of_run], problem)


def scheme_of_run(question: dict[str, Any], shown: str | None) -> tuple[dict[str, Any], Value]:
    """Another run opens with its own scheme, if it has one; `schemeRun` is the run for which that has been done."""
    run = question["run"]
    metadata = run_registry.run_metadata(run)
    own = metadata["shape"].get("position")
    state = {} if question["schemeRun"] == run else {"schemeRun": run, "scheme": own or shown or next(iter(PANELS))}
    if own:
        sentence = Format("The model you are looking at uses **{scheme}**.", scheme=figures.SCHEME_NAMES[own])
    else:
        family = {language: words[f"a_family.{metadata['family']}"] for language, words in WORDS.items()}
        sentence = Format(
            "The run you are looking at is {family}: it reads one token after another and needs no positions. Attention, which sees all tokens at once, does.",
            family=Choose(State("language"), family),
        )
    return told(state=state), text_value(sentence)
