"""What is to be trained: the events behind the left column of the Train tab."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gradio as gr
from pydantic import ValidationError

from app.components.live_plot import plot_values, text_value
from app.components.page_state import told
from app.figures.expressions import Format, Sentences
from app.figures.train_example import worked_example
from app.figures.train_file import file_rows
from app.i18n import TRANSLATIONS, in_all_languages, translate, translate_all
from app.service.figure_payload import text_expression
from app.service.training import commands
from app.service.training.menu import FIRST, OWN_TASKS, family_for, file_facts, fresh_recipe, task_facts, variants_of
from app.service.training.titles import TASK_TITLES, family_title, task_title, variant_title
from app.service.training.uploaded_files import task_from_bytes, task_from_file
from core import ConfigError, InputError, Text
from core.tasks import TASKS, Task

Question = dict[str, Any]  # of the page's state: recipe, file, language
STARTS = (  # other recipes to begin with, where there is nothing on show yet
    ("transformer", "copy", "default"), ("gpt", "induction", "default"), ("seq2seq", "dates", "default"),
    ("rnn", "parity", "too-fast"),
)  # fmt: skip


def language_of(question: Question) -> str:
    language = question.get("language")
    return language if language in TRANSLATIONS else "en"


def body_of(question: Question) -> commands.TrainBody:
    """The recipe in the page's state as a request."""
    recipe, file = question.get("recipe") or {}, question.get("file")
    own = file if file and recipe.get("task") == file.get("kind") else None
    try:
        return commands.TrainBody.model_validate(
            {**recipe, "file": own and {"name": own["name"], "digest": own["digest"]}}
        )
    except ValidationError as error:
        part = str(error.errors()[0]["loc"][0])
        raise ConfigError(
            part, recipe.get(part), Text("it must be a whole number."), Text("Use 0 or more.")
        ) from error


def task_of(question: Question, name: str) -> Task:
    if name in TASKS:
        return task_facts(name)
    return task_from_file({"name": "own.txt", **(question.get("file") or {})}, {})


def choose_task(name: str, question: Question) -> list[Any]:
    """Another task, with the family of before if it can do it; says so if it cannot. The seed stays."""
    before = question["recipe"]
    families = task_of(question, name).families
    family = family_for(name, families, before["family"])
    recipe = fresh_recipe(family, name, seed=before["seed"])
    note = None
    if family != before["family"]:
        known = {"task": task_title(name), "old": family_title(before["family"]), "new": family_title(family)}
        reason = (
            Text("There is no recipe of {old} for {task} yet, so the model is now {new}.", **known)
            if before["family"] in families
            else Text("{old} cannot do {task}, so the model is now {new}.", **known)
        )
        note = text_value(reason)
    return [told(state={"recipe": recipe, "ownFile": name in OWN_TASKS}), note]


def choose_family(family: str, question: Question) -> list[Any]:
    before = question["recipe"]
    return [told(state={"recipe": fresh_recipe(family, before["task"], seed=before["seed"])}), None]


def choose_variant(variant: str, question: Question) -> list[Any]:
    before = question["recipe"]
    return [
        told(state={"recipe": fresh_recipe(before["family"], before["task"], variant, seed=before["seed"])}),
        None,
    ]


def begin_with(family: str, task: str, variant: str, question: Question) -> list[Any]:
    """Another recipe, trained at once."""
    recipe = fresh_recipe(family, task, variant, seed=question["recipe"]["seed"])
    job = commands.start(body_of({**question, "recipe": recipe}), str(question.get("trainPage"))[:40])
    return [told(state={"recipe": recipe}), translate_all({"job": job, "order": "start", "at": time.time()})]


def menu_values(question: Question) -> list[Any]:
    """Tasks, families and variants on offer for the recipe, and what is said of them."""
    language, recipe = language_of(question), question["recipe"]
    name, family, variant = recipe["task"], recipe["family"], recipe.get("variant")
    try:
        task = task_of(question, name)
    except ConfigError:
        if question.get("file"):
            raise  # it is not kept here any more
        return [*[gr.skip()] * 6, told(state={"recipe": fresh_recipe(*FIRST)})]
    own = [question["file"]["kind"]] if question.get("file") else []
    tasks = [(translate(TASK_TITLES[one], language), one) for one in [*TASKS, *own]]
    variants = variants_of(family, name)
    names = [
        ("✗ " * ("why" in parts) + translate(variant_title(one), language), one) for one, parts in variants.items()
    ]
    why = variants.get(variant, {}).get("why")
    told_of = (
        text_value(Text("Meant to fail: {why}", why=why))
        if why
        else None
        if variants
        else text_value(Text("Nobody has tuned this pair yet: it starts from plain defaults and may not learn."))
    )
    return [
        gr.update(choices=tasks, value=name),
        text_value(task.help),
        gr.update(choices=[(family_title(one), one) for one in task.families], value=family),
        gr.update(choices=names, value=variant, visible=bool(variants)),
        told_of,
        gr.update(value=recipe.get("seed")),
        told(),
    ]


def check(question: Question) -> list[Any]:
    """Size, steps, chance and a first problem of the recipe, or why it cannot be trained, with the option this is about."""
    language, recipe = language_of(question), question["recipe"]
    title = run_title(recipe)
    go, large = translate(Text("Train {title}", title=title), language), translate(Text("▶ Train"), language)
    try:
        facts = commands.check(body_of(question))
    except (InputError, ConfigError) as error:
        refusal = {"option": getattr(error, "option", None), "text": in_all_languages(error.text)}
        return [gr.update(value=go, interactive=False), None, *[gr.skip()] * 5, gr.update(interactive=False), refusal]
    known = facts["known"] is not None
    if facts["known"] == "done":
        go, large = translate(Text("Show {title}", title=title), language), translate(Text("▶ Show it"), language)
    sized = {"n": facts["parameters"], "steps": facts["steps"]}
    size = Format("{n:,} parameters · {steps:,} steps", **sized)
    line = Format("{size} · trained here before: you watch the same steps", size=size) if known else size
    example = plot_values({"example": worked_example(facts["example"])})["example"]
    chance = Format(
        "Without looking at the problem, one can be right **{chance:.0%}** of the time.", chance=facts["chance"]
    )
    meant_to_fail = "why" in variants_of(recipe["family"], recipe["task"]).get(recipe.get("variant"), {})
    rest = (
        Format("This recipe is meant to fail: press the button and see how.")
        if meant_to_fail
        else Format("This model began with **{n:,}** random numbers; its training, of **{steps:,}** steps, is stored here. Press the button and see how it goes.", **sized)
        if facts["known"] == "done"
        else Format("This model begins with **{n:,}** random numbers. Press the button and watch it find the rule within **{steps:,}** steps.", **sized)
    )  # fmt: skip
    return [
        gr.update(value=go, interactive=True),
        text_value(line),
        example,
        example,
        text_value(
            Text("{title}: trained here before", title=title)
            if known
            else Text("{title}: not trained yet", title=title)
        ),
        text_value(task_of(question, recipe["task"]).help),
        text_value(Sentences([chance, rest])),
        gr.update(value=large, interactive=True),
        None,
    ]


def run_title(recipe: dict[str, Any]) -> Text:
    return Text(
        "{family} · {task}", family=family_title(str(recipe.get("family"))), task=task_title(str(recipe.get("task")))
    )


def read_file(path: str | None, question: Question) -> list[Any]:
    """A file of one's own: how it was read, and the recipe for its task."""
    if path is None:
        return [gr.skip()] * 4
    file = Path(path)
    try:
        data = file.read_bytes()
    finally:
        file.unlink(missing_ok=True)
    task = task_from_bytes(file.name, data)
    facts, before = file_facts(task), question["recipe"]
    recipe = fresh_recipe(
        family_for(facts["kind"], facts["families"], before["family"]), facts["kind"], seed=before["seed"]
    )
    state = {
        "file": {"name": file.name, "kind": facts["kind"], "digest": facts["digest"]},
        "recipe": recipe,
        "ownFile": True,
    }
    table = plot_values({"rows": file_rows(facts["first"])})["rows"]
    return [told(state=state), _file_report(file.name, facts), table, None]


def _file_report(name: str, facts: dict[str, Any]) -> Any:
    read = Format("**{name}**: read as {task}.", name=name, task=text_expression(task_title(facts["kind"])))
    count = Format(
        "{rows:,} examples, {held_out:,} of them held out for the test.",
        rows=facts["rows"],
        held_out=facts["held_out"],
    )
    words = Format(
        "{size:,} different tokens, such as {tokens}",
        size=facts["vocabulary"]["size"],
        tokens=" ".join(facts["vocabulary"]["tokens"][3:27]),
    )
    labels = [Format("Labels: {labels}.", labels=", ".join(facts["labels"][:12]))] if facts["labels"] else []
    return text_value(Sentences([read, count, *labels, words]))  # fmt: skip
