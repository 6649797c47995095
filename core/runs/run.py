"""Runs: one model trained on one task by one recipe from one seed, with its steps and weight snapshots."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from core.capture.tape import Tape
from core.models import build, configure
from core.runs.fork import ForkRecipe, Origin, fork_recipe, initialise_fork, missing_parent
from core.runs.recipes import Recipe, as_recipe
from core.runs.transfer import TransferRecipe, initialise_transfer, transfer_recipe
from core.seeding import check_seed, seeded
from core.tasks import Task, as_task, task
from core.tasks.custom.custom_task import custom_from_dict
from core.tasks.custom.files import without_text
from core.training.evaluation import EvaluationResult, evaluate
from core.training.loop import Step, Trainer
from core.training.options import Training
from core.training.snapshots import Snapshot, Snapshots, replay, snapshot_models, split_inputs_and_patterns

FORMAT = 2  # raised whenever the same recipe and seed would no longer give the same run, but for rounding


def key_of(recipe: Recipe, seed: int) -> str:
    """The name a run is stored under: a hash of recipe and seed, the same everywhere.

    The recipe of a fork or a transfer contains its parent's key and the step; a task from a user's file is represented
    by a digest of the file's content.
    """
    recipe_dict, _ = without_text(recipe.to_dict())
    contents = json.dumps({"format": FORMAT, "seed": check_seed(seed), **recipe_dict}, sort_keys=True)
    return hashlib.sha256(contents.encode()).hexdigest()[:24]


def recipe_from_dict(facts: dict[str, Any]) -> Recipe:
    """The inverse of `Recipe.to_dict`, also for forks, transfers and tasks from a file; every option is checked again."""
    model_options, task_options = dict(facts["model"]), dict(facts["task"])
    model = configure(model_options.pop("family"), **model_options)
    if "file" in task_options:
        problem = custom_from_dict(task_options)
    else:
        problem = task(task_options.pop("name"), **task_options)
    training = Training.make(**facts["training"])
    if "origin" in facts:
        return ForkRecipe(model, problem, training, origin=Origin(**facts["origin"]))
    if "body" in facts:
        return TransferRecipe(model, problem, training, origin=Origin(**facts["body"]))
    return Recipe(model, problem, training)


class Run:
    """A training run, deterministic in (recipe, seed) to the last bit on the same processor type and torch release."""

    def __init__(self, recipe: Recipe | str, seed: int = 0):
        recipe = as_recipe(recipe)
        if isinstance(recipe, ForkRecipe):
            raise missing_parent(recipe)
        self._build(recipe, seed)
        self.snapshots.record(0, self.model)

    def __repr__(self) -> str:
        name = f"{self.recipe.family}/{self.task.name}"
        return f"Run({name}, seed {self.seed}, {len(self.steps)} of {self.recipe.training.steps} steps)"

    @classmethod
    def uninitialised(cls, recipe: Recipe, seed: int) -> Run:
        """A run without its initial snapshot, whose state is to be restored from a file or a parent."""
        run = cls.__new__(cls)
        run._build(recipe, seed)
        return run

    def _build(self, recipe: Recipe, seed: int) -> None:
        self.recipe, self.seed = recipe, check_seed(seed)
        with seeded(self.seed):
            self.model = build(recipe.model)
        self.task = recipe.task
        self.trainer = Trainer(self.model, self.task, recipe.training, self.seed)
        self.steps: list[Step] = []
        self.snapshots = Snapshots(recipe.training.steps, recipe.start_step if isinstance(recipe, ForkRecipe) else 0)

    @property
    def key(self) -> str:
        return key_of(self.recipe, self.seed)

    def train(self) -> Iterator[Step]:
        """Train to the recipe's last step. Can be left at any step; the next call continues from there."""
        for step in self.trainer.steps():
            self.steps.append(step)
            self.snapshots.record(step.index, self.model)
            yield step

    @property
    def parent(self) -> str | None:
        """The key of the run this one started from."""
        return self.recipe.origin.parent if isinstance(self.recipe, ForkRecipe) else None

    def fork(self, step: int, *, seed: int | None = None, **changes: Any) -> Run:
        """`run.fork(120, lr=1e-3)`: a new run that starts from this one's weights at a step, with options changed.

        Changes are options of the training, or of the model if its weights keep their shapes; or another seed, for
        other problems from there on. Steps go on being counted from this run's beginning: those until the fork, and
        the snapshots, are the new run's too, and `steps` is the number of its last one.

        From this run's latest step the fork continues exactly, optimiser and all. From any earlier snapshot it starts
        with those weights, rounded to float16, a fresh optimiser and a fresh stream of problems.
        """
        return self.derive(fork_recipe(self, step, changes), self.seed if seed is None else seed)

    def transfer(
        self,
        to: Task | str,
        step: int | None = None,
        *,
        head: str | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> Run:
        """`run.transfer("entities", samples=8, lr=1e-3)`: a new run on another task that starts from this one's body.

        Embeddings (by token) and layers are those of this run at a step, by default the last; the head, and tokens
        that this run's task does not have, are new. Options are those of the training, on top of its defaults, or of
        the model, on top of this run's. The new run counts its own steps. `run.recipe.from_scratch` is the same recipe
        with random weights, to compare with.
        """
        recipe = transfer_recipe(self, as_task(to), step, head, options)
        return self.derive(recipe, self.seed if seed is None else seed)

    def derive(self, recipe: ForkRecipe, seed: int) -> Run:
        """The fork or transfer of this run with that recipe, not yet trained."""
        child = Run.uninitialised(recipe, seed)
        if isinstance(recipe, TransferRecipe):
            initialise_transfer(child, self, recipe)
        else:
            initialise_fork(child, self, recipe)
        return child

    def evaluate(self, n: int = 256, *, length: int | None = None) -> EvaluationResult:
        """Accuracy on n held-out problems, with the averaged weights if the recipe has them."""
        if self.trainer.average is None:
            return evaluate(self.model, self.task, n, length=length)
        with self.trainer.average.applied_to(self.model):
            return evaluate(self.model, self.task, n, length=length)

    def snapshot_models(self, *steps: int) -> Iterator[tuple[Snapshot, nn.Module]]:
        """Each snapshot (or those of these steps) with the model at its weights, valid until the next one."""
        return snapshot_models(self.model, [s for s in self.snapshots if not steps or s.step in steps])

    def replay(self, *arguments: Tensor | str) -> list[Tape]:
        """`run.replay(ids, "*.weights")`: one tape per snapshot, for any input; tensors first, then patterns."""
        return replay(self.snapshot_models(), *split_inputs_and_patterns(arguments))
