"""The class of recipes: model, task and training options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.config.families import Config
from core.models import configure
from core.tasks import Task, task
from core.training.options import Training
from core.translatable import Text

SOLVED = 0.99

# Keyword arguments of `make_recipe`: model, task_options, training; why, for recipes meant to fail; goal, if not 99 %.
RecipeOptions = dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a run, together with its seed."""

    model: Config
    task: Task
    training: Training
    why: Text | None = None  # for recipes meant to fail: the reason
    goal: float = SOLVED  # the held-out accuracy from which on the task counts as solved

    @property
    def family(self) -> str:
        return self.model.family

    def to_dict(self) -> dict[str, Any]:
        """As JSON stores it, without `why` and `goal`, which do not influence the run."""
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
    """A recipe of a family on the task `name`; options the task requires of the model are filled in."""
    problem = task(name, **(task_options or {}))
    model_options = dict(model or {})
    required = problem.model_options(family, model_options.pop("head", None))
    config = configure(family, **{**required, **model_options})
    return Recipe(config, problem, Training.make(**(training or {})), why, goal)
