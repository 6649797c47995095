"""Recipes: model, task and training options known to work together, and some known to fail, with the reason.

`recipe.py` has the class, `registry.py` the look-up by name, `synthetic.py` and `language.py` the registry's entries,
`fine_tuning.py` pretraining followed by fine-tuning.
"""

from core.runs.recipes.recipe import SOLVED, Recipe, make_recipe
from core.runs.recipes.registry import RECIPES, as_recipe, recipe

__all__ = ["RECIPES", "SOLVED", "Recipe", "as_recipe", "make_recipe", "recipe"]
