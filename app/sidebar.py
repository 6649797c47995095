"""The sidebar: which run is looked at, its input, and the moment of its training; the same beside every tab."""

from __future__ import annotations

from typing import Any

import gradio as gr

from app.components.checkpoint_card import checkpoint_card
from app.components.events import ask
from app.components.live_plot import LiveText, text_value
from app.components.page_state import MODULE, Controls, Question
from app.components.words import word
from app.service.runs.run_summary import summarize_run
from core.translatable import Text

MAX_LETTERS = 20_000


def build_sidebar() -> gr.Accordion:
    """Its fold, which is closed where there is little room."""
    with gr.Column(elem_id="sidebar", elem_classes="view-sidebar"):
        LiveText(text_value(Text("Looking at")), tag="h4")
        with gr.Column(elem_classes=["card", "run"]):
            run = gr.Dropdown([], show_label=False, label=word("Run"), interactive=True, elem_id="run")
            own_runs()
            checkpoint_card(picked="picked", opened="opened")
            with gr.Column(elem_classes="about-run"):
                facts, pills, lead = (
                    LiveText(tag="small"),
                    LiveText(tag="div", classes="pills"),
                    LiveText(classes="lead"),
                )
        fold = gr.Accordion(word("Input and moment"), elem_id="input-and-moment")
        with fold:
            LiveText(text_value(Text("Input")), tag="h4")
            with gr.Column(elem_classes="card"):
                text = gr.Textbox(
                    show_label=False, label=word("Input"), lines=2, max_lines=8, max_length=MAX_LETTERS,
                    interactive=True, elem_id="input",
                )  # fmt: skip
                Refusal()
                hint = LiveText(tag="small", classes="hint")
                Tokens()
                Answer()
                problem_next = gr.Button(word("Another held-out problem"), elem_classes="small-button")
                sentence_next = gr.Button(
                    word("Another example sentence"), visible=False, elem_classes="small-button"
                )
            with gr.Column(elem_classes="moment") as moment:
                LiveText(text_value(Text("Moment")), tag="h4")
                with gr.Column(elem_classes="card"):
                    with gr.Row(elem_classes="step-row"):
                        step, of = LiveText(tag="b", classes="step"), LiveText(tag="small")
                    events = LiveText(classes="amber")
        problem = LiveText(role="alert", classes="problem")
        Controls(picked=run, typed=text)
        question = Question(["run", "stepsMade"])
    text.change(
        None, [text], None, js="(value) => innerview.typed(value)", api_visibility="private"
    )  # pasted text too
    for button in (problem_next, sentence_next):
        button.click(None, None, None, js="() => innerview.another()", api_visibility="private")
    told = [facts, pills, lead, hint, step, of, events, moment, problem_next, sentence_next]
    ask(question.change, describe_run, [question], told, problem)
    return fold


def describe_run(asked: dict[str, Any]) -> list[Any]:
    run = summarize_run(asked["run"])
    sentences = (run.facts, run.pills, run.lead, run.hint, run.step, run.of, run.events)
    return [
        *map(text_value, sentences),
        gr.update(visible=not run.pretrained),
        gr.update(visible=not run.pretrained),
        gr.update(visible=run.pretrained),
    ]


def own_runs() -> None:
    """What can be done with a run that was trained in this browser: another name, and leaving it off the list."""
    with gr.Row(elem_classes=["own-run"]):
        rename = gr.Button(word("Rename"), elem_classes="small-button")
        forget = gr.Button(word("Forget"), elem_classes="small-button")
        name = gr.Textbox(
            show_label=False, label=word("Name of this run"), max_length=60, visible=False, interactive=True,
            elem_classes="own-name",
        )  # fmt: skip
    rename.click(
        None, None, [name], js="() => ({ __type__: 'update', visible: true, value: innerview.nameOfRun() })",
        api_visibility="private",
    )  # fmt: skip
    done = "(name) => (innerview.renameRun(name), { __type__: 'update', visible: false })"
    gr.on([name.submit, name.blur], None, [name], [name], js=done, api_visibility="private")
    forget.click(None, None, None, js="() => innerview.forgetRun()", api_visibility="private")


class _Script(gr.HTML):
    """Drawn by a function of `static/js/sidebar.js`, since the tokens change with every letter that is typed."""

    def __init__(self, draw: str, classes: str):
        super().__init__(
            html_template=f'<div class="view {classes}"></div>',
            js_on_load=f"{MODULE.replace('components', 'sidebar')}.then(({{ {draw} }}) => {draw}(element.firstElementChild))",
            apply_default_css=False,
        )

    def get_block_name(self) -> str:
        return "html"


class Refusal(_Script):
    """Why the input cannot be read, or the run not be opened."""

    def __init__(self):
        super().__init__("refusal", "refusal")


class Tokens(_Script):
    """The input as tokens: buttons that point every picture at one."""

    def __init__(self):
        super().__init__("tokens", "tokens")


class Answer(_Script):
    """What the model says at this moment: right tokens green; wrong ones red, where the right answer is known."""

    def __init__(self):
        super().__init__("answer", "answer")
