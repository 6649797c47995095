"""The registry of recipes: `RECIPES` by family, task and variant, and their look-up by name, `recipe("gpt", "induction")`.

The entries are in `synthetic.py` and `language.py`; a `Recipe` (`recipe.py`) is a model, a task and training options.
"""

from __future__ import annotations

from core.errors import ConfigError, unknown_name
from core.runs.recipes.language import LANGUAGE_RECIPES
from core.runs.recipes.recipe import Recipe, RecipeOptions, make_recipe
from core.runs.recipes.synthetic import SYNTHETIC_RECIPES
from core.translatable import Text

RECIPES: dict[tuple[str, str], dict[str, RecipeOptions]] = {**SYNTHETIC_RECIPES, **LANGUAGE_RECIPES}


def recipe(family: str, name: str | None = None, variant: str | None = None) -> Recipe:
    """`recipe("gpt", "induction")` or `recipe("gpt/induction")`: the recipe of a family on a task.

    A variant, or a third part of the name, selects another than the default one, also one that is meant to fail.
    """
    parts = "/".join(str(part) for part in (family, name, variant) if part is not None).split("/")
    variant = parts.pop() if len(parts) == 3 else "default"
    pair = "/".join(parts)
    variants = RECIPES.get((parts[0], parts[1])) if len(parts) == 2 else None
    if variants is None:
        raise unknown_name("recipe", pair, Text("there is no such recipe."), map("/".join, RECIPES))
    if variant not in variants:
        raise unknown_name("variant", variant, Text("{pair} has no such variant.", pair=pair), variants)
    return make_recipe(*parts, **variants[variant])


def as_recipe(recipe_or_name: Recipe | str) -> Recipe:
    """A recipe unchanged, or the recipe of this name."""
    if isinstance(recipe_or_name, str):
        return recipe(recipe_or_name)
    if not isinstance(recipe_or_name, Recipe):
        raise ConfigError(
            "recipe",
            recipe_or_name,
            Text("that is not a recipe."),
            Text(
                'Use its name, or core.recipe("gpt", "induction").',
            ),
        )
    return recipe_or_name
