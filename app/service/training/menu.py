"""The choices of the Train tab: families, tasks and recipes, with their options as controls of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from app.i18n import in_all_languages
from app.service.build.controls import control
from app.service.training.requests import FROM_TASK
from app.service.training.titles import family_title, task_title, variant_title
from core import Option
from core.config.families import CONFIGS
from core.runs.recipes import RECIPES, SOLVED
from core.tasks import TASKS
from core.tasks.custom.custom_task import CustomTask
from core.training.options import Training
from core.translatable import verbatim

MAIN_OPTIONS = (  # shown first, in this order
    "n_layers", "n_heads", "d_model", "d_hidden", "cell", "attention", "position", "causal", "forget_bias",
    "min_len", "max_len", "n_symbols",
    "steps", "batch_size", "lr", "schedule", "curriculum", "samples",
)  # fmt: skip
NO_CONTROL = ("points", "piecewise")  # an option without a control, and the choice of schedule that needs it


def option_controls(options: Iterable[Option], excluded: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Controls of all options but the excluded: `MAIN_OPTIONS` first, then the others as they come."""
    included = [option for option in options if option.name not in excluded]
    rank = {name: i for i, name in enumerate(MAIN_OPTIONS)}
    included.sort(key=lambda option: rank.get(option.name, len(rank)))
    return [{**control(_without_hidden_choices(option)), "main": option.name in MAIN_OPTIONS} for option in included]


def _without_hidden_choices(option: Option) -> Option:
    return replace(option, choices={name: text for name, text in option.choices.items() if name not in NO_CONTROL})


@lru_cache(maxsize=1)
def menu() -> dict[str, Any]:
    tasks = [_task(name) for name in TASKS]
    return {
        "families": [
            {
                "name": name,
                "title": in_all_languages(verbatim(family_title(name))),
                "options": option_controls(config.options(), FROM_TASK),
                "tasks": [task["name"] for task in tasks if name in task["families"]],
            }
            for name, config in CONFIGS.items()
        ],
        "tasks": tasks,
        "recipes": [
            _recipe(family, task, variant, parts)
            for (family, task), variants in RECIPES.items()
            for variant, parts in variants.items()
        ],
        "training": option_controls(Training.options(), NO_CONTROL),
    }


def _task(name: str) -> dict[str, Any]:
    task = TASKS[name].make()
    return {
        "name": name,
        "title": in_all_languages(task_title(name)),
        "help": in_all_languages(task.help),
        "families": task.families,
        "task_options": option_controls(task.options()),
        "chance": task.chance,
    }


def _recipe(family: str, task: str, variant: str, parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "family": family,
        "task": task,
        "variant": variant,
        "title": in_all_languages(variant_title(variant)),
        "goal": parts.get("goal", SOLVED),
        "why": in_all_languages(parts["why"]) if "why" in parts else None,
        **{part: parts.get(part, {}) for part in ("model", "task_options", "training")},
    }


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
        "task_options": option_controls(task.options()),
        "chance": task.chance,
        "example": task.say(example.source[0, : example.source_lengths[0]].tolist()),
    }


def _row(task: CustomTask, index: int) -> dict[str, str]:
    example = task.examples(torch.tensor([index]))
    source = example.source[0, : example.source_lengths[0]].tolist()
    return {"problem": task.say(source), "answer": str(task.answer_text(source, example))}
