"""The noun of the whole product: one model learning one task by one recipe from one seed, and all that is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from core.capture.tape import Tape
from core.models import build, configure
from core.runs.fork import Forked, Origin, begin_fork, fork_recipe, missing_parent
from core.runs.recipes import Recipe, as_recipe, recipe_from_dict
from core.runs.transfer import Transferred, begin_transfer, transfer_recipe
from core.seeding import check_seed, seeded
from core.tasks import Task, as_task
from core.tasks.custom.files import without_text
from core.tasks.custom.tasks import custom_from_dict
from core.training.evaluation import Score, evaluate
from core.training.loop import Step, Trainer
from core.training.options import Training
from core.training.snapshots import Snapshot, Snapshots, inputs_and_patterns, replay, views

FORMAT = 2  # raised whenever the same recipe and seed would no longer give the same run, but for rounding


def key_of(recipe: Recipe, seed: int) -> str:
    """The name a run is stored under: the same everywhere for the same recipe and seed.

    The recipe of a fork or a transfer names its parent and the step; a task made from a file counts by the digest of
    what was in it.
    """
    recipe_facts, _ = without_text(recipe.to_dict())
    facts = json.dumps({"format": FORMAT, "seed": check_seed(seed), **recipe_facts}, sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()[:24]


def recipe_of(facts: dict[str, Any]) -> Recipe:
    """The inverse of `Recipe.to_dict`, also for forks, transfers and tasks made from a file; every option is checked again."""
    if "file" in facts["task"]:
        model = dict(facts["model"])
        recipe = Recipe(
            configure(model.pop("family"), **model),
            custom_from_dict(facts["task"]),
            Training.make(**facts["training"]),
        )
    else:
        recipe = recipe_from_dict(facts)
    for told, kind in (("origin", Forked), ("body", Transferred)):
        if told in facts:
            return kind(recipe.model, recipe.task, recipe.training, origin=Origin(**facts[told]))
    return recipe


class Run:
    """Deterministic in (recipe, seed): asked for twice it is the same run, to the last bit.

    Another kind of processor or release of torch rounds in its own way.
    """

    def __init__(self, recipe: Recipe | str, seed: int = 0):
        recipe = as_recipe(recipe)
        if isinstance(recipe, Forked):
            raise missing_parent(recipe)
        self._build(recipe, seed)
        self.snapshots.offer(0, self.model)

    def __repr__(self) -> str:
        which = f"{self.recipe.family}/{self.task.name}"
        return f"Run({which}, seed {self.seed}, {len(self.steps)} of {self.recipe.training.steps} steps)"

    @classmethod
    def unbegun(cls, recipe: Recipe, seed: int) -> Run:
        """All parts of a run whose state, also that of its beginning, is to come from elsewhere."""
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
        self.snapshots = Snapshots(recipe.training.steps, recipe.begins_at if isinstance(recipe, Forked) else 0)

    @property
    def key(self) -> str:
        return key_of(self.recipe, self.seed)

    def train(self) -> Iterator[Step]:
        """Go on to the recipe's end. Stop at any step by no longer asking; the next call goes on from there."""
        for step in self.trainer.steps():
            self.steps.append(step)
            self.snapshots.offer(step.index, self.model)
            yield step

    @property
    def parent(self) -> str | None:
        """The key of the run this one began in."""
        return self.recipe.origin.parent if isinstance(self.recipe, Forked) else None

    def fork(self, step: int, *, seed: int | None = None, **changes: Any) -> Run:
        """`run.fork(120, lr=1e-3)`: a new run that begins where this one was at a step, and goes on otherwise.

        Changes are options of the training, or of the model if its weights keep their shapes; or another seed, for
        other problems from there on. Steps go on being counted from this run's beginning: those until the fork, and
        the snapshots, are the new run's too, and `steps` is the number of its last one.

        From where the run stands it goes on exactly, optimiser and all. From any snapshot before, it begins with those
        weights as they were kept, rounded to float16, with a fresh optimiser and a fresh stream of problems.
        """
        return self.forked(fork_recipe(self, step, changes), self.seed if seed is None else seed)

    def transfer(
        self,
        to: Task | str,
        step: int | None = None,
        *,
        head: str | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> Run:
        """`run.transfer("entities", samples=8, lr=1e-3)`: a new run on another task whose body begins as this one's was.

        Embeddings (word by word) and layers are those of this run at a step, by default the last; the head, and words
        that this run's task does not have, are fresh. Options are those of the training, from its defaults on, or of
        the model, from this run's on. The new run counts its own steps. `run.recipe.from_scratch` is the same without
        this beginning: the one to compare it with.
        """
        return self.forked(
            transfer_recipe(self, as_task(to), step, head, options), self.seed if seed is None else seed
        )

    def forked(self, recipe: Forked, seed: int) -> Run:
        """The run that begins in this one as that recipe tells."""
        child = Run.unbegun(recipe, seed)
        (begin_transfer if isinstance(recipe, Transferred) else begin_fork)(child, self)
        return child

    def evaluate(self, n: int = 256, *, length: int | None = None) -> Score:
        """On held-out problems, with the averaged weights if the recipe has them."""
        if self.trainer.average is None:
            return evaluate(self.model, self.task, n, length=length)
        with self.trainer.average.in_place(self.model):
            return evaluate(self.model, self.task, n, length=length)

    def views(self, *steps: int) -> Iterator[tuple[Snapshot, nn.Module]]:
        """The snapshots, or those of these steps, each with the model as it was; it lasts until the next one."""
        return views(self.model, [one for one in self.snapshots if not steps or one.step in steps])

    def replay(self, *arguments: Tensor | str) -> list[Tape]:
        """`run.replay(ids, "*.weights")`: one tape per snapshot, for any input; tensors first, then patterns."""
        return replay(self.views(), *inputs_and_patterns(arguments))
