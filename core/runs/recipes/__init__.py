"""Recipes: model, task and training options known to work together, and some known to fail, with the reason.

`recipe.py` has the class and the look-up by name; the other files are the registry's entries.
"""

from core.runs.recipes.recipe import RECIPES, SOLVED, Recipe, as_recipe, make_recipe, recipe, recipe_from_dict

__all__ = ["RECIPES", "SOLVED", "Recipe", "as_recipe", "make_recipe", "recipe", "recipe_from_dict"]
