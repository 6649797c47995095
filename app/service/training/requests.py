"""From what somebody chose on the Train tab to a recipe that can be trained here, or to one sentence why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app.i18n import in_all_languages
from app.service.training.limits import check_memory, check_samples, check_seconds
from core import ConfigError, Text
from core.analysis import costs
from core.config.families import CONFIGS, TransformerConfig
from core.jobs.probe import given_of
from core.layers.task_heads.heads import IGNORE
from core.models import configure
from core.runs.fork import ForkRecipe
from core.runs.recipes import RECIPES, Recipe, make_recipe, recipe
from core.tasks import TASKS, Task
from core.tasks.custom.files import Content
from core.tasks.custom.tasks import CustomTask, custom_task
from core.tasks.layouts import Examples
from core.training.options import Training

SIZES_FROM_TASK = ("vocab_size", "n_labels", "max_len")
FROM_TASK = (*SIZES_FROM_TASK, "head")  # model options that follow from the task; there may be a choice of heads
OWN = ("own text", "own pairs", "own labels", "own tags")
MOST_FILE_BYTES = 5_000_000
FILES_KEPT = 8
MOST_PARAMETERS = 10_000_000
PARTS = ("model", "task_options", "training")


@dataclass(frozen=True)
class Wish:
    """What somebody chose: `variant` says where the options come from that are not named here."""

    family: str
    task: str
    variant: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    task_options: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    file: Mapping[str, str] | None = None  # name and text, or name and digest of one that was read before


def recipe_of_wish(wish: Wish) -> Recipe:
    """Checked, and small enough to be trained while somebody watches."""
    if wish.family not in CONFIGS:
        raise _not_one_of("family", wish.family, CONFIGS)
    check_left_to_task(wish.model)
    chosen = _own_recipe(wish) if wish.task in OWN else _named_recipe(wish)
    check_size(chosen)
    return chosen


def _named_recipe(wish: Wish) -> Recipe:
    if wish.task not in TASKS:
        raise _not_one_of("task", wish.task, TASKS)
    base: Mapping[str, Any] = {}
    if wish.variant is not None:
        recipe(wish.family, wish.task, wish.variant)  # refuses what is not there
        base = RECIPES[wish.family, wish.task][wish.variant]
    options = {part: {**base.get(part, {}), **getattr(wish, part)} for part in PARTS}
    task = TASKS[wish.task].make(**options["task_options"])
    _check_met(task, wish.family)
    return make_recipe(wish.family, wish.task, **options, **{k: base[k] for k in ("why", "goal") if k in base})


def _own_recipe(wish: Wish) -> Recipe:
    if wish.file is None:
        raise ConfigError(
            "file",
            wish.task,
            Text("this task is made from a file."),
            Text("Give a .txt, .csv, .tsv or .jsonl file."),
        )
    task = own_task(wish.file, dict(wish.task_options))
    _check_met(task, wish.family)
    given = dict(wish.model)
    needed = task.model_options(wish.family, given.pop("head", None))
    return Recipe(configure(wish.family, **{**needed, **given}), task, Training.make(**wish.training))


def check_left_to_task(model: Mapping[str, Any]) -> None:
    for name in SIZES_FROM_TASK:
        if name in model:
            raise ConfigError(
                name,
                model[name],
                Text("the task decides it."),
                Text("Leave it out."),
            )


def _check_met(task: Task, family: str) -> None:
    if family not in task.families:
        raise ConfigError(
            "family",
            family,
            Text("it cannot do the task {name}.", name=task.name),
            Text("Choose one of: {families}.", families=task.families),
        )


def _not_one_of(option: str, value: str, known: Mapping[str, Any]) -> ConfigError:
    listed = ", ".join(known)
    return ConfigError(
        option,
        value[:80],
        Text("there is no such choice."),
        Text("Choose one of: {listed}.", listed=listed),
    )


# Own files

_files: dict[str, Content] = {}  # the last few, by digest: so that a file need not be sent with every question


def own_task(file: Mapping[str, str], task_options: dict[str, Any]) -> CustomTask:
    """The task that a file makes; read once for the same knobs."""
    name, text = file.get("name", "own.txt"), file.get("text")
    if text is None:
        content = _files.get(file.get("digest", ""))
        if content is None:
            raise ConfigError(
                "file",
                name[-80:],
                Text("the file is not here any more."),
                Text("Choose it again."),
            )
        text, name = content.text, f"{name.rpartition('.')[0]}.{content.ending}"
    if len(text.encode()) > MOST_FILE_BYTES:
        size, most = len(text.encode()) / 1e6, MOST_FILE_BYTES // 1_000_000
        raise ConfigError(
            "file",
            name[-80:],
            Text(
                "it has {size:.1f} MB; at most {most} MB can be used here.",
                size=size,
                most=most,
            ),
            Text("Use a part of it."),
        )
    task = _read(name, text, json.dumps(task_options, sort_keys=True))
    _files.pop(task.content.digest, None)
    _files[task.content.digest] = task.content
    for digest in list(_files)[:-FILES_KEPT]:
        _files.pop(digest, None)
    return task


@lru_cache(maxsize=FILES_KEPT)
def _read(name: str, text: str, task_options: str) -> CustomTask:
    """The knobs as JSON: whatever they are, they can be remembered, and refused by the task."""
    return custom_task(name, text.encode(), **json.loads(task_options))


# What is too large


def check_size(chosen: Recipe) -> None:
    """Refuse what would not move while somebody watches: counted, never built."""
    parameters = count(chosen)
    width = "d_model" if isinstance(chosen.model, TransformerConfig) else "d_hidden"
    if parameters > MOST_PARAMETERS:
        raise ConfigError(
            width,
            getattr(chosen.model, width),
            Text(
                "with {n_layers} layers the model would have {parameters:,} parameters; at most "
                "{most_parameters:,} are trained here.",
                n_layers=chosen.model.n_layers,
                parameters=parameters,
                most_parameters=MOST_PARAMETERS,
            ),
            Text("Use a smaller width or fewer layers."),
        )
    check_samples(chosen)
    check_seconds(chosen, parameters)
    check_memory(chosen)


def count(chosen: Recipe) -> int:
    return _counted(chosen.model)


@lru_cache(maxsize=256)
def _counted(config: Any) -> int:
    return costs.parameter_count(config)


def known_goal(chosen: Recipe) -> float:
    """The held-out accuracy from which on this task counts as solved by this family."""
    if isinstance(chosen, ForkRecipe) or chosen.task.name not in TASKS:
        return chosen.goal
    usual = RECIPES.get((chosen.family, chosen.task.name), {})
    return next((parts["goal"] for parts in usual.values() if "goal" in parts), chosen.goal)


def differences(chosen: Recipe, usual: Recipe) -> list[dict[str, Any]]:
    found = []
    for part, here, there in (
        ("model", chosen.model.to_dict(), usual.model.to_dict()),
        ("task_options", chosen.task.to_dict(), usual.task.to_dict()),
        ("training", chosen.training.to_dict(), usual.training.to_dict()),
    ):
        for name in here:
            if here[name] != there.get(name) and not (part == "model" and name in FROM_TASK):
                found.append({"part": part, "option": name, "recipe": there.get(name), "here": here[name]})
    return found


def example_of(chosen: Recipe) -> dict[str, Any]:
    """The first held-out problem, with its right answer and where there is one its ideal alignment."""
    task = chosen.task
    one = task.evaluation(1)
    source = one.source[0, : one.source_lengths[0]].tolist()
    sequence = one.target_lengths is not None
    target = one.target[0, : one.target_lengths[0]].tolist() if sequence else []
    said = in_all_languages(task.say_answer(source, one))
    given = source
    if task.forms == ("stream",) and source:
        given, asked = _as_read(task, one, source)
        answer = dict.fromkeys(said, task.show(asked))
    elif sequence:
        answer = dict.fromkeys(said, task.show(target))
    elif "tags" in task.forms and "label" not in task.forms:
        answer = {language: words.split(" ") for language, words in said.items()}
    else:
        answer = {language: [words] for language, words in said.items()}
    return {
        "source": task.show(given),
        "answer": answer,
        "form": task.forms[0],
        "alignment": task.alignment(source, target) if sequence else None,
        "text": {"problem": task.say(source), "answer": said},
    }


def _as_read(task: Task, one: Examples, source: list[int]) -> tuple[list[int], list[int]]:
    """What is given and what is asked for, where a stream itself decides that."""
    batch = task.lay_out(one, "stream")
    target = batch.target[0].tolist()
    return given_of(batch.inputs[0][0].tolist(), target, source), [token for token in target if token != IGNORE]


def check_seed(seed: int) -> int:
    if not 0 <= seed < 2**31:
        raise ConfigError("seed", seed, Text("it is out of range."), Text("Use 0 or more."))
    return seed


__all__ = ["Wish", "check_seed", "check_size", "count", "differences", "example_of", "own_task", "recipe_of_wish"]
