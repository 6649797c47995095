"""The same model trained with each position scheme, and how far beyond its training lengths it goes on being right.

`python -m app.service.experiments.extrapolation` trains them again and writes `static/runs/positions-by-length.json`. Same recipes and
seeds, same numbers.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

import core
from core.runs.recipes import RECIPES, Recipe
from core.runs.run import Run

PATH = Path(__file__).resolve().parents[3] / "static/runs/positions-by-length.json"
FAMILY, TASK = "transformer", "copy"
SCHEMES = ("rope", "alibi", "t5", "sinusoidal", "learned", "none")
LENGTHS = range(4, 25)
SEEDS = (0, 1, 2)
EVALUATED_ON = 256


def recipe_of(scheme: str) -> Recipe:
    """The recipe of the scheme that takes longest to learn, with its scheme exchanged: all else is the same for all."""
    variants = [core.recipe(FAMILY, TASK, variant) for variant in RECIPES[FAMILY, TASK]]
    slowest = max((recipe for recipe in variants if recipe.why is None), key=lambda recipe: recipe.training.steps)
    return dataclasses.replace(slowest, model=dataclasses.replace(slowest.model, position=scheme))


def accuracies(run: Run, lengths: tuple[int, ...] = tuple(LENGTHS)) -> list[float]:
    """Held-out accuracy at each length: right tokens among those the model writes by itself, end token included."""
    return [round(run.evaluate(EVALUATED_ON, length=length).accuracy, 6) for length in lengths]


def trained(recipe: Recipe, seed: int) -> Run:
    run = Run(recipe, seed)
    for _ in run.train():
        pass
    return run


def measure(scheme: str) -> dict[str, Any]:
    recipe = recipe_of(scheme)
    runs = [trained(recipe, seed) for seed in SEEDS]
    return {
        "scheme": scheme,
        "steps": recipe.training.steps,
        "heads": recipe.model.n_heads,
        "keys": [run.key for run in runs],
        "accuracy": [accuracies(run) for run in runs],  # (seed, length)
    }


@lru_cache(maxsize=1)
def comparison() -> dict[str, Any]:
    """What the last `python -m app.service.experiments.extrapolation` found."""
    return json.loads(PATH.read_text("utf-8"))


def main() -> None:
    """All schemes, or those named; the others keep what was measured before."""
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or list(SCHEMES)
    kept = {one["scheme"]: one for one in comparison()["schemes"]} if PATH.exists() else {}
    for scheme in chosen:
        kept[scheme] = found = measure(scheme)
        write([kept[scheme] for scheme in SCHEMES if scheme in kept])
        ends = [f"{values[0]:.1%} … {values[-1]:.1%}" for values in found["accuracy"]]
        print(f"{scheme}: {'; '.join(ends)}", flush=True)


def write(found: list[dict[str, Any]]) -> None:
    task = core.recipe(FAMILY, TASK).task
    facts = {
        "family": FAMILY,
        "task": TASK,
        "trained_on": [task.min_len, task.max_len],
        "lengths": list(LENGTHS),
        "seeds": list(SEEDS),
        "evaluated_on": EVALUATED_ON,
        "torch": torch.__version__,
        "schemes": found,
    }
    PATH.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
