"""Recipes: model, task and training options that are known to work together, and some known not to, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.config.families import Config
from core.errors import ConfigError, unknown_name
from core.messages import Text
from core.models import configure
from core.runs.recipes.language import LANGUAGE
from core.runs.recipes.synthetic import ALGORITHMS, Parts
from core.tasks import Task, task
from core.training.options import Training

SOLVED = 0.99
RECIPES: dict[tuple[str, str], dict[str, Parts]] = {**ALGORITHMS, **LANGUAGE}


@dataclass(frozen=True)
class Recipe:
    """What decides a run, together with its seed."""

    model: Config
    task: Task
    training: Training
    why: Text | None = None  # for those meant to fail: what goes wrong
    goal: float = SOLVED  # the held-out accuracy from which on the task counts as solved

    @property
    def family(self) -> str:
        return self.model.family

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": {"family": self.family, **self.model.to_stored_dict()},
            "task": {"name": self.task.name, **self.task.to_dict()},
            "training": self.training.to_dict(),
        }


def make_recipe(
    family: str,
    name: str,
    *,
    model: dict[str, Any] | None = None,
    task_options: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    why: Text | None = None,
    goal: float = SOLVED,
) -> Recipe:
    """A recipe from options; what the task needs of the model (vocabulary, labels, head) is filled in."""
    problem = task(name, **(task_options or {}))
    own = dict(model or {})
    needed = problem.model_options(family, own.pop("head", None))
    return Recipe(configure(family, **{**needed, **own}), problem, Training.make(**(training or {})), why, goal)


def recipe_from_dict(facts: dict[str, Any]) -> Recipe:
    """The inverse of `Recipe.to_dict`; every option is checked again."""
    model, problem = dict(facts["model"]), dict(facts["task"])
    return Recipe(
        configure(model.pop("family"), **model),
        task(problem.pop("name"), **problem),
        Training.make(**facts["training"]),
    )


def recipe(family: str, name: str | None = None, variant: str | None = None) -> Recipe:
    """`recipe("gpt", "induction")` or `recipe("gpt/induction")`: the recipe for a family on a task.

    A variant, or a third part of the name, asks for another than the default, also for ones meant to fail.
    """
    parts = "/".join(str(part) for part in (family, name, variant) if part is not None).split("/")
    variant = parts.pop() if len(parts) == 3 else "default"
    pair = "/".join(parts)
    known = RECIPES.get(tuple(parts))
    if known is None:
        raise unknown_name("recipe", pair, Text("there is no such recipe."), map("/".join, RECIPES))
    if variant not in known:
        raise unknown_name("variant", variant, Text("{pair} has no such variant.", pair=pair), known)
    return make_recipe(*parts, **known[variant])


def as_recipe(wanted: Recipe | str) -> Recipe:
    """A recipe as it is, or the one of this name."""
    if isinstance(wanted, str):
        return recipe(wanted)
    if not isinstance(wanted, Recipe):
        raise ConfigError(
            "recipe",
            wanted,
            Text("that is not a recipe."),
            Text(
                'Use its name, or core.recipe("gpt", "induction").',
            ),
        )
    return wanted
