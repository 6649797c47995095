"""Length extrapolation: the same model trained with each position scheme, evaluated beyond its training lengths.

`python -m app.service.experiments.extrapolation [scheme …]` trains the models again and writes
`static/runs/positions-by-length.json`. The same recipes and seeds give the same numbers.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from functools import lru_cache
from typing import Any, cast

import torch

import core
from app.paths import STATIC
from core.config.families import TransformerConfig
from core.runs.recipes import RECIPES, Recipe
from core.runs.run import Run

PATH = STATIC / "runs/positions-by-length.json"
FAMILY, TASK = "transformer", "copy"
SCHEMES = ("rope", "alibi", "t5", "sinusoidal", "learned", "none")
LENGTHS = range(4, 25)
SEEDS = (0, 1, 2)
EVALUATION_PROBLEMS = 256


def recipe_for_scheme(scheme: str) -> Recipe:
    """The recipe with the most training steps, with its position scheme replaced: all else is the same for all."""
    variants = [core.recipe(FAMILY, TASK, variant) for variant in RECIPES[FAMILY, TASK]]
    slowest = max((recipe for recipe in variants if recipe.why is None), key=lambda recipe: recipe.training.steps)
    return dataclasses.replace(slowest, model=dataclasses.replace(_config(slowest), position=scheme))


def _config(recipe: Recipe) -> TransformerConfig:
    return cast(TransformerConfig, recipe.model)


def accuracies(run: Run, lengths: tuple[int, ...] = tuple(LENGTHS)) -> list[float]:
    """Held-out accuracy at each length: share of correct tokens in free generation, end token included."""
    return [round(run.evaluate(EVALUATION_PROBLEMS, length=length).accuracy, 6) for length in lengths]


def train_run(recipe: Recipe, seed: int) -> Run:
    run = Run(recipe, seed)
    for _ in run.train():
        pass
    return run


def measure(scheme: str) -> dict[str, Any]:
    recipe = recipe_for_scheme(scheme)
    runs = [train_run(recipe, seed) for seed in SEEDS]
    return {
        "scheme": scheme,
        "steps": recipe.training.steps,
        "heads": _config(recipe).n_heads,
        "keys": [run.key for run in runs],
        "accuracy": [accuracies(run) for run in runs],  # (seed, length)
    }


@lru_cache(maxsize=1)
def comparison() -> dict[str, Any]:
    """The stored results."""
    return json.loads(PATH.read_text("utf-8"))


def main() -> None:
    """Measure all schemes, or those named on the command line; the stored results of the others stay."""
    torch.set_num_threads(1)
    results = {result["scheme"]: result for result in comparison()["schemes"]} if PATH.exists() else {}
    for scheme in sys.argv[1:] or SCHEMES:
        results[scheme] = measure(scheme)
        save_results([results[scheme] for scheme in SCHEMES if scheme in results])
        ends = [f"{values[0]:.1%} … {values[-1]:.1%}" for values in results[scheme]["accuracy"]]
        print(f"{scheme}: {'; '.join(ends)}", flush=True)


def save_results(results: list[dict[str, Any]]) -> None:
    task_options = core.recipe(FAMILY, TASK).task.to_dict()
    facts = {
        "family": FAMILY,
        "task": TASK,
        "trained_on": [task_options["min_len"], task_options["max_len"]],
        "lengths": list(LENGTHS),
        "seeds": list(SEEDS),
        "evaluated_on": EVALUATION_PROBLEMS,
        "torch": torch.__version__,
        "schemes": results,
    }
    PATH.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
