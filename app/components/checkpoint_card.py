"""What a checkpoint costs, told before it is loaded, and the buttons that look one up, load it and stop that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import gradio as gr

from app.components.events import ask
from app.components.live_plot import LiveText, text_value
from app.components.page_state import Controls, Question, told
from app.components.words import word
from app.figures.expressions import Choose, Format, Sentences, State
from app.service.checkpoints import checkpoint_runs

ANOTHER = "checkpoint:?"  # no checkpoint: opens the form for the name of one
POLL_SECONDS = 0.25
MEGABYTE, GIGABYTE = 1e6, 1e9


def checkpoint_card(picked: str, opened: str) -> None:
    """A card that appears when the key `picked` of the page's state names a checkpoint that is not in memory, or `ANOTHER`;
    when it is in memory, the key `opened` is set to its name.
    """
    question = Question([picked])
    keys = Controls()
    with gr.Column(visible=False, elem_classes="loader") as card:
        with gr.Column(visible=False, elem_classes="loader-form") as form:
            name = gr.Textbox(
                label=word("The name of a folder in the app's checkpoint folder, or the id of a model on the hub:"),
                placeholder="org/name", max_lines=1, max_length=200, interactive=True, elem_classes="loader-name",
            )  # fmt: skip
        title, facts = LiveText(tag="b", classes="loader-title"), LiveText()
        source, notes = LiveText(tag="small"), LiveText(tag="small")
        problem = LiveText(role="alert", classes="problem")
        bar = gr.HTML(
            0, html_template='<progress max="1" value="{{value}}"></progress>', apply_default_css=False, visible=False
        )
        with gr.Row(elem_classes="loader-buttons"):
            look_up = gr.Button(word("Look it up"), visible=False, elem_classes="small-button")
            load = gr.Button(word("Load"), visible=False, elem_classes=["small-button", "load"])
            download = gr.Button(word("Download"), visible=False, elem_classes=["small-button", "load"])
            stop = gr.Button(word("Stop"), visible=False, elem_classes="small-button")
            leave = gr.Button(word("Not now"), elem_classes="small-button")
    shown = [card, form, title, facts, source, notes, bar, look_up, load, download, stop, leave, keys]

    def show(about: dict[str, Any] | None, *, asking: bool = False, opening: str | None = None) -> list[Any]:
        loading = about is not None and about["status"] == "loading"
        waiting = about is not None and not loading
        away = about is not None and waiting and about["source"] == "hub"
        sentences = describe_cost(about) if about else {}
        return [
            gr.update(visible=asking or loading or waiting),
            gr.update(visible=asking),
            *(text_value(sentences.get(part)) for part in ("title", "facts", "source", "notes")),
            gr.update(value=about["done"] if about is not None and loading else 0, visible=loading),
            gr.update(visible=asking),
            gr.update(visible=waiting and not away),
            gr.update(visible=away),
            gr.update(visible=loading),
            gr.update(visible=not loading),
            told(state={opened: opening} if opening else {}),
        ]

    def arrive(about: dict[str, Any]) -> list[Any]:
        return show(None, opening=about["name"]) if about["status"] == "ready" else show(about)

    def offer(asked: dict[str, Any]) -> list[Any]:
        name = asked.get(picked) or ""
        if not checkpoint_runs.is_checkpoint_name(name):
            return show(None)
        if name == ANOTHER:
            return show(None, asking=True)
        return arrive(checkpoint_runs.describe(checkpoint_runs.find_location(name)))

    def find(typed: str) -> list[Any]:
        location = checkpoint_runs.find_location(typed)
        checkpoint_runs.describe(location)  # refuses what cannot be loaded here
        return [told(state={picked: location.name})]

    def start(asked: dict[str, Any]) -> Iterator[list[Any]]:
        location = checkpoint_runs.find_location(asked[picked])
        checkpoint_runs.start_loading(location)
        while (about := checkpoint_runs.describe(location))["status"] == "loading":
            yield show(about)
            time.sleep(POLL_SECONDS)
        yield arrive(checkpoint_runs.describe(checkpoint_runs.find_location(asked[picked])))

    loading = ask([load.click, download.click], start, [question], shown, problem)
    ask(question.change, offer, [question], shown, problem, cancels=[loading])
    ask([look_up.click, name.submit], find, [name], [keys], problem)
    stop.click(stop_loading_of(picked), [question], None, show_progress="hidden", api_visibility="private")
    leave.click(None, None, None, js=f"() => innerview.leave('{picked}')", api_visibility="private")


def stop_loading_of(picked: str) -> Any:
    def stop_loading(asked: dict[str, Any]) -> None:
        checkpoint_runs.stop_loading(checkpoint_runs.find_location(asked[picked]))

    return stop_loading


def describe_cost(about: dict[str, Any]) -> dict[str, Any]:
    """Sentences about `checkpoint_runs.describe`."""
    if about["status"] == "loading":
        return {"facts": Format("Loading {title} … {done:.0%}", title=about["title"], done=about["done"])}
    away = about["source"] == "hub"
    costs = Format(
        "**{parameters:,}** parameters, **{megabytes:,.0f} MB** of memory.",
        parameters=about["parameters"],
        megabytes=about["bytes"] / MEGABYTE,
    )
    facts: list[Any] = [costs]
    if away:
        download = about["download"] / MEGABYTE
        facts.insert(0, Format("It is not on this machine: **{download:,.0f} MB** to download.", download=download))
    elif about["seconds"] < 1:
        facts.append(Format("Loading takes less than a second."))
    else:
        facts.append(Format("Loading takes about {seconds:.0f} s.", seconds=about["seconds"]))
    notes = [*about["notes"], *([about["problem"]] if about["problem"] else [])]
    return {
        "title": about["title"],
        "facts": Sentences(facts),
        "source": Format("from the installed package {package}", package=about["package"])
        if about["package"]
        else None,
        "notes": Sentences([Choose(State("language"), note) for note in notes]) if notes else None,
    }
