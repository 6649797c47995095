"""Title of a run: its family and task, and the options in which its recipe differs from the nearest known one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import core
from app.service.build.option_titles import OPTION_TITLES
from app.service.training.requests import SIZES_FROM_TASK
from app.service.training.titles import family_title, task_title, variant_title
from core import Text
from core.models import configure
from core.runs.fork import ForkRecipe
from core.runs.recipes import RECIPES, Recipe
from core.training.options import Training
from core.translatable import join_texts, verbatim

MAX_MARKS = 3  # changed options that are named
Options = dict[str, Any]


def run_title(recipe: Recipe, seed: int) -> Text:
    task, marks = task_title(recipe.task.name), run_marks(recipe)
    family = family_title(recipe.family)
    last = (
        Text("{marks}, seed {seed}", marks=reduce(_join_marks, marks), seed=seed)
        if marks
        else Text("seed {seed}", seed=seed)
    )
    return Text("{family} on {task}, {marks}", family=family, task=task, marks=last)


def _join_marks(marks: Text, mark: Text) -> Text:
    return Text("{marks}, {mark}", marks=marks, mark=mark)


def run_lead(recipe: Recipe, seed: int, accuracy: float, step: int) -> Text:
    """One sentence with the title and the held-out accuracy at this step."""
    title, steps = run_title(recipe, seed), recipe.training.steps
    values = {"title": title, "percent": 100 * accuracy, "step": step}
    if step >= steps:
        return Text("{title}: {percent:.1f} % on held-out problems at step {step:,}.", **values)
    return Text("{title}: {percent:.1f} % on held-out problems at step {step:,} of {steps:,}.", steps=steps, **values)


def run_marks(recipe: Recipe) -> list[Text]:
    """The nearest variant unless it is the default, the options that differ from it, and the step of a fork."""
    variant, changed = _nearest_variant(recipe)
    marks = [] if variant in (None, "default") else [variant_title(variant)]
    marks += [_option_mark(name, value) for name, value in list(changed.items())[:MAX_MARKS]]
    if len(changed) > MAX_MARKS:
        more = len(changed) - MAX_MARKS
        marks.append(Text("{more} more", more=more))
    if isinstance(recipe, ForkRecipe) and recipe.origin:
        step = recipe.origin.step
        marks.append(Text("fork at step {step:,}", step=step))
    return marks


def short_names(runs: Sequence[tuple[Recipe, int, str]]) -> list[Text]:
    """Of (recipe, seed, key): what tells runs apart, in few words: family and task, where they differ; what sets each apart
    from its recipe; its seed; the beginning of its key.
    """
    names: list[list[Text]] = [[] for _ in runs]

    def alike(index: int) -> list[int]:
        return [i for i, name in enumerate(names) if repr(name) == repr(names[index])]

    if len({recipe.family for recipe, *_ in runs}) > 1:
        names = [[verbatim(family_title(recipe.family))] for recipe, *_ in runs]
    if len({recipe.task.name for recipe, *_ in runs}) > 1:
        names = [[*name, task_title(recipe.task.name)] for name, (recipe, *_) in zip(names, runs, strict=True)]
    names = [[*name, *run_marks(recipe)] for name, (recipe, *_) in zip(names, runs, strict=True)]
    seeded = [any(runs[j][1] != runs[i][1] for j in alike(i)) for i in range(len(runs))]
    names = [
        [*name, Text("seed {seed}", seed=seed)] if add else name
        for name, add, (_, seed, _) in zip(names, seeded, runs, strict=True)
    ]
    keyed = [len(alike(i)) > 1 for i in range(len(runs))]
    names = [
        [*name, verbatim(key[:4])] if add else name for name, add, (*_, key) in zip(names, keyed, runs, strict=True)
    ]
    return [
        join_texts(name, " · ") if name else run_title(recipe, seed)
        for name, (recipe, seed, _) in zip(names, runs, strict=True)
    ]


def _nearest_variant(recipe: Recipe) -> tuple[str | None, Options]:
    """The variant of this family and task with the fewest different options, and those options.

    None, and the options that are not the defaults, if there is no recipe for them.
    """
    options = _options(recipe)
    known: dict[str | None, Options] = {**_variants(recipe.family, recipe.task.name)} or {None: _defaults(recipe)}
    changed = {
        variant: {name: value for name, value in options.items() if value != usual.get(name)}
        for variant, usual in known.items()
    }
    nearest = min(changed, key=lambda variant: len(changed[variant]))
    return nearest, changed[nearest]


@lru_cache(maxsize=256)
def _variants(family: str, task: str) -> dict[str, Options]:
    return {variant: _options(core.recipe(family, task, variant)) for variant in RECIPES.get((family, task), {})}


def _defaults(recipe: Recipe) -> Options:
    needed = recipe.task.model_options(recipe.family, getattr(recipe.model, "head", None))
    task_options = {option.name: option.default for option in recipe.task.options()}
    return _merge(configure(recipe.family, **needed).to_dict(), Training.make().to_dict(), task_options)


def _options(recipe: Recipe) -> Options:
    return _merge(recipe.model.to_dict(), recipe.training.to_dict(), recipe.task.to_dict())


def _merge(model: Options, training: Options, task_options: Options) -> Options:
    """All options that have a title, without those that follow from the task and without the text of a file."""
    model = {name: value for name, value in model.items() if name not in SIZES_FROM_TASK}
    return {name: value for name, value in {**model, **training, **task_options}.items() if name in OPTION_TITLES}


def _option_mark(name: str, value: Any) -> Text:
    option = OPTION_TITLES[name]
    if isinstance(value, bool):
        return Text("{option} on", option=option) if value else Text("{option} off", option=option)
    if value is None:
        return Text("{option} automatic", option=option)
    number = f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    return Text("{option} {value}", option=option, value=number)
