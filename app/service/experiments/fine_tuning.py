"""Fine-tuning against training from scratch: accuracy by the number of labelled sentences.

`python -m app.service.experiments.fine_tuning` trains the models again and writes `static/runs/fine-tuning.json`.
Every seed has its own pretraining, labels and initial head; the two runs that are compared share labels and seed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, cast

import numpy as np
import torch

import core
from app.figures.fine_tuning import accuracy_by_labels
from app.paths import STATIC
from app.service.figure_payload import pack_figures
from core.runs.recipes.fine_tuning import TASK, TUNING, fine_tuned, pretraining
from core.runs.run import Run
from core.runs.transfer import TransferRecipe

PATH = STATIC / "runs/fine-tuning.json"
LABELS = (8, 16, 32, 64, 128, 256)
SEEDS = (0, 1, 2, 3, 4)
METHODS = ("tuned", "scratch")
EVALUATION_PROBLEMS = 2000


def train_run(run: Run) -> Run:
    for _ in run.train():
        pass
    return run


def accuracy(run: Run) -> float:
    """Share of correct tags, on sentences of neither training set."""
    return round(run.evaluate(EVALUATION_PROBLEMS).accuracy, 6)


def compare(pretrained: Run, labels: int) -> dict[str, tuple[str, float]]:
    """Key and accuracy of the fine-tuned run and of the one from scratch, by method."""
    tuned = fine_tuned(pretrained, labels)
    recipe = cast(TransferRecipe, tuned.recipe)
    runs = {"tuned": tuned, "scratch": Run(recipe.from_scratch, tuned.seed)}
    return {name: (run.key, accuracy(train_run(run))) for name, run in runs.items()}


def measure(seed: int) -> dict[str, Any]:
    pretrained = train_run(Run(pretraining(), seed))
    results = [compare(pretrained, labels) for labels in LABELS]
    by_method = {
        method: {
            "keys": [result[method][0] for result in results],
            "accuracy": [result[method][1] for result in results],
        }
        for method in METHODS
    }
    return {"seed": seed, "pretrained": pretrained.key, **by_method}


def platform_facts() -> dict[str, str]:
    """The release of torch and the processor: where both are the same, a run is the same to the last bit."""
    return {"torch": torch.__version__, "processor": torch.cpu.get_capabilities().get("cpu_name", "")}


@lru_cache(maxsize=1)
def comparison() -> dict[str, Any]:
    """The stored results."""
    return json.loads(PATH.read_text("utf-8"))


@lru_cache(maxsize=1)
def comparison_figure() -> bytes:
    facts = comparison()
    accuracies = {method: np.array(facts[method]["accuracy"], np.float32) for method in METHODS}
    figure = accuracy_by_labels(facts["labels"], facts["seeds"], accuracies, facts["evaluated_on"])
    return pack_figures({"accuracy": figure}, {name: facts[name] for name in ("first_steps", "steps")})


def main() -> None:
    torch.set_num_threads(1)
    results = []
    for seed in SEEDS:
        results.append(measure(seed))
        accuracies = zip(LABELS, *(results[-1][method]["accuracy"] for method in METHODS), strict=True)
        summary = ", ".join(f"{n}: {tuned:.1%} / {scratch:.1%}" for n, tuned, scratch in accuracies)
        print(f"seed {seed}, labels: fine-tuned / from scratch  {summary}", flush=True)
    save_results(results)


def save_results(results: list[dict[str, Any]]) -> None:
    recipe = pretraining()
    facts = {
        "family": recipe.family,
        "first_task": recipe.task.name,
        "task": TASK,
        "first_steps": recipe.training.steps,
        "steps": TUNING["steps"],
        "evaluated_on": EVALUATION_PROBLEMS,
        "chance": round(core.task(TASK).chance, 6),
        "measured_with": platform_facts(),
        "labels": list(LABELS),
        "seeds": [result["seed"] for result in results],
        "pretrained": [result["pretrained"] for result in results],
    }
    by_method = {
        method: {part: [result[method][part] for result in results] for part in ("keys", "accuracy")}
        for method in METHODS
    }
    PATH.write_text(json.dumps(facts | by_method, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
