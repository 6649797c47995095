"""Fine-tuned against from scratch: accuracy by the number of labelled sentences, from real runs.

`python -m app.service.experiments.fine_tuning` trains them again and writes `static/runs/fine-tuning.json`. Every seed has its own
pretraining, its own labels and its own fresh head; the two runs that are compared share labels and seed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

import core
from core.runs.recipes.fine_tuning import TASK, TUNING, fine_tuned, pretraining
from core.runs.run import Run

PATH = Path(__file__).resolve().parents[3] / "static/runs/fine-tuning.json"
LABELS = (8, 16, 32, 64, 128, 256)
SEEDS = (0, 1, 2, 3, 4)
WAYS = ("tuned", "scratch")
EVALUATED_ON = 2000


def trained(run: Run) -> Run:
    for _ in run.train():
        pass
    return run


def accuracy(run: Run) -> float:
    """Tags right, on sentences that neither task has shown it."""
    return round(run.evaluate(EVALUATED_ON).accuracy, 6)


def compare(pretrained: Run, labels: int) -> dict[str, tuple[str, float]]:
    """Key and accuracy of both."""
    tuned = fine_tuned(pretrained, labels)
    runs = {"tuned": tuned, "scratch": Run(tuned.recipe.from_scratch, tuned.seed)}
    return {name: (run.key, accuracy(trained(run))) for name, run in runs.items()}


def measure(seed: int) -> dict[str, Any]:
    pretrained = trained(Run(pretraining(), seed))
    found = [compare(pretrained, labels) for labels in LABELS]
    ways = {way: {"keys": [one[way][0] for one in found], "accuracy": [one[way][1] for one in found]} for way in WAYS}
    return {"seed": seed, "pretrained": pretrained.key, **ways}


def rounding() -> dict[str, str]:
    """Where it is the same, a run is the same to the last bit."""
    return {"torch": torch.__version__, "processor": torch.cpu.get_capabilities().get("cpu_name", "")}


@lru_cache(maxsize=1)
def comparison() -> dict[str, Any]:
    """What the last `python -m app.service.experiments.fine_tuning` found."""
    return json.loads(PATH.read_text("utf-8"))


def main() -> None:
    torch.set_num_threads(1)
    found = []
    for seed in SEEDS:
        found.append(measure(seed))
        shares = zip(LABELS, *(found[-1][way]["accuracy"] for way in WAYS), strict=True)
        told = ", ".join(f"{n}: {tuned:.1%} / {scratch:.1%}" for n, tuned, scratch in shares)
        print(f"seed {seed}, labels: fine-tuned / from scratch  {told}", flush=True)
    write(found)


def write(found: list[dict[str, Any]]) -> None:
    recipe = pretraining()
    facts = {
        "family": recipe.family,
        "first_task": recipe.task.name,
        "task": TASK,
        "first_steps": recipe.training.steps,
        "steps": TUNING["steps"],
        "evaluated_on": EVALUATED_ON,
        "chance": round(core.task(TASK).chance, 6),
        "measured_with": rounding(),
        "labels": list(LABELS),
        "seeds": [one["seed"] for one in found],
        "pretrained": [one["pretrained"] for one in found],
    }
    by_seed = {way: {part: [one[way][part] for one in found] for part in ("keys", "accuracy")} for way in WAYS}
    PATH.write_text(json.dumps(facts | by_seed, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
