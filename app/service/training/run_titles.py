"""What a run is called: its family and task, and what sets it apart from the recipe everybody begins with."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from app.service.build.option_titles import NAMES
from app.service.training.requests import SIZES_FROM_TASK
from app.service.training.titles import family_title, task_title, variant_title
from core import Text
from core.models import configure
from core.runs.fork import Forked
from core.runs.recipes import RECIPES, Recipe, recipe
from core.training.options import Training

MOST_NAMED = 3  # options
Options = dict[str, Any]


def run_title(made_of: Recipe, seed: int) -> Text:
    task, marks = task_title(made_of.task.name), run_marks(made_of)
    family = family_title(made_of.family)
    return Text(
        ", ".join([f"{family} on {task.en}", *(mark.en for mark in marks), f"seed {seed}"]),
        "，".join([f"{family} · {task.zh}", *(mark.zh for mark in marks), f"种子 {seed}"]),
    )


def run_lead(made_of: Recipe, seed: int, accuracy: float, made: int) -> Text:
    """In one sentence, what came of it."""
    title, steps = run_title(made_of, seed), made_of.training.steps
    of_en, of_zh = ("", "") if made >= steps else (f" of {steps:,}", f"（共 {steps:,} 步）")
    return Text(
        f"{title.en}: {100 * accuracy:.1f} % on held-out problems at step {made:,}{of_en}.",
        f"{title.zh}：第 {made:,} 步{of_zh}时，留出题的准确率为 {accuracy:.1%}。",
    )


def run_marks(made_of: Recipe) -> list[Text]:
    """The variant it is nearest to, unless that is the recommended one; the options that differ from it; of a fork,
    where it begins."""
    variant, changed = _nearest(made_of)
    marks = [] if variant in (None, "default") else [variant_title(variant)]
    marks += [_told(name, value) for name, value in list(changed.items())[:MOST_NAMED]]
    if len(changed) > MOST_NAMED:
        more = len(changed) - MOST_NAMED
        marks.append(Text(f"{more} more", f"另 {more} 项"))
    if isinstance(made_of, Forked):
        step = made_of.origin.step
        marks.append(Text(f"fork at step {step:,}", f"第 {step:,} 步的分支"))
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
    knobs = {option.name: option.default for option in made_of.task.options()}
    return _flat(configure(made_of.family, **needed).to_dict(), Training.make().to_dict(), knobs)


def _options(made_of: Recipe) -> Options:
    return _flat(made_of.model.to_dict(), made_of.training.to_dict(), made_of.task.to_dict())


def _flat(model: Options, training: Options, knobs: Options) -> Options:
    """Without what follows from the task, and without a file's text."""
    model = {name: value for name, value in model.items() if name not in SIZES_FROM_TASK}
    return {name: value for name, value in {**model, **training, **knobs}.items() if name in NAMES}


def _told(name: str, value: Any) -> Text:
    en, zh = NAMES[name]
    if isinstance(value, bool):
        return Text(f"{en} {'on' if value else 'off'}", f"{zh}：{'开' if value else '关'}")
    if value is None:
        return Text(f"{en} automatic", f"{zh}：自动")
    said = f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    return Text(f"{en} {said}", f"{zh} {said}")
