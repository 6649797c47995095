"""Below the Attention tab: heads of another model that do what the head in focus does, both reading the same text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LivePlot, LiveText, plot_values, text_value
from app.components.page_state import Controls, Question, told
from app.components.words import word
from app.figures.expressions import Choose, Expression, Fill, Format, Sentences, State
from app.i18n import in_all_languages
from app.routes.runs import load_input
from app.service.checkpoints import checkpoint_runs
from app.service.figure_payload import text_expression
from app.service.inputs import input_from_text
from app.service.runs import run_registry
from app.service.runs.input_arrays import input_arrays
from app.service.runs.model_slots import exclusive_run
from app.service.similar_heads import N_BEST, Comparison, HeadProfiles, compare_heads, profile_heads
from app.tabs.attention_answers import FAMILIES, Asked, asked_input, asked_keys, points_of
from core.analysis.training_events import ROLE_THRESHOLD
from core.translatable import Text

ANOTHER = "checkpoint:?"  # no model: a name is to be typed
QUICK_SECONDS, POLL_SECONDS, REST_MS = (
    1,
    0.25,
    200,
)  # what loads sooner is loaded without a question; the playhead rests
LEAD = Text(
    "Does a real model have a head that does what this one does? Both read the same text, and their heads are compared by what they do with it."
)
SHARES = {
    "previous": Format("previous token"),
    "own": Format("itself"),
    "first": Format("first token"),
    "induction": Format("induction"),
}
LOOK = """async () => {
    const { chooseInput, chooseRun } = await import(new URL("ours/js/session.js", document.baseURI));
    const { set, shown, state } = await import(new URL("ours/js/store.js", document.baseURI));
    const { group, layer, head } = state.similarHeads[INDEX], { text } = shown.look, run = state.similarIn;
    if (run !== state.run) {
        const { snapshot, ...kept } = state;
        await chooseRun(run, { ...kept, run, text, heldOut: 0, group, layer, head, query: null, key: null, attentionOf: [run, text, 0, null] });
    } else {
        if (state.text === null) await chooseInput({ text });
        set({ group, layer, head, snapshot: shown.look.steps.length - 1 });
    }
    document.querySelector(".one-head .plot")?.scrollIntoView({ block: "nearest" });
}"""


@dataclass
class Card:
    """One head: its name, how alike it is, its map and profile, and the way to it."""

    column: gr.Column
    title: LiveText
    number: LiveText
    plot: LivePlot
    outside: LiveText
    look: gr.Button | None

    @property
    def parts(self) -> list[Any]:
        return [self.column, self.title, self.number, self.plot, self.outside]


def similar_heads() -> None:
    runs = [run for run in run_registry.list_runs() if run["family"] not in FAMILIES]
    runs.sort(key=lambda run: "checkpoint" not in run)
    choices = [*((run["title"]["en"], run["name"]) for run in runs), ("Open another …", ANOTHER)]
    with gr.Column(elem_classes=["figure", "bridge"]):
        LiveText(text_value(Text("Heads like this one")), tag="h3")
        with gr.Row(elem_classes="bridge-ask"):
            where = gr.Dropdown(
                choices, value=runs[0]["name"], label=word("Look in"), interactive=True, elem_classes="bridge-where",
                scale=0, min_width=280,
            )  # fmt: skip
            typed = gr.Textbox(
                label=word("Folder or hub id"), placeholder="org/name", max_lines=1, max_length=200, interactive=True,
                visible=False, scale=0, min_width=280,
            )  # fmt: skip
            find = gr.Button(
                word("Find heads like this one"), elem_classes=["small-button", "load"], min_width=0, scale=0
            )
        problem, facts = LiveText(role="alert", classes="problem"), LiveText(role="status")
        with gr.Row(visible=False, elem_classes="bridge-ask") as offer:
            load = gr.Button(word("Load"), elem_classes=["small-button", "load"], min_width=0, scale=0)
            leave = gr.Button(word("Not now"), elem_classes="small-button", min_width=0, scale=0)
        caption = LiveText(text_value(LEAD), classes="caption")
        with gr.Column(visible=False, elem_classes="bridge-cards") as box:
            cards = [make_card(index) for index in range(-1, N_BEST)]
        note = LiveText(tag="small", classes="bridge-about")
    names = [(run["title"], run["name"]) for run in runs] + [(in_all_languages(Text("Open another …")), ANOTHER)]
    controls = Controls(
        told(choices={"similarWhere": names}, state={"similarWhere": runs[0]["name"]}), similarWhere=where
    )
    question = Question(
        ["attentionOf", "group", "layer", "head", "snapshot", "similarIn"], when={"similarOpen": [True]}, rest=REST_MS
    )
    asked = [facts, offer, typed, controls]
    answered = [caption, note, box, controls, *(part for card in cards for part in card.parts)]
    ask(where.input, choose, [where], [*asked, caption, note, box], problem)
    ask([find.click, typed.submit], lambda name, other: search(name, other), [where, typed], asked, problem)
    ask(load.click, lambda name, other: search(name, other, agreed=True), [where, typed], asked, problem)
    ask(leave.click, lambda: idle(), [], asked, problem)
    ask(question.change, compare, [question], answered, problem, runs_model=True)


def make_card(index: int) -> Card:
    with gr.Column(elem_classes=["card", "bridge-card"]) as column:
        title, number = LiveText(tag="h4"), LiveText(tag="span", classes="number")
        plot, outside = LivePlot(), LiveText(tag="small")
        look = gr.Button(word("Look at it"), elem_classes="small-button", min_width=0) if index >= 0 else None
        if look:
            look.click(None, None, None, js=LOOK.replace("INDEX", str(index)), api_visibility="private")
    return Card(column, title, number, plot, outside, look)


def idle(**changes: Any) -> list[Any]:
    """Values for the question: what is said of a model before it is loaded, the buttons to agree, the name, the state."""
    state = {"similarOpen": False, "similarIn": None} | changes.pop("state", {})
    return [changes.get("facts"), gr.update(visible="offer" in changes), changes.get("typed", gr.skip()), told(state)]


def choose(name: str) -> list[Any]:
    typed = gr.update(visible=name == ANOTHER)
    return [*idle(typed=typed), text_value(LEAD), None, gr.update(visible=False)]


def search(name: str, typed: str, agreed: bool = False) -> Iterator[list[Any]]:
    """Loads a model if that costs next to nothing or has been agreed to, with its progress; then heads are compared."""
    if name == ANOTHER or checkpoint_runs.is_checkpoint_name(name):
        asked = typed.strip() if name == ANOTHER else name
        started = False
        while (about := checkpoint_runs.describe(checkpoint_runs.find_location(asked)))["status"] != "ready":
            if about["status"] == "loading":
                loading = Format("Loading {title} … {done:.0%}", title=about["title"], done=about["done"])
                yield idle(facts=text_value(loading))
                time.sleep(POLL_SECONDS)
            elif not started and (agreed or about.get("seconds", QUICK_SECONDS) < QUICK_SECONDS):
                checkpoint_runs.start_loading(checkpoint_runs.find_location(asked))
                started = about["source"] != "hub"  # what has been downloaded is still to be loaded
            else:
                yield idle(facts=text_value(costs(about)), offer=True)
                return
        name = about["name"]
    yield idle(state={"similarIn": name, "similarOpen": True})


def costs(about: dict[str, Any]) -> Expression:
    """What loading a checkpoint takes, as `checkpoint_runs.describe` has it."""
    megabytes = about["bytes"] / 1e6
    parts: list[Any] = [Format("**{parameters:,}** parameters, **{megabytes:,.0f} MB** of memory.", parameters=about["parameters"], megabytes=megabytes)]  # fmt: skip
    if about["source"] == "hub":
        parts.insert(0, Format("**{title}** is not on this machine: **{download:,.0f} MB** to download.", title=about["title"], download=about["download"] / 1e6))  # fmt: skip
    else:
        parts.append(Format("Loading takes about {seconds:.0f} s.", seconds=about["seconds"]))
    problem = [Choose(State("language"), about["problem"])] if about["problem"] else []
    return Sentences([*parts, *problem])


@run_registry.cached
def head_profiles(name: str, text: str) -> HeadProfiles:
    """Profiles of all heads of a run at the end of its training, reading a text."""
    with exclusive_run(name) as run:
        return profile_heads(run, input_from_text(run, text), run.snapshots[-1].step)


def compare(asked: Asked) -> list[Any]:
    """The head in focus and those most like it, a card each."""
    request, name = asked_input(asked), asked["similarIn"]
    if request is None or not name:
        return [gr.skip()] * (4 + (N_BEST + 1) * 5)
    if asked["group"] not in ("blocks", "encoder.blocks"):
        only = Text(
            "Only heads that look from the input at the input can be compared: choose self-attention or the encoder above."
        )
        return [text_value(only), None, gr.update(visible=False), *[gr.skip()] * (1 + (N_BEST + 1) * 5)]
    other = run_registry.open_run(name)
    steps = input_arrays(request.run, request.text, request.held_out).steps
    with exclusive_run(request.run) as run:
        model_input = load_input(request, run)
    candidates = head_profiles(name, model_input.text)
    with exclusive_run(request.run) as run:
        comparison = compare_heads(
            run, model_input, steps[min(asked["snapshot"], len(steps) - 1)], points_of(asked)[asked["layer"]],
            asked["head"], other.run, candidates, (request.run, name),
        )  # fmt: skip
    titles = [text_expression(run_registry.entry_title(run_registry.open_run(one))) for one in (request.run, name)]
    heads = [comparison.of, *comparison.best]
    values = plot_values(comparison.cards, of={key: asked_keys(asked)[key] for key in ("run", "text", "heldOut")})
    cards: list[Any] = []
    for index in range(N_BEST + 1):
        if index >= len(heads):
            cards += [gr.update(visible=False), None, None, None, None]
            continue
        facts, likeness = heads[index], heads[index].get("likeness")
        classes = ["card", "bridge-card"] + ["focus"] * (index == 0)
        classes += ["poor"] * (likeness is not None and likeness < comparison.alike)
        outside = Format("{share:.0%} of its weight lies on tokens that are left out.", share=facts["outside"])
        cards += [
            gr.update(visible=True, elem_classes=classes),
            text_value(Format("{title} · head {head}", title=titles[index > 0], head=head_name(facts))),
            text_value(Format("in focus") if likeness is None else Fill("{likeness:.2f}", likeness=likeness)),
            values["of" if index == 0 else f"best{index - 1}"],
            text_value(outside) if facts["outside"] > 0.005 else None,
        ]
    found = [{name: facts[name] for name in ("group", "layer", "head")} for facts in comparison.best]
    told_heads = told(state={"similarHeads": found})
    said = text_value(found_sentence(comparison, *titles))
    return [said, text_value(about_comparison(comparison)), gr.update(visible=True), told_heads, *cards]


def head_name(facts: dict[str, Any]) -> str:
    return f"{facts['layer']}.{facts['head']}"


def found_sentence(comparison: Comparison, run: Expression, other: Expression) -> Expression:
    of, first = comparison.of, comparison.best[0]
    about: dict[str, Any] = {
        "mine": head_name(of), "run": run, "theirs": head_name(first), "other": other, "likeness": first["likeness"],
        "heads": comparison.heads, "median": comparison.median, "alike": comparison.alike,
    }  # fmt: skip
    if first["likeness"] < comparison.alike:
        return Format(
            "**None is alike**: of {heads} heads of {other}, these come closest to head {mine} of {run}, {theirs} with {likeness:.2f}. Alike begins at {alike:.2f}; half of them reach {median:.2f}.",
            **about,
        )
    found = Format(
        "Of {heads} heads of {other}, **{theirs}** is most like head {mine} of {run}: likeness **{likeness:.2f}**. Half of them reach {median:.2f}.",
        **about,
    )
    share = max((name for name in SHARES if name in comparison.measures), key=lambda name: of["profile"][name])
    if of["profile"][share] < ROLE_THRESHOLD:
        return found
    both = Format(
        "Share of weight, {what}: {mine:.0%} here, {theirs:.0%} there.",
        what=SHARES[share], mine=of["profile"][share], theirs=first["profile"][share],
    )  # fmt: skip
    return Sentences([found, both])


def about_comparison(comparison: Comparison) -> Expression:
    parts: list[Any] = [
        Format(
            "The same text, {mine} and {theirs} tokens.",
            mine=len(comparison.of["tokens"]),
            theirs=len(comparison.tokens),
        )
    ]
    if left := list(dict.fromkeys([*comparison.of["left_out"], *comparison.left_out])):
        parts.append(Format("Left out of the comparison, though not of the maps: {tokens}.", tokens=" ".join(left)))
    parts.append(
        Format(
            "Likeness is 1 minus the mean difference of the bars, the four shares counted twice; the ticks are those of the head in focus."
        )
    )
    return Sentences(parts)
