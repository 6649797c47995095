"""Pretraining and fine-tuning: a small BERT pretrained on masked words, then trained on entities with few labels.

Both tasks are on the same generated news; the first one needs no labels. Positions are relative (RoPE), since the
sentences of the second task have no [CLS] before them.
"""

from __future__ import annotations

from core.runs.recipes import Recipe, make_recipe
from core.runs.run import Run

TASK = "entities"
MODEL = {
    "d_model": 64, "n_heads": 4, "n_layers": 1, "d_ff": 128, "norm_placement": "pre", "position": "rope",
    "tie_embeddings": False,
}  # fmt: skip
PRETRAINING = {"lr": 3e-3, "steps": 1000, "warmup": 20, "beta2": 0.98, "schedule": "linear"}
# Long enough to memorise all the labels, from scratch too.
TUNING = {"lr": 3e-3, "steps": 300, "warmup": 10, "batch_size": 16, "schedule": "linear"}


def pretraining(steps: int = PRETRAINING["steps"]) -> Recipe:
    """Masked words and next sentence, always on fresh sentences."""
    return make_recipe(
        "bert", "masked words", model=MODEL, task_options={"text": "news"}, training={**PRETRAINING, "steps": steps}
    )


def fine_tuned(pretrained: Run, labels: int, seed: int | None = None, steps: int = TUNING["steps"]) -> Run:
    """An untrained run that starts from the pretrained body and has `labels` labelled sentences, used repeatedly.

    The same from scratch: `Run(run.recipe.from_scratch, run.seed)`.
    """
    return pretrained.transfer(TASK, samples=labels, seed=seed, **{**TUNING, "steps": steps})
