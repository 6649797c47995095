"""The contents of the Train tab: controls on the left, the runs and their pictures on the right, and what ties them."""

from __future__ import annotations

from functools import partial

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, text_value
from app.components.page_state import Controls, Question
from app.components.words import chips, word
from app.service.training.menu import FIRST, variants_of
from app.service.training.titles import TASK_TITLES, family_title, variant_title
from app.tabs.train import fine_tuning, recipe, runs
from app.tabs.train.options import OptionControls, option_names_style
from app.tabs.train.refusal import Refusal
from core.config.families import CONFIGS
from core.tasks import TASKS
from core.translatable import Text

PACES = {1: Text("1"), 5: Text("5"), 20: Text("20"), 100: Text("100"), "all": Text("as fast as it goes")}
FORK_MODEL = (
    "dropout",
    "attention",
    "window",
    "position",
    "causal",
    "activation",
    "norm_eps",
    "checkpointing",
    "engine",
)
PARTS = {"task_options": Text("The problems"), "model": Text("The model"), "training": Text("The training")}
SMALL = ["small-button"]


def train_tab() -> None:
    question = Question(["recipe", "file", "language", "trainPage"])
    page = Controls()  # what events set in the page's state
    gr.HTML(option_names_style(), apply_default_css=False, elem_classes="page-state")
    with gr.Row(elem_classes="train"):
        with gr.Column(elem_classes="train-aside"):
            with gr.Accordion(word("What is trained"), open=True, elem_classes="train-side"):
                example = _choices(question, page)
            go = gr.Button(word("Train"), elem_classes="train-go")
            facts = LiveText(tag="small", classes="train-facts")
            problem = LiveText(role="alert", classes="problem")
        with gr.Column(elem_classes="train-main"):
            shown = runs.Runs()
            hero = _hero(question, page, shown, problem)
            _runs(question, page, shown, problem)
    refusal = Refusal("recipe")
    ask([question.change], recipe.check, [question], [go, facts, example, *hero, refusal], problem)
    ask([go.click], runs.start, [question], [shown], problem)


def _choices(question: Question, page: Controls) -> LivePlot:
    """Task, family, recipe, their options and the seed; returns where a worked problem is shown."""
    families = TASKS[FIRST[1]].make().families
    task = chips({name: TASK_TITLES[name] for name in TASKS}, FIRST[1], label=word("Task"), elem_id="train-task")
    file_problem = LiveText(role="alert", classes="problem file-problem")
    help_text = LiveText(classes="train-help")
    example = LivePlot(classes="train-worked", keep=())
    file = gr.File(label=word("Your own file"), height=64, interactive=True, elem_id="train-file")
    LiveText(
        text_value(Text("Text (.txt): the model goes on writing in its style. A table (.csv, .tsv, .jsonl) whose first line names its columns: source,target or text,label or tokens,tags. UTF-8, at most 5 MB.")),
        tag="small", classes="file-hint",
    )  # fmt: skip
    report = LiveText(classes="file-report", when={"ownFile": [True]})
    rows = LivePlot(classes="file-rows", keep=(), when={"ownFile": [True]})
    family = gr.Radio(
        [(family_title(name), name) for name in CONFIGS if name in families], value=FIRST[0], label=word("Model"),
        interactive=True, elem_classes=["chips"], elem_id="train-family",
    )  # fmt: skip
    note = LiveText(role="status", classes="train-note")
    variants = chips(
        {name: variant_title(name) for name in variants_of(*FIRST)},
        "default",
        label=word("Recipe"),
        elem_id="train-variant",
    )
    why = LiveText(classes="train-why")
    controls = OptionControls("recipe")
    for part, title in PARTS.items():
        LiveText(text_value(title), tag="h5")
        controls.groups(part, main=True)
    with gr.Row(elem_classes="seed"):
        seed = gr.Number(
            0,
            label=word("seed"),
            info=word("Same recipe, same seed: the same run, bit for bit."),
            minimum=0,
            step=1,
            interactive=True,
            elem_id="recipe-seed",
            elem_classes="option",
        )
        another = gr.Button(word("Next seed"), elem_classes=SMALL)
    with gr.Accordion(word("More options"), open=False, elem_classes="train-more"):
        for part, title in PARTS.items():
            LiveText(text_value(title), tag="h5", classes=f"rest-{part}")
            controls.groups(part, main=False)
    controls.tie()
    seed.input(None, [seed], None, js="(value) => innerview.seed(value)")
    another.click(None, None, None, js="() => innerview.seed(null)")
    menu = [task, help_text, family, variants, why, seed, page]
    ask([question.change], recipe.menu_values, [question], menu, file_problem)
    for control, choose in (
        (task, recipe.choose_task),
        (family, recipe.choose_family),
        (variants, recipe.choose_variant),
    ):
        ask([control.input], choose, [control, question], [page, note], file_problem)
    read = ask([file.upload], recipe.read_file, [file, question], [page, report, rows, note], file_problem)
    read.then(None, None, [file], js="() => null")  # for another one, also after a refusal
    return example


def _hero(question: Question, page: Controls, shown: runs.Runs, problem: LiveText) -> list[gr.components.Component]:
    """Before anything is trained: what will be learnt, one problem of it, large, and other recipes to begin with."""
    with gr.Column(elem_classes="train-hero"):
        title = LiveText(tag="h2")
        help_text = LiveText(classes="hero-help")
        example = LivePlot(classes="hero-example card", keep=())
        words = LiveText(classes="hero-words")
        go = gr.Button(word("▶ Train"), elem_classes=["train-go", "hero-go"])
        LiveText(text_value(Text("Or begin with")), tag="h4")
        with gr.Row(elem_classes="hero-others"):
            for family, task, variant in recipe.STARTS:
                other = gr.Button(f"{family_title(family)} · {task}", elem_classes=["hero-other"])
                ask(
                    [other.click],
                    partial(recipe.begin_with, family, task, variant),
                    [question],
                    [page, shown],
                    problem,
                )
    ask([go.click], runs.start, [question], [shown], problem)
    return [example, title, help_text, words, go]


def _runs(question: Question, page: Controls, shown: runs.Runs, start_problem: LiveText) -> None:
    """The run in focus with its buttons, what was noticed about it, the charts, and what it says and looks at."""
    focus = Question(["trainJob", "trainPinned", "file", "recipe", "language", "trainPage"])
    listed = Question(["trained", "trainRuns", "trainWidth", "language"])
    sight = Question(["trainSight", "trainPinned", "trainWidth"])
    with gr.Column(elem_classes="train-runs"):
        with gr.Row(elem_classes="train-title"):
            title = LiveText(tag="h3")
            status = LiveText(tag="span", classes="train-status", role="status")
        gr.HTML('<div class="train-bar"><i></i></div>', apply_default_css=False)
        with gr.Row(elem_classes="train-buttons"):
            orders = {
                name: gr.Button(word_, elem_classes=[*SMALL, "transport", f"do-{name}"], interactive=False)
                for name, word_ in (
                    ("pause", word("Pause")), ("go", word("Continue")), ("step", word("One step")), ("stop", word("Stop")),
                    ("rewind", word("Rewind")), ("fork", word("Fork…")), ("again", word("Watch it learn")),
                )
            }  # fmt: skip
            look = gr.Button(word("Look inside →"), elem_classes=[*SMALL, "look-inside"], interactive=False)
        problem = LiveText(role="alert", classes="problem")
        hint = LiveText(tag="small", classes="train-hint")
        pace = chips(
            PACES, 100, label=word("Steps shown a second"), elem_id="train-pace", elem_classes=["train-pace"]
        )
        Controls(trainPace=pace)
        noticed = []
        for index in range(2):
            with gr.Row(elem_classes="noticed"):
                what = LiveText()
                remedy = gr.Button("", visible=False, elem_classes=[*SMALL, "remedy"])
            ask([remedy.click], partial(runs.remedy, index), [focus], [shown, page], problem)
            noticed += [what, remedy]
        _fork(focus, page, shown, orders["fork"], problem)
        with gr.Row(elem_classes="train-list"):
            names = gr.Radio(
                [], label=word("Runs on this chart"), interactive=True, elem_classes=["chips", "run-names"]
            )
            numbers = gr.CheckboxGroup(
                [], label=word("Drawn"), interactive=True, elem_classes=["chips", "run-numbers"]
            )
            gone = gr.Button(word("Remove from the list"), elem_classes=[*SMALL, "run-gone"])
        scale = chips(
            {"log": Text("Log steps"), "linear": Text("Linear")},
            "log",
            show_label=False,
            elem_classes=["train-scale"],
        )
        Controls(trainScale=scale)
        charts = LivePlot(classes="train-figure")
        pinned = LiveText(classes="train-pinned")
        with gr.Row(elem_classes="train-below"):
            problems = LivePlot(classes="train-problems", keep=("csv",))
            inside = LivePlot(classes="train-thumbs")
    fine_tuning.section()
    buttons = [*(orders[name] for name in runs.ORDERS), orders["again"], look]
    ask([focus.change], runs.focus_values, [focus], [title, status, hint, *buttons, *noticed], problem)
    ask([listed.change], runs.list_values, [listed], [names, numbers, gone], problem)
    ask([listed.change], runs.chart_values, [listed], [charts], problem)
    ask([sight.change], runs.inside_values, [sight], [problems, inside, pinned], problem, runs_model=True)
    for name in ("pause", "go", "step", "stop", "rewind"):
        ask([orders[name].click], partial(runs.command, name), [focus], [shown], problem)
    orders["again"].click(None, None, None, js="() => innerview.train.again()")
    look.click(None, None, None, js="() => innerview.train.lookInside()")
    gone.click(None, None, None, js="() => innerview.train.remove()")
    names.input(None, [names], None, js="(key) => innerview.train.choose(key)")
    numbers.input(None, [numbers], None, js="(keys) => innerview.train.show(keys)")


def _fork(focus: Question, page: Controls, shown: runs.Runs, button: gr.Button, problem: LiveText) -> None:
    """Another run that begins at a step of this one, with other options from there on."""
    changes = Question(["fork", "trainPage"])
    with gr.Column(visible=False, elem_classes=["train-fork", "card"]) as panel:
        title = LiveText(tag="h4")
        LiveText(
            text_value(
                Text(
                    "It begins with this run's weights at that step. Change what is to be different from there on; the number of steps is the total, counted from the start of the run it comes from."
                )
            )
        )
        with gr.Row():
            step = gr.Dropdown([], label=word("From"), filterable=False, interactive=True, elem_id="fork-step")
            seed = gr.Number(0, label=word("seed"), minimum=0, step=1, interactive=True, elem_id="fork-seed")
        controls = OptionControls("fork")
        controls.groups("training")
        with gr.Accordion(word("Options of the model that keep every weight's shape"), open=False):
            controls.groups("model", only=FORK_MODEL)
        refused = LiveText(role="alert", classes="problem")
        with gr.Row(elem_classes="fork-row"):
            go = gr.Button(word("Train the fork"), elem_classes=["train-go", "fork-go"])
            cancel = gr.Button(word("Cancel"), elem_classes=SMALL)
    controls.tie()
    ask([button.click], runs.open_fork, [focus], [panel, title, step, seed, page, refused], problem)
    ask([go.click], runs.fork, [step, seed, changes], [shown, panel], refused)
    cancel.click(None, None, [panel], js="() => ({ __type__: 'update', visible: false })")
