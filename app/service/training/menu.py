"""What the Train tab offers: tasks, families, variants of recipes and their options; and how a user's file was read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from app.i18n import in_all_languages
from app.service.training.requests import FROM_TASK, PARTS
from app.service.training.titles import task_title
from core import Option
from core.config.families import CONFIGS
from core.runs.recipes import RECIPES
from core.tasks import TASKS, Task
from core.tasks.custom.custom_task import CustomLabels, CustomPairs, CustomTags, CustomTask, CustomText
from core.training.options import Training

MAIN_OPTIONS = (  # shown first, in this order
    "n_layers", "n_heads", "d_model", "d_hidden", "cell", "attention", "position", "causal", "forget_bias",
    "min_len", "max_len", "n_symbols",
    "steps", "batch_size", "lr", "schedule", "curriculum", "samples",
)  # fmt: skip
NO_CONTROL = ("points", "piecewise")  # an option without a control, and the choice of schedule that needs it
OWN_TASKS: dict[str, type[CustomTask]] = {
    "own text": CustomText, "own pairs": CustomPairs, "own labels": CustomLabels, "own tags": CustomTags,
}  # fmt: skip
FIRST = ("lstm", "parity")  # what is offered at first
KINDS = (int, float, bool, str)  # of options there is a control for


def sorted_options(options: Iterable[Option], excluded: Iterable[str] = ()) -> list[Option]:
    """`MAIN_OPTIONS` first, then the others as they come; without choices that need an option without a control."""
    rank = {name: i for i, name in enumerate(MAIN_OPTIONS)}
    included = [option for option in options if option.name not in excluded and option.kind in KINDS]
    included.sort(key=lambda option: rank.get(option.name, len(rank)))
    return [
        replace(option, choices={name: text for name, text in option.choices.items() if name not in NO_CONTROL})
        for option in included
    ]


@lru_cache(maxsize=1)
def options_of_parts() -> dict[str, dict[str, list[Option]]]:
    """By part of a recipe and by whom it is for ("": everybody): the options that have a control."""
    tasks = {
        **{name: TASKS[name].make().options() for name in TASKS},
        **{name: OWN_TASKS[name].options() for name in OWN_TASKS},
    }
    return {
        "task_options": {name: sorted_options(options) for name, options in tasks.items()},
        "model": {family: sorted_options(config.options(), FROM_TASK) for family, config in CONFIGS.items()},
        "training": {"": sorted_options(Training.options(), NO_CONTROL)},
    }  # fmt: skip


def recipe_bases() -> list[dict[str, Any]]:
    """Every variant of every recipe: in what it differs from the defaults."""
    return [
        {"family": family, "task": task, "variant": variant, **{part: parts.get(part, {}) for part in PARTS}}
        for (family, task), variants in RECIPES.items()
        for variant, parts in variants.items()
    ]


@lru_cache(maxsize=64)
def task_facts(name: str) -> Task:
    """The task with its defaults."""
    return TASKS[name].make()


def variants_of(family: str, task: str) -> dict[str, Any]:
    return dict(RECIPES.get((family, task), {}))


def fresh_recipe(family: str, task: str, variant: str | None = None, seed: int = 0) -> dict[str, Any]:
    """A choice on the page that differs from its variant in nothing."""
    known = variants_of(family, task)
    variant = variant if variant in known else next(iter(known), None)
    return {"family": family, "task": task, "variant": variant, "model": {}, "task_options": {}, "training": {}, "seed": seed}  # fmt: skip


def family_for(task: str, families: Iterable[str], wanted: str) -> str:
    """The family for a task: the wanted one if it has a recipe for it, else the first that has, else one that can do it."""
    families = list(families)
    tuned = [family for family in families if variants_of(family, task)]
    if wanted in tuned or (wanted in families and not tuned):
        return wanted
    return (tuned or families)[0]


def file_facts(task: CustomTask) -> dict[str, Any]:
    """How a user's file was read: the kind of task it gives, its size, vocabulary and first rows."""
    data, example = task.data, task.evaluation(1)
    rows = len(data.problems.lengths)
    return {
        "kind": task.name,
        "title": in_all_languages(task_title(task.name)),
        "help": in_all_languages(task.help),
        "digest": task.content.digest,
        "ending": task.content.ending,
        "rows": rows,
        "held_out": int(data.held_out.sum()),
        "longest": task.longest,
        "first": [_row(task, index) for index in range(min(5, rows))],
        "vocabulary": {"size": len(data.tokens), "tokens": data.tokens[:200]},
        "labels": data.labels[:200],
        "families": task.families,
        "chance": task.chance,
        "example": task.say(example.source[0, : example.source_lengths[0]].tolist()),
    }


def _row(task: CustomTask, index: int) -> dict[str, str]:
    example = task.examples(torch.tensor([index]))
    source = example.source[0, : example.source_lengths[0]].tolist()
    return {"problem": task.say(source), "answer": str(task.answer_text(source, example))}
