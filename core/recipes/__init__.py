"""Recipes: model, task and training options that are known to work together, and some known not to, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.config import Config
from core.models import configure
from core.options import ConfigError, Text
from core.recipes.book import ALGORITHMS, Parts
from core.recipes.language import LANGUAGE
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
            "model": {"family": self.family, **self.model.told()},
            "task": {"name": self.task.name, **self.task.to_dict()},
            "training": self.training.to_dict(),
        }


def make_recipe(
    family: str,
    name: str,
    *,
    model: dict[str, Any] | None = None,
    knobs: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    why: Text | None = None,
    goal: float = SOLVED,
) -> Recipe:
    """A recipe from options; what the task needs of the model (vocabulary, labels, head) is filled in."""
    problem = task(name, **(knobs or {}))
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


def recipe(family: str, name: str, variant: str = "default") -> Recipe:
    """The recipe for a family on a task; `variant` names others, also ones meant to fail."""
    known = RECIPES.get((family, name))
    if known is None:
        pairs = ", ".join(f"{f}/{t}" for f, t in RECIPES)
        raise ConfigError(
            "recipe",
            f"{family}/{name}",
            Text("there is no recipe for this pair.", "没有这一组合的配方。"),
            Text(f"Choose one of: {pairs}.", f"请选择其一：{pairs}。"),
        )
    if variant not in known:
        listed = ", ".join(known)
        raise ConfigError(
            "variant",
            variant,
            Text(f"{family}/{name} has no such variant.", f"{family}/{name} 没有这个变体。"),
            Text(f"Choose one of: {listed}.", f"请选择其一：{listed}。"),
        )
    return make_recipe(family, name, **known[variant])


__all__ = ["RECIPES", "Recipe", "make_recipe", "recipe", "recipe_from_dict"]
