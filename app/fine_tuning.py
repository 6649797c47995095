"""Fine-tuned against from scratch: accuracy by the number of labelled sentences, from real runs.

`python -m app.fine_tuning` trains them again and writes `static/runs/fine-tuning.json`. Every seed has its own
pretraining, its own labels and its own fresh head; the two runs that are compared share labels and seed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from core.recipes.fine_tuning import TASK, TUNING, fine_tuned, pretraining
from core.run import Run

PATH = Path(__file__).resolve().parents[1] / "static/runs/fine-tuning.json"
LABELS = (8, 16, 32, 64, 128, 256)
SEEDS = (0, 1, 2, 3, 4)
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


@lru_cache(maxsize=1)
def comparison() -> dict[str, Any]:
    """What the last `python -m app.fine_tuning` found."""
    return json.loads(PATH.read_text("utf-8"))


def main() -> None:
    torch.set_num_threads(1)
    recipe = pretraining()
    facts: dict[str, Any] = {
        "family": recipe.family,
        "first_task": recipe.task.name,
        "task": TASK,
        "labels": list(LABELS),
        "seeds": list(SEEDS),
        "first_steps": recipe.training.steps,
        "steps": TUNING["steps"],
        "evaluated_on": EVALUATED_ON,
        "torch": torch.__version__,
        "pretrained": [],  # by seed
        "tuned": {"keys": [], "accuracy": []},  # (seed, labels)
        "scratch": {"keys": [], "accuracy": []},
    }
    for seed in SEEDS:
        pretrained = trained(Run(recipe, seed))
        found = [compare(pretrained, labels) for labels in LABELS]
        facts["pretrained"].append(pretrained.key)
        for name in ("tuned", "scratch"):
            facts[name]["keys"].append([one[name][0] for one in found])
            facts[name]["accuracy"].append([one[name][1] for one in found])
        pairs = [f"{n}: {a['tuned'][1]:.1%} / {a['scratch'][1]:.1%}" for n, a in zip(LABELS, found, strict=True)]
        print(f"seed {seed}, labels: fine-tuned / from scratch  {', '.join(pairs)}", flush=True)
    facts["chance"] = round(fine_tuned(pretrained, LABELS[0]).task.chance, 6)
    PATH.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
