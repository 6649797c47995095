"""What can be trained: families, tasks and recipes, with all their options, as the page's controls need them."""

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
from core.messages import verbatim
from core.runs.recipes import RECIPES, SOLVED
from core.tasks import TASKS
from core.tasks.custom.tasks import CustomTask
from core.training.options import Training

MAIN = (  # what a recipe is mostly about, in the order in which it is shown
    "n_layers", "n_heads", "d_model", "d_hidden", "cell", "attention", "position", "causal", "forget_bias",
    "min_len", "max_len", "n_symbols",
    "steps", "batch_size", "lr", "schedule", "curriculum", "samples",
)  # fmt: skip
EXPERT = ("points", "piecewise")  # an option that has no simple control, and the choice that needs it


def options_of(options: Iterable[Option], left_out: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The main ones first, in their order; then the others in their own."""
    kept = [option for option in options if option.name not in left_out]
    kept.sort(key=lambda option: MAIN.index(option.name) if option.name in MAIN else len(MAIN))
    return [{**control(_simple(option)), "main": option.name in MAIN} for option in kept]


def _simple(option: Option) -> Option:
    return replace(option, choices={name: text for name, text in option.choices.items() if name not in EXPERT})


@lru_cache(maxsize=1)
def menu() -> dict[str, Any]:
    tasks = [_task(name) for name in TASKS]
    return {
        "families": [
            {
                "name": name,
                "title": in_all_languages(verbatim(family_title(name))),
                "options": options_of(config.options(), FROM_TASK),
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
        "training": options_of(Training.options(), EXPERT),
    }


def _task(name: str) -> dict[str, Any]:
    task = TASKS[name].make()
    return {
        "name": name,
        "title": in_all_languages(task_title(name)),
        "help": in_all_languages(task.help),
        "families": task.families,
        "task_options": options_of(task.options()),
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
    """How somebody's file was read."""
    data, examples = task.data, task.evaluation(1)
    held_out = int(data.held_out.sum())
    rows = len(data.problems.lengths)
    first = [_row(task, index) for index in range(min(5, rows))]
    return {
        "kind": task.name,
        "title": in_all_languages(task_title(task.name)),
        "help": in_all_languages(task.help),
        "digest": task.content.digest,
        "ending": task.content.ending,
        "rows": rows,
        "held_out": held_out,
        "longest": task.longest,
        "first": first,
        "vocabulary": {"size": len(data.tokens), "tokens": data.tokens[:200]},
        "labels": data.labels[:200],
        "families": task.families,
        "task_options": options_of(task.options()),
        "chance": task.chance,
        "example": task.say(examples.source[0, : examples.source_lengths[0]].tolist()),
    }


def _row(task: CustomTask, index: int) -> dict[str, str]:
    one = task.examples(torch.tensor([index]))
    source = one.source[0, : one.source_lengths[0]].tolist()
    return {"problem": task.say(source), "answer": str(task.answer_text(source, one))}
