"""The Generate tab from top to bottom, and the events that fill it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, plot_values, text_value
from app.components.page_state import Controls, Question, told
from app.components.words import phrase, word
from app.figures.beam_tree import WRITTEN
from app.figures.expressions import State
from app.figures.training_example import training_example
from app.i18n import in_all_languages
from app.routes.runs import file_name
from app.service.generation.training_example import describe_example
from app.service.runs import run_registry
from app.service.runs.model_slots import exclusive_run
from app.service.runs.shipped_introductions import INTRODUCTIONS
from app.tabs.generate.answers import Answers
from app.tabs.generate.asked import KEYS, Asked
from app.tabs.generate.writer import Writer
from core import InputError
from core.runs.pretrained_run import PretrainedRun
from core.translatable import Text

WRITES = ("stream", "pairs")  # forms of what a model gives that are texts
OFFERED = (
    "translation-transformer",
    "characters-gru",
    "masked-bert",
    "entities-crf",
)  # in place of a run without an answer
OPEN_RUN = "async () => (await import(new URL('ours/js/session.js', document.baseURI))).chooseRun({name})"
SHOWN, HIDDEN = gr.update(visible=True), gr.update(visible="hidden")  # mounted before they are filled


def generate_tab() -> None:
    with gr.Column(elem_classes="view-generate"):
        problem = LiveText(classes="problem", role="alert")
        with gr.Column(visible="hidden", elem_classes="nothing") as nothing:
            nothing_words = LiveText()
            with gr.Row(elem_classes="offered-runs"):
                for name in OFFERED:
                    offer = gr.Button(
                        phrase(in_all_languages(INTRODUCTIONS[name].title)),
                        elem_classes="small-button",
                        min_width=0,
                        scale=0,
                    )
                    offer.click(None, None, None, js=OPEN_RUN.format(name=json.dumps(name)), api_visibility="private")
        with gr.Column(visible="hidden", elem_classes="generate-view") as writing:
            writer = Writer()
        answers = Answers()
        with gr.Column(visible="hidden", elem_classes="generate-objective") as training:
            another = gr.Button(
                word("Another example"), elem_classes=["small-button", "another-example"], min_width=0, scale=0
            )
            example = LivePlot(classes="generate-example")

        controls = Controls(**writer.controls, **answers.controls)
        question = Question([*KEYS, *writer.controls, "masks"])
        progress = Question([WRITTEN])
        memory, number = gr.State({}), gr.State(0)

    columns = {"none": nothing, "writes": writing, **answers.columns}
    outputs: list[Any] = [nothing_words, *columns.values(), *writer.outputs, *answers.outputs, controls, memory]

    def fill(values: dict[Any, Any]) -> list[Any]:
        return [values.get(one, gr.skip()) for one in outputs]

    def answer(state: dict[str, Any], known: dict[str, Any]) -> Iterator[Sequence[Any]]:
        """What the run gives back for the input: shows the column of its form and fills it."""
        if state["run"] is None:
            return
        asked = Asked.of(state)
        run = run_registry.open_run(asked.run).run
        form = run.task.form(run.model)
        kind = "writes" if form in WRITES else form
        shown: dict[Any, Any] = {column: SHOWN if name == kind else HIDDEN for name, column in columns.items()}
        try:
            if kind == "writes":
                for values, keys, remembered in writer.answer(asked, state, known):
                    yield fill({**shown, **values, controls: told(state=keys), memory: remembered})
            elif kind == "none":
                yield fill({**shown, nothing_words: text_value(NO_HEAD), memory: {"input": asked.input}})
            else:
                values, keys, choices = answers.answer(asked, state, known.get("input") != asked.input)
                yield fill(
                    {**shown, **values, controls: told(state=keys, choices=choices), memory: {"input": asked.input}}
                )
        except InputError as error:
            if known.get("input", (None,))[0] != asked.run and not getattr(error, "again", False):
                yield fill(
                    dict.fromkeys(columns.values(), HIDDEN)
                )  # nothing of another run stays beside the sentence
            raise

    answering = ask([question.change], answer, [question, memory], outputs, problem, runs_model=True)
    writing_steps = writer.play.click(
        writer.write, [progress, memory], [controls], show_progress="hidden", concurrency_limit=None, api_visibility="private"
    )  # fmt: skip
    writer.step.click(
        writer.next_token, [progress, memory], [controls], show_progress="hidden", cancels=[writing_steps], api_visibility="private"
    )  # fmt: skip
    writer.stop.click(None, None, None, cancels=[writing_steps, answering], api_visibility="private")

    asked_run = Question(["run"])
    another.click(lambda number: number + 1, [number], [number], show_progress="hidden", api_visibility="private")
    ask([asked_run.change, number.change], show_example, [asked_run, number], [training, example], problem)


NO_HEAD = Text(
    "This checkpoint has no output head: it gives a vector for every token and predicts none, so there is nothing it could "
    "write. These runs give something back:"
)


def show_example(state: dict[str, Any], number: int) -> Sequence[Any]:
    """An example of the run's first batches as the model took it, and what it should say."""
    name = state["run"]
    if name is None or isinstance(run_registry.open_run(name).run, PretrainedRun):  # a checkpoint brings no training
        return HIDDEN, None
    with exclusive_run(name) as run:
        described = describe_example(run, number)
    figure = training_example(described, file_name(name))
    return SHOWN, plot_values({"example": figure}, State("run"))["example"]
