"""The Attention tab: all heads, one of them large, the arithmetic of one of its weights, its report card; BertViz's views."""

from __future__ import annotations

import gradio as gr

from app.components.bertviz_view import BertVizView
from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, text_value
from app.components.page_state import CHOOSE_RUN, Controls, Derived, Question
from app.components.words import chips, word
from app.service.array_store import array_store
from app.service.bertviz_frame import VIEWS
from app.service.runs.shipped import SHIPPED_RUNS
from app.tabs import attention_answers as answers
from app.tabs.attention_plots import GROUPS, attention_plots
from app.tabs.similar_heads import similar_heads
from core.translatable import Text, verbatim

DRAWN, HEAD = ["map", "arcs", "rollout"], ["map", "arcs"]  # values of `focus` in which a part is shown
REST_MS = 90  # of the playhead, before an exact map is asked for
OPEN_GATES = "() => document.getElementById('tab-gates-button').click()"


def attention_tab() -> None:
    first = first_answers()
    with gr.Row(elem_classes="attention-top") as top:
        group = chips(GROUPS, "blocks", label=word("Which attention"), show_label=False, visible=False)
        layer = chips({at: verbatim(str(at)) for at in range(2)}, 0, label=word("Layer"), elem_classes=["named"])
        head = chips({at: verbatim(str(at)) for at in range(4)}, 0, label=word("Head"), elem_classes=["named"])
        focus = chips(
            answers.FOCUS, "map", label=word("How it is drawn"), show_label=False, elem_id="attention-focus",
            elem_classes=["at-end"],
        )  # fmt: skip
    problem = LiveText(role="alert", classes="problem")
    with gr.Column(elem_classes="attention-views") as views:
        with gr.Column(elem_classes="all-heads"):
            grid = LivePlot(first["grid"], classes="grid", when={"focus": DRAWN})
        with gr.Column(elem_classes="one-head"):
            middle = LivePlot(first["middle"], classes="one")
        with gr.Column(elem_classes="one-cell"):
            numbers = LivePlot(first["numbers"], classes="sum arithmetic", keep=["csv"], when={"focus": HEAD})
            terms = LivePlot(first["terms"], classes="terms", when={"focus": HEAD})
        with gr.Column(elem_classes="one-report"):
            report = LivePlot(first["report"], classes="report", when={"focus": HEAD})
            LiveText(
                text_value(
                    Text(
                        "Measured on this input. The moments on the timeline are found on held-out problems, so they may differ."
                    )
                ),
                tag="small", classes="report-about", when={"focus": HEAD, "hasTraining": [True]},
            )  # fmt: skip
            sources = LivePlot(first["sources"], classes="sources", when={"focus": ["rollout"]})
        with gr.Column(elem_classes="bertviz"):
            bertviz = BertVizView(first["bertviz"])
            bertviz_caption = LiveText(first["bertviz_caption"], classes="caption", when={"focus": list(VIEWS)})
    with gr.Column(elem_classes="no-attention", visible=False) as nothing:
        sentence = LiveText(classes="nothing")
        gates = gr.Button(word("Open Gates"), elem_classes="small-button")
        LiveText(text_value(Text("These runs have attention:")), classes="nothing")
        attending = chips({}, label=word("Runs with attention"), show_label=False)
    with gr.Column(elem_classes="bridge-room") as bridge:
        similar_heads()
    controls = Controls(first["controls"], group=group, layer=layer, head=head, focus=focus, attending=attending)
    derived = Derived(["group", "layer", "head"], first["derived"])
    gates.click(None, None, None, js=OPEN_GATES, api_visibility="private")
    attending.input(None, [attending], None, js=CHOOSE_RUN, api_visibility="private")

    question = Question(answers.INPUT, also=answers.CHOICE, value=first["question"])
    row = Question(["attentionOf", "group", "query"], when={"long": [False]}, value=first["row"])
    here = Question(["attentionOf", "group", "query", "layer", "snapshot"], when={"long": [True]}, rest=REST_MS)
    exact = Question(
        ["attentionOf", "group", "focus", "layer", "head", "snapshot"],
        when={"long": [True], "focus": ["map", "rollout"]}, rest=REST_MS,
    )  # fmt: skip
    neuron = Question(["attentionOf", "group", "layer", "snapshot"], when={"focus": ["neuron"]}, rest=REST_MS)
    shown = [
        grid,
        middle,
        sources,
        report,
        bertviz,
        bertviz_caption,
        derived,
        controls,
        top,
        views,
        bridge,
        nothing,
        sentence,
    ]
    ask(question.change, answers.show_attention, [question], shown, problem, runs_model=True)
    ask(group.input, answers.choose_group, [question, group], [controls], problem)
    for asked in (row, here):
        ask(asked.change, answers.explain_row, [asked], [numbers, terms], problem, runs_model=True)
    ask(exact.change, answers.show_exact, [exact], [middle], problem, runs_model=True)
    ask(neuron.change, answers.show_vectors, [neuron], [bertviz], problem, runs_model=True)


def first_answers() -> dict:
    """What the tab shows first, in the page itself: the first run with its first input, for which nothing is asked."""
    run = SHIPPED_RUNS[0]
    asked = {"run": run.name, "text": run.first_input, "heldOut": 0, "version": None}
    answer = attention_plots(*answers.input_of(asked))
    values = answer.values(asked)
    last = next(iter(answer.stacks.values()))["shape"][0] - 1
    controls = answers.choose_focus({**asked, "snapshot": last}, answer)
    controls["state"] |= {"snapshot": last}
    row = {key: controls["state"][key] for key in ("attentionOf", "group", "query")}
    numbers, terms = answers.explain_row(row)
    for address in (values["derived"]["arrays"], terms["arrays"]):
        array_store.keep(address)
    controls["of"] = asked
    return {**values, "controls": controls, "question": asked, "row": row, "numbers": numbers, "terms": terms}
