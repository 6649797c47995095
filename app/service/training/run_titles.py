"""What a run is called: its family and task, and what sets it apart from the recipe everybody begins with."""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any

from app.service.build.option_titles import NAMES
from app.service.training.requests import SIZES_FROM_TASK
from app.service.training.titles import family_title, task_title, variant_title
from core import Text
from core.models import configure
from core.runs.fork import ForkRecipe
from core.runs.recipes import RECIPES, Recipe, recipe
from core.training.options import Training

MOST_NAMED = 3  # options
Options = dict[str, Any]


def run_title(made_of: Recipe, seed: int) -> Text:
    task, marks = task_title(made_of.task.name), run_marks(made_of)
    family = family_title(made_of.family)
    last = (
        Text("{marks}, seed {seed}", marks=reduce(_with_mark, marks), seed=seed)
        if marks
        else Text("seed {seed}", seed=seed)
    )
    return Text("{family} on {task}, {marks}", family=family, task=task, marks=last)


def _with_mark(marks: Text, mark: Text) -> Text:
    return Text("{marks}, {mark}", marks=marks, mark=mark)


def run_lead(made_of: Recipe, seed: int, accuracy: float, made: int) -> Text:
    """In one sentence, what came of it."""
    title, steps = run_title(made_of, seed), made_of.training.steps
    facts = {"title": title, "percent": 100 * accuracy, "step": made}
    if made >= steps:
        return Text("{title}: {percent:.1f} % on held-out problems at step {step:,}.", **facts)
    return Text("{title}: {percent:.1f} % on held-out problems at step {step:,} of {steps:,}.", steps=steps, **facts)


def run_marks(made_of: Recipe) -> list[Text]:
    """The variant it is nearest to, unless that is the recommended one; the options that differ from it; of a fork,
    where it begins."""
    variant, changed = _nearest(made_of)
    marks = [] if variant in (None, "default") else [variant_title(variant)]
    marks += [_told(name, value) for name, value in list(changed.items())[:MOST_NAMED]]
    if len(changed) > MOST_NAMED:
        more = len(changed) - MOST_NAMED
        marks.append(Text("{more} more", more=more))
    if isinstance(made_of, ForkRecipe):
        step = made_of.origin.step
        marks.append(Text("fork at step {step:,}", step=step))
    return marks


def _nearest(made_of: Recipe) -> tuple[str | None, Options]:
    here = _options(made_of)
    known: dict[str | None, Options] = _variants(made_of.family, made_of.task.name) or {None: _defaults(made_of)}
    changed = {
        variant: {name: value for name, value in here.items() if value != usual.get(name)}
        for variant, usual in known.items()
    }
    nearest = min(changed, key=lambda variant: len(changed[variant]))
    return nearest, changed[nearest]


@lru_cache(maxsize=256)
def _variants(family: str, task: str) -> dict[str, Options]:
    return {variant: _options(recipe(family, task, variant)) for variant in RECIPES.get((family, task), {})}


def _defaults(made_of: Recipe) -> Options:
    """Of a pair that nobody has tuned."""
    needed = made_of.task.model_options(made_of.family, getattr(made_of.model, "head", None))
    task_options = {option.name: option.default for option in made_of.task.options()}
    return _flat(configure(made_of.family, **needed).to_dict(), Training.make().to_dict(), task_options)


def _options(made_of: Recipe) -> Options:
    return _flat(made_of.model.to_dict(), made_of.training.to_dict(), made_of.task.to_dict())


def _flat(model: Options, training: Options, task_options: Options) -> Options:
    """Without what follows from the task, and without a file's text."""
    model = {name: value for name, value in model.items() if name not in SIZES_FROM_TASK}
    return {name: value for name, value in {**model, **training, **task_options}.items() if name in NAMES}


def _told(name: str, value: Any) -> Text:
    option = NAMES[name]
    if isinstance(value, bool):
        return Text("{option} on", option=option) if value else Text("{option} off", option=option)
    if value is None:
        return Text("{option} automatic", option=option)
    said = f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    return Text("{option} {value}", option=option, value=said)
