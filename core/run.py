"""The noun of the whole product: one model learning one task by one recipe from one seed, and all that is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import torch
from torch import Tensor

from core.models import build
from core.recipes import Recipe
from core.tape import Tape
from core.training.evaluation import Score, evaluate
from core.training.history import Snapshots, replay
from core.training.loop import Step, Trainer

FORMAT = 1  # raised whenever the same recipe and seed would no longer give the same run


def key_of(recipe: Recipe, seed: int) -> str:
    """The name a run is stored under: the same everywhere for the same recipe and seed."""
    facts = json.dumps({"format": FORMAT, "seed": seed, **recipe.to_dict()}, sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()[:24]


class Run:
    """Deterministic in (recipe, seed): asked for twice, anywhere, it is the same run."""

    def __init__(self, recipe: Recipe, seed: int = 0):
        self.recipe, self.seed = recipe, seed
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model = build(recipe.model)
        self.task = recipe.task
        self.trainer = Trainer(self.model, self.task, recipe.training, seed)
        self.steps: list[Step] = []
        self.snapshots = Snapshots(recipe.training.steps)
        self.snapshots.offer(0, self.model)

    @property
    def key(self) -> str:
        return key_of(self.recipe, self.seed)

    def train(self) -> Iterator[Step]:
        """Go on to the recipe's end. Stop at any step by no longer asking; the next call goes on from there."""
        for step in self.trainer.steps():
            self.steps.append(step)
            self.snapshots.offer(step.index, self.model)
            yield step

    def evaluate(self, n: int = 256, *, length: int | None = None) -> Score:
        """On held-out problems, with the averaged weights if the recipe has them."""
        if self.trainer.average is None:
            return evaluate(self.model, self.task, n, length=length)
        with self.trainer.average.in_place(self.model):
            return evaluate(self.model, self.task, n, length=length)

    def replay(self, *arguments: Tensor | str) -> list[Tape]:
        """`run.replay(ids, "*.weights")`: one tape per snapshot, for any input; tensors first, then patterns."""
        inputs = tuple(a for a in arguments if isinstance(a, Tensor))
        patterns = tuple(a for a in arguments if isinstance(a, str))
        return replay(self.model, self.snapshots, inputs, patterns)
