"""Evidence for a diagnosis: a run's steps, held-out accuracy, entropy of its heads and state of its gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import torch

from core.analysis import measures
from core.capture.tape import Tape, capture
from core.layers.masks import valid_mask
from core.models.eval_mode import eval_mode
from core.runs.recipes import RECIPES, Recipe, make_recipe
from core.runs.run import Run
from core.training.loop import Step

PROBLEMS = 16
GATES = ("input", "forget", "output", "reset", "update")


@dataclass(frozen=True)
class Evidence:
    recipe: Recipe
    steps: list[Step]
    chance: float
    goal: float
    held_out: float | None = None  # accuracy on held-out problems; None: not evaluated
    heads: dict[str, float] = field(default_factory=dict)  # "blocks.0.attn.2" → normalised entropy
    gates: dict[str, tuple[float, float]] = field(default_factory=dict)  # "layers.0.fwd.forget" → mean, saturation
    diverged: bool = False

    @property
    def progress(self) -> float:
        """The share of the recipe's steps that are done."""
        return len(self.steps) / self.recipe.training.steps

    @property
    def recent_steps(self) -> list[Step]:
        """The last tenth of the steps, and at least ten."""
        return self.steps[-max(10, len(self.steps) // 10) :]

    @property
    def accuracy(self) -> float:
        """Mean training accuracy of the recent steps."""
        return fmean(step.accuracy for step in self.recent_steps)

    @property
    def recommended(self) -> Recipe | None:
        """The default recipe in the registry for this family and task."""
        options = RECIPES.get((self.recipe.family, self.recipe.task.name), {}).get("default")
        return make_recipe(self.recipe.family, self.recipe.task.name, **options) if options else None


def differences(recipe: Recipe, target: Recipe) -> dict[str, dict[str, Any]]:
    """The option values of `target` that differ in `recipe`, by part, without sizes that follow from the task."""
    changes = {}
    for part, options, target_options in (
        ("model", recipe.model.to_dict(), target.model.to_dict()),
        ("task_options", recipe.task.to_dict(), target.task.to_dict()),
        ("training", recipe.training.to_dict(), target.training.to_dict()),
    ):
        changed = {name: value for name, value in target_options.items() if value != options.get(name)}
        for name in ("vocab_size", "n_labels", "max_len") if part == "model" else ():
            changed.pop(name, None)
        if changed:
            changes[part] = changed
    return changes


@torch.no_grad()
def collect_evidence(run: Run, held_out: float | None = None, diverged: bool = False) -> Evidence:
    """The evidence of a run in its current state; the run is not changed."""
    goal = RECIPES.get((run.recipe.family, run.task.name), {}).get("default", {}).get("goal", run.recipe.goal)
    batch = run.task.lay_out(run.task.evaluation(PROBLEMS), run.trainer.form).to(run.trainer.device)
    with eval_mode(run.model), capture(run.model, "*.weights", "*.mask", "*layers.*") as tape:
        run.model(*batch.inputs)
    gates = dict(_gate_statistics(tape, batch.inputs[-1] if len(batch.inputs) == 2 else None))
    return Evidence(
        run.recipe, run.steps, run.task.chance, goal, held_out, dict(_head_entropies(tape)), gates, diverged
    )


def _head_entropies(tape: Tape) -> Iterator[tuple[str, float]]:
    """Name of each head, and its normalised entropy averaged over queries and sequences."""
    for name in tape.names():
        if not name.endswith(".weights") or tape[name].dim() != 4:
            continue
        weights = tape[name]  # (batch, head, query, key)
        mask = name.replace(".weights", ".mask")
        allowed = (tape[mask] if mask in tape else torch.ones_like(weights, dtype=torch.bool)).expand_as(weights)
        entropies = measures.normalised_entropy(weights, allowed).nanmean((0, 2))  # (head,)
        for head, entropy in enumerate(entropies.tolist()):
            yield f"{name.removesuffix('.weights')}.{head}", entropy


def _gate_statistics(tape: Tape, lengths: torch.Tensor | None) -> Iterator[tuple[str, tuple[float, float]]]:
    """Name of each gate, its mean and saturation, without padding if the lengths are known."""
    for name in tape.names():
        if name.rsplit(".", 1)[-1] not in GATES or "layers." not in name:
            continue
        gate = tape[name]  # (batch, time, unit)
        if lengths is not None:
            gate = gate[valid_mask(lengths, gate.shape[1])][None]
        yield name, (float(gate.mean()), float(measures.saturation(gate).mean()))
