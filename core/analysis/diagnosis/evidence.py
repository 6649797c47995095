"""What a run shows of itself: its curves, how good it is on other problems, how its heads look and its gates stand."""

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


@dataclass(frozen=True)
class Evidence:
    recipe: Recipe
    steps: list[Step]
    chance: float
    goal: float
    held_out: float | None = None  # accuracy on problems it was not trained on; None: not known
    heads: dict[str, float] = field(default_factory=dict)  # "blocks.0.attn.2" → how evenly it looks, 0 to 1
    gates: dict[str, tuple[float, float]] = field(default_factory=dict)  # "layers.0.fwd.forget" → mean, saturation
    diverged: bool = False

    @property
    def share_made(self) -> float:
        return len(self.steps) / self.recipe.training.steps

    @property
    def lately(self) -> list[Step]:
        """The last tenth of the steps, and at least ten."""
        return self.steps[-max(10, len(self.steps) // 10) :]

    @property
    def accuracy(self) -> float:
        """In training, lately."""
        return fmean(step.accuracy for step in self.lately)

    @property
    def usual(self) -> Recipe | None:
        """The recommended recipe for this family and task."""
        parts = RECIPES.get((self.recipe.family, self.recipe.task.name), {}).get("default")
        return make_recipe(self.recipe.family, self.recipe.task.name, **parts) if parts else None


def differences(recipe: Recipe, usual: Recipe) -> dict[str, dict[str, Any]]:
    """What makes the second of the first, apart from the sizes that follow from the task."""
    found = {}
    for part, here, there in (
        ("model", recipe.model.to_dict(), usual.model.to_dict()),
        ("task_options", recipe.task.to_dict(), usual.task.to_dict()),
        ("training", recipe.training.to_dict(), usual.training.to_dict()),
    ):
        changed = {name: there[name] for name in there if there[name] != here.get(name)}
        for name in ("vocab_size", "n_labels", "max_len") if part == "model" else ():
            changed.pop(name, None)
        if changed:
            found[part] = changed
    return found


@torch.no_grad()
def collect_evidence(run: Run, held_out: float | None = None, diverged: bool = False) -> Evidence:
    """The run as it stands; nothing of it is changed."""
    goal = RECIPES.get((run.recipe.family, run.task.name), {}).get("default", {}).get("goal", run.recipe.goal)
    batch = run.task.lay_out(run.task.evaluation(PROBLEMS), run.trainer.form).to(run.trainer.device)
    with eval_mode(run.model), capture(run.model, "*.weights", "*.mask", "*layers.*") as tape:
        run.model(*batch.inputs)
    gates = dict(_gates(tape, batch.inputs[-1] if len(batch.inputs) == 2 else None))
    return Evidence(run.recipe, run.steps, run.task.chance, goal, held_out, dict(_heads(tape)), gates, diverged)


def _heads(tape: Tape) -> Iterator[tuple[str, float]]:
    """Entropy as a share of the greatest there could be, over queries that may look at more than one token."""
    for name in tape.names():
        if not name.endswith(".weights") or tape[name].dim() != 4:
            continue
        weights = tape[name]  # (batch, head, query, key)
        mask = name.replace(".weights", ".mask")
        allowed = (tape[mask] if mask in tape else torch.ones_like(weights, dtype=torch.bool)).expand_as(weights)
        choices = allowed.sum(-1).float()
        entropy = -(weights * weights.clamp(min=1e-12).log()).sum(-1)
        even = torch.where(choices > 1, entropy / choices.clamp(min=2).log(), torch.nan).nanmean((0, 2))  # (head,)
        for head, share in enumerate(even.tolist()):
            yield f"{name.removesuffix('.weights')}.{head}", share


def _gates(tape: Tape, lengths: torch.Tensor | None) -> Iterator[tuple[str, tuple[float, float]]]:
    """Mean and saturation, without padding where the lengths are known."""
    for name in tape.names():
        if name.rsplit(".", 1)[-1] not in ("input", "forget", "output", "reset", "update") or "layers." not in name:
            continue
        gate = tape[name]  # (batch, time, unit)
        if lengths is not None:
            gate = gate[valid_mask(lengths, gate.shape[1])][None]
        yield name, (float(gate.mean()), float(measures.saturation(gate).mean()))
