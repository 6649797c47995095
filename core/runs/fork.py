"""Forks: runs that begin inside another one, and what they take over from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from core.errors import ConfigError, unknown_name
from core.messages import Text
from core.models import configure
from core.runs.recipes import Recipe
from core.training.loop import Trainer
from core.training.optimisers import load_parameters
from core.training.options import Training
from core.training.snapshots import Snapshot

if TYPE_CHECKING:
    from core.runs.run import Run

UNSEEN = ("dropout", "checkpointing", "engine")  # model options that do not change what a snapshot shows


@dataclass(frozen=True)
class Origin:
    """Where a fork begins: the key of its parent, the step, and whether the parent itself stood there."""

    parent: str
    step: int
    exact: bool


@dataclass(frozen=True)
class Forked(Recipe):
    """A recipe that begins at the weights of another run: what decides a fork, together with its seed."""

    origin: Origin | None = None

    @property
    def begins_at(self) -> int:
        """How many steps it has when it begins: those of its parent until there."""
        return self.origin.step

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "origin": asdict(self.origin)}


def fork_recipe(parent: Run, step: int, changes: dict[str, Any]) -> Forked:
    """The parent's recipe with the changes; a `ConfigError` for a step or an option that cannot be."""
    origin = origin_at(parent, step)
    of_model, of_training = split_changes(parent.recipe, changes, Text("a fork"))
    model = configure(parent.recipe.family, **{**parent.recipe.model.to_dict(), **of_model})
    training = Training.make(**{**parent.recipe.training.to_dict(), **of_training})
    if training.steps <= step:
        raise ConfigError(
            "steps",
            training.steps,
            Text("the fork begins at step {step}; nothing would be left.", step=step),
            Text("Use steps={twice} or so.", twice=2 * step),
        )
    return Forked(model, parent.task, training, origin=origin)


def origin_at(parent: Run, step: int) -> Origin:
    """A `ConfigError` for a step whose weights are not there."""
    exact = stands_at(parent, step)
    if type(step) is not int or not (exact or kept_at(parent, step)):
        raise _no_such_step(parent, step)
    return Origin(parent.key, step, exact)


def weights_at(parent: Run, recipe: Forked) -> dict[str, Tensor]:
    """The weights it begins with; a `ConfigError` if this is not the parent, or no longer has them."""
    origin = recipe.origin
    kept, here = kept_at(parent, origin.step), stands_at(parent, origin.step)
    if origin.parent != parent.key or (not here if origin.exact else kept is None):
        raise missing_parent(recipe)
    return dict(parent.model.named_parameters()) if origin.exact else kept.weights


def stands_at(run: Run, step: int) -> bool:
    """Is everything there that is needed to go on from this step exactly? (Not in a run that came without its state.)"""
    return run.trainer.index == step == len(run.steps)


def kept_at(run: Run, step: int) -> Snapshot | None:
    return next((snapshot for snapshot in run.snapshots if snapshot.step == step), None)


def begin_fork(child: Run, parent: Run) -> None:
    """Give the new run its weights, the steps and snapshots until there, and the rest of its beginning."""
    origin: Origin = child.recipe.origin
    weights = weights_at(parent, child.recipe)
    check_shapes(child, parent)
    load_parameters(child.model, weights)
    trainer = child.trainer
    trainer.index = origin.step
    if trainer.average:
        trainer.average.begin(child.model)
    stream = int(hashlib.sha256(f"{child.seed}/{origin.step}".encode()).hexdigest()[:12], 16)
    trainer.data = torch.Generator().manual_seed(stream)
    trainer.noise = torch.Generator().manual_seed(stream + 1).get_state()
    if origin.exact:
        _take_over(trainer, parent.trainer, same_seed=child.seed == parent.seed)
    elif trainer.curriculum and (limits := [step.limit for step in parent.steps[: origin.step + 1] if step.limit]):
        trainer.curriculum.limit = limits[-1]
    child.steps = parent.steps[: origin.step]
    before = [s for s in parent.snapshots if s.step < origin.step] if _seen_alike(child, parent) else []
    child.snapshots.inherit([*before, kept_at(parent, origin.step) or Snapshot.of(origin.step, child.model)])


def missing_parent(recipe: Forked) -> ConfigError:
    origin = recipe.origin
    return ConfigError(
        "parent",
        origin.parent,
        Text(
            "this fork begins at step {step} of that run, which is needed for it.",
            step=origin.step,
        ),
        Text("Open the fork from the store, or fork a run that has this step and stands there.")
        if origin.exact
        else Text("Open the fork from the store, or fork a run that has this step."),
    )


def split_changes(recipe: Recipe, changes: dict[str, Any], of: Text) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of the model and those of the training; a `ConfigError` for what is neither, saying what they are `of`."""
    of_training = {option.name for option in recipe.training.options()}
    of_model = {option.name for option in recipe.model.options()}
    for name, value in changes.items():
        if name not in of_training | of_model:
            why = Text("{of} has no such option.", of=of)
            raise unknown_name(name, value, why, sorted(of_training | of_model), name)
    return (
        {name: value for name, value in changes.items() if name not in of_training},
        {name: value for name, value in changes.items() if name in of_training},
    )


def check_shapes(child: Run, parent: Run, among: Callable[[str], bool] = lambda name: True) -> None:
    """Do the parent's weights fit? All of them, or those whose names are `among` the ones taken over."""
    old, new = (
        {name: tuple(p.shape) for name, p in run.model.named_parameters() if among(name)} for run in (parent, child)
    )
    if old == new:
        return
    given, before = child.recipe.model.to_dict(), parent.recipe.model.to_dict()
    changed = [name for name in given if given[name] != before[name]]
    weight = next(name for name in {**old, **new} if old.get(name) != new.get(name))
    shapes = [str(shapes.get(weight, "–")) for shapes in (old, new)]
    raise ConfigError(
        ", ".join(changed),
        given[changed[0]] if len(changed) == 1 else tuple(given[name] for name in changed),
        Text(
            "that does not fit the weights there are: {weight} is {old}, it would be {new}.",
            weight=weight,
            old=shapes[0],
            new=shapes[1],
        ),
        Text("Change only options that keep all shapes, or train a new run."),
    )


def _take_over(new: Trainer, old: Trainer, same_seed: bool) -> None:
    """What goes on beside the weights, as far as the fork has it too."""
    state = old.state()
    optimiser = {**new.optimiser.state_dict(), "state": state["optimiser"]["state"]}
    average = None if new.average is None else (new.average.updates, new.average.shadow)
    new.load(
        {
            **state,
            "optimiser": optimiser,
            "average": state["average"] or average,
            "curriculum": state["curriculum"] or (new.curriculum and new.curriculum.state()),
            "data": state["data"] if same_seed else new.data.get_state(),
            "noise": state["noise"] if same_seed else new.noise,
        }
    )


def _seen_alike(child: Run, parent: Run) -> bool:
    """Would the parent's snapshots show the same in the fork's model?"""
    unseen = {name: value for name, value in parent.recipe.model.to_dict().items() if name in UNSEEN}
    return replace(child.recipe.model, **unseen) == parent.recipe.model


def _no_such_step(parent: Run, step: int) -> ConfigError:
    steps = sorted(
        {*(s.step for s in parent.snapshots), *([len(parent.steps)] if stands_at(parent, len(parent.steps)) else [])}
    )
    listed = ", ".join(map(str, steps))
    return ConfigError(
        "step",
        step,
        Text("the weights of this step were not kept."),
        Text("Choose one of: {listed}.", listed=listed),
    )
