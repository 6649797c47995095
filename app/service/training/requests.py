"""From a request of the Train tab to a recipe that can be trained here, or a `ConfigError` that names the option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import core
from app.i18n import in_all_languages
from app.service.training.limits import check_memory, check_samples, check_seconds
from app.service.training.uploaded_files import task_from_file
from core import ConfigError, Text
from core.analysis import costs
from core.config.families import CONFIGS, Config, TransformerConfig
from core.errors import unknown_name
from core.jobs.worker.probe import stream_prompt
from core.layers.task_heads.heads import IGNORE
from core.models import configure
from core.runs.fork import ForkRecipe
from core.runs.recipes import RECIPES, Recipe, make_recipe
from core.tasks import TASKS, Task
from core.tasks.layouts import Examples
from core.training.options import Training

SIZES_FROM_TASK = ("vocab_size", "n_labels", "max_len")
FROM_TASK = (*SIZES_FROM_TASK, "head")  # options of the model that follow from the task; some allow several heads
FILE_TASKS = ("own text", "own pairs", "own labels", "own tags")
MAX_PARAMETERS = 10_000_000
PARTS = ("model", "task_options", "training")


@dataclass(frozen=True)
class TrainRequest:
    """What to train; options that are not given here are those of the recipe variant, or else the defaults."""

    family: str
    task: str
    variant: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    task_options: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    file: Mapping[str, str] | None = None  # name and text, or name and digest of a file sent before


def request_of_options(
    family: str, task: str, options: Mapping[str, Any], variant: str | None, seed: int
) -> TrainRequest:
    """A request whose options, of the model, the task or the training, are given together by name.

    Without a variant, that of the usual recipe, where there is one.
    """
    for option, name, names in (("family", family, CONFIGS), ("task", task, TASKS)):
        if name not in names:
            raise _unknown_choice(option, name, names)
    if variant is None and "default" in RECIPES.get((family, task), {}):
        variant = "default"
    known = {
        "task_options": [option.name for option in TASKS[task].make().options()],
        "model": [option.name for option in CONFIGS[family].options()],
        "training": [option.name for option in Training.options()],
    }
    parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, value in options.items():
        part = next((part for part, names in known.items() if name in names), None)
        if part is None:
            names = [one for options in known.values() for one in options if one not in SIZES_FROM_TASK]
            raise unknown_name(name, value, Text("no part of the recipe has this option."), names, name)
        parts[part][name] = value
    return TrainRequest(family, task, variant, **parts, seed=seed)


def recipe_from_request(request: TrainRequest) -> Recipe:
    """The recipe, with all options checked and within the limits (`check_size`)."""
    if request.family not in CONFIGS:
        raise _unknown_choice("family", request.family, CONFIGS)
    check_no_task_sizes(request.model)
    recipe = _file_recipe(request) if request.task in FILE_TASKS else _named_recipe(request)
    check_size(recipe)
    return recipe


def _named_recipe(request: TrainRequest) -> Recipe:
    if request.task not in TASKS:
        raise _unknown_choice("task", request.task, TASKS)
    base: Mapping[str, Any] = {}
    if request.variant is not None:
        core.recipe(request.family, request.task, request.variant)  # raises for an unknown variant
        base = RECIPES[request.family, request.task][request.variant]
    options = {part: {**base.get(part, {}), **getattr(request, part)} for part in PARTS}
    task = TASKS[request.task].make(**options["task_options"])
    _check_family(task, request.family)
    return make_recipe(
        request.family,
        request.task,
        model=options["model"],
        task_options=options["task_options"],
        training=options["training"],
        **{name: base[name] for name in ("why", "goal") if name in base},
    )


def _file_recipe(request: TrainRequest) -> Recipe:
    if request.file is None:
        raise ConfigError(
            "file",
            request.task,
            Text("this task is made from a file."),
            Text("Give a .txt, .csv, .tsv or .jsonl file."),
        )
    task = task_from_file(request.file, dict(request.task_options))
    _check_family(task, request.family)
    model_options = dict(request.model)
    needed = task.model_options(request.family, model_options.pop("head", None))
    return Recipe(configure(request.family, **{**needed, **model_options}), task, Training.make(**request.training))


def check_no_task_sizes(model: Mapping[str, Any]) -> None:
    """Options of the model that the task decides must not be given."""
    for name in SIZES_FROM_TASK:
        if name in model:
            raise ConfigError(
                name,
                model[name],
                Text("the task decides it."),
                Text("Leave it out."),
            )


def _check_family(task: Task, family: str) -> None:
    if family not in task.families:
        raise ConfigError(
            "family",
            family,
            Text("it cannot do the task {name}.", name=task.name),
            Text("Choose one of: {families}.", families=task.families),
        )


def _unknown_choice(option: str, value: str, choices: Mapping[str, Any]) -> ConfigError:
    listed = ", ".join(choices)
    return ConfigError(
        option,
        value[:80],
        Text("there is no such choice."),
        Text("Choose one of: {listed}.", listed=listed),
    )


def check_size(recipe: Recipe) -> None:
    """A `ConfigError` if training would be too slow or too large here; the model is not built for it."""
    parameters = parameter_count(recipe)
    width = "d_model" if isinstance(recipe.model, TransformerConfig) else "d_hidden"
    if parameters > MAX_PARAMETERS:
        raise ConfigError(
            width,
            getattr(recipe.model, width),
            Text(
                "with {n_layers} layers the model would have {parameters:,} parameters; at most "
                "{most_parameters:,} are trained here.",
                n_layers=recipe.model.n_layers,
                parameters=parameters,
                most_parameters=MAX_PARAMETERS,
            ),
            Text("Use a smaller width or fewer layers."),
        )
    check_samples(recipe)
    check_seconds(recipe, parameters)
    check_memory(recipe)


def parameter_count(recipe: Recipe) -> int:
    return _parameter_count(recipe.model)


@lru_cache(maxsize=256)
def _parameter_count(config: Config) -> int:
    return costs.parameter_count(config)


def accuracy_goal(recipe: Recipe) -> float:
    """The held-out accuracy at which the task counts as solved by this family."""
    if isinstance(recipe, ForkRecipe) or recipe.task.name not in TASKS:
        return recipe.goal
    usual = RECIPES.get((recipe.family, recipe.task.name), {})
    return next((parts["goal"] for parts in usual.values() if "goal" in parts), recipe.goal)


def option_differences(recipe: Recipe, usual: Recipe) -> list[dict[str, Any]]:
    """The options of a recipe that differ from another one, without those that follow from the task."""
    differences = []
    for part, here, there in (
        ("model", recipe.model.to_dict(), usual.model.to_dict()),
        ("task_options", recipe.task.to_dict(), usual.task.to_dict()),
        ("training", recipe.training.to_dict(), usual.training.to_dict()),
    ):
        for name in here:
            if here[name] != there.get(name) and not (part == "model" and name in FROM_TASK):
                differences.append({"part": part, "option": name, "recipe": there.get(name), "here": here[name]})
    return differences


def example_problem(recipe: Recipe) -> dict[str, Any]:
    """The first held-out problem with its correct answer and, where there is one, the ideal alignment."""
    task = recipe.task
    example = task.evaluation(1)
    source = example.source[0, : example.source_lengths[0]].tolist()
    target_lengths = example.target_lengths
    is_sequence = target_lengths is not None
    target = example.target[0, : target_lengths[0]].tolist() if target_lengths is not None else []
    answer_text = in_all_languages(task.answer_text(source, example))
    inputs = source
    if task.forms == ("stream",) and source:
        inputs, outputs = _split_stream(task, example, source)
        answer = dict.fromkeys(answer_text, task.show(outputs))
    elif is_sequence:
        answer = dict.fromkeys(answer_text, task.show(target))
    elif "tags" in task.forms and "label" not in task.forms:
        answer = {language: words.split(" ") for language, words in answer_text.items()}
    else:
        answer = {language: [words] for language, words in answer_text.items()}
    return {
        "source": task.show(inputs),
        "answer": answer,
        "form": task.forms[0],
        "alignment": task.alignment(source, target) if is_sequence else None,
        "text": {"problem": task.say(source), "answer": answer_text},
    }


def _split_stream(task: Task, example: Examples, source: list[int]) -> tuple[list[int], list[int]]:
    """A problem of a language-model task as the tokens that are given and those that are to be predicted."""
    batch = task.lay_out(example, "stream")
    target = batch.target[0].tolist()
    return stream_prompt(batch.inputs[0][0].tolist(), target, source), [token for token in target if token != IGNORE]


def check_seed(seed: int) -> int:
    if not 0 <= seed < 2**31:
        raise ConfigError("seed", seed, Text("it is out of range."), Text("Use 0 or more."))
    return seed


__all__ = [
    "TrainRequest",
    "accuracy_goal",
    "check_no_task_sizes",
    "check_seed",
    "check_size",
    "example_problem",
    "option_differences",
    "parameter_count",
    "recipe_from_request",
    "request_of_options",
]
