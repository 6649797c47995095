"""From the model on the Build tab to what is trained next (the state's `recipe`), and back."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from app.service.training.requests import FROM_TASK, TrainRequest, recipe_from_request
from core import Text
from core.config.families import Config
from core.errors import ConfigError
from core.runs.recipes import RECIPES

Options = dict[str, Any]


class RecipeChoice(BaseModel):
    """A recipe's variant, and the options that are not its own."""

    family: str = Field(max_length=40)
    task: str = Field(max_length=40)
    variant: str | None = Field(None, max_length=40)
    model: Options = {}
    task_options: Options = {}
    training: Options = {}
    seed: int | str = 0


def recipe_to_train(config: Config, before: RecipeChoice) -> RecipeChoice:
    """The model with the task that was chosen before if its family has a recipe for it, else with the first that it has.

    What follows from the task (vocabulary, length, head) is left to it.
    """
    family = config.family
    tasks = [task for of, task in RECIPES if of == family]
    if not tasks:
        why = Text("no task here can be learned by it.")
        raise ConfigError("family", family, why, Text("Choose another family."))
    if before.task in tasks:
        chosen = before.model_copy(update={"family": family})
    else:
        chosen = RecipeChoice(family=family, task=tasks[0], seed=before.seed)
    variants = RECIPES[family, chosen.task]
    if before.family != family or chosen.variant not in variants:
        chosen = chosen.model_copy(update={"variant": next(iter(variants)), "training": {}})
    usual = variants[chosen.variant or next(iter(variants))].get("model", {})
    options = {
        option.name: getattr(config, option.name) for option in config.options() if option.name not in FROM_TASK
    }
    defaults = {option.name: usual.get(option.name, option.default) for option in config.options()}
    differing = {name: value for name, value in options.items() if value != defaults[name]}
    return chosen.model_copy(update={"model": differing})


def model_to_train(choice: RecipeChoice) -> Config:
    """The model of a recipe as it would be trained."""
    fields = choice.model_dump(exclude={"seed"})
    return recipe_from_request(TrainRequest(**fields)).model
