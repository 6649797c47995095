"""Forks: runs that start from the weights of another run at one of its steps, with some options changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from core.errors import ConfigError, unknown_name
from core.models import configure
from core.runs.recipes import Recipe
from core.training.loop import Trainer
from core.training.optimisers import load_parameters
from core.training.options import Training
from core.training.snapshots import Snapshot
from core.translatable import Text

if TYPE_CHECKING:
    from core.runs.run import Run

SAME_FUNCTION = (
    "dropout",
    "checkpointing",
    "engine",
)  # options that do not change what weights compute in evaluation


@dataclass(frozen=True)
class Origin:
    """Start of a fork: the parent's key, the step, and whether the parent's exact state there was available.

    Without it (exact=False) the fork starts from a float16 snapshot.
    """

    parent: str
    step: int
    exact: bool


@dataclass(frozen=True, kw_only=True)
class ForkRecipe(Recipe):
    """A recipe that starts from another run's weights; with its seed it determines the fork."""

    origin: Origin

    @property
    def start_step(self) -> int:
        """The step count the fork starts at: its parent's steps until there."""
        return self.origin.step

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "origin": asdict(self.origin)}


def fork_recipe(parent: Run, step: int, changes: dict[str, Any]) -> ForkRecipe:
    """The parent's recipe with the changes; `ConfigError` for a step or an option that cannot be used."""
    origin = make_origin(parent, step)
    model_changes, training_changes = split_changes(parent.recipe, changes, Text("a fork"))
    model = configure(parent.recipe.family, **{**parent.recipe.model.to_dict(), **model_changes})
    training = Training.make(**{**parent.recipe.training.to_dict(), **training_changes})
    if training.steps <= step:
        raise ConfigError(
            "steps",
            training.steps,
            Text("the fork begins at step {step}; nothing would be left.", step=step),
            Text("Use steps={twice} or so.", twice=2 * step),
        )
    return ForkRecipe(model, parent.task, training, origin=origin)


def make_origin(parent: Run, step: int) -> Origin:
    """`ConfigError` if the parent has no weights of this step."""
    exact = has_exact_state(parent, step)
    if type(step) is not int or not (exact or snapshot_at(parent, step)):
        raise _no_such_step(parent, step)
    return Origin(parent.key, step, exact)


def origin_weights(parent: Run, recipe: ForkRecipe) -> Mapping[str, Tensor]:
    """The weights the fork starts from; `ConfigError` if the run is not its parent or no longer has them."""
    origin = recipe.origin
    if origin.parent == parent.key:
        if origin.exact:
            if has_exact_state(parent, origin.step):
                return dict(parent.model.named_parameters())
        elif snapshot := snapshot_at(parent, origin.step):
            return snapshot.weights
    raise missing_parent(recipe)


def has_exact_state(run: Run, step: int) -> bool:
    """Whether the run stands at this step with its full training state; a run loaded without that state does not."""
    return run.trainer.index == step == len(run.steps)


def snapshot_at(run: Run, step: int) -> Snapshot | None:
    return next((snapshot for snapshot in run.snapshots if snapshot.step == step), None)


def initialise_fork(child: Run, parent: Run, recipe: ForkRecipe) -> None:
    """Set the child's weights, steps and snapshots until the fork, random generators, and training state if exact."""
    origin = recipe.origin
    weights = origin_weights(parent, recipe)
    check_shapes(child, parent)
    load_parameters(child.model, weights)
    trainer = child.trainer
    trainer.index = origin.step
    if trainer.average:
        trainer.average.reset(child.model)
    seed = int(hashlib.sha256(f"{child.seed}/{origin.step}".encode()).hexdigest()[:12], 16)
    trainer.data_rng = torch.Generator().manual_seed(seed)
    trainer.dropout_rng_state = torch.Generator().manual_seed(seed + 1).get_state()
    if origin.exact:
        _copy_training_state(trainer, parent.trainer, same_seed=child.seed == parent.seed)
    elif trainer.curriculum and (limits := [step.limit for step in parent.steps[: origin.step + 1] if step.limit]):
        trainer.curriculum.limit = limits[-1]
    child.steps = parent.steps[: origin.step]
    before = [s for s in parent.snapshots if s.step < origin.step] if _same_function(child, parent) else []
    child.snapshots.inherit([*before, snapshot_at(parent, origin.step) or Snapshot.of(origin.step, child.model)])


def missing_parent(recipe: ForkRecipe) -> ConfigError:
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


def split_changes(recipe: Recipe, changes: dict[str, Any], subject: Text) -> tuple[dict[str, Any], dict[str, Any]]:
    """Changes of the model and of the training; `ConfigError` for an option of neither, naming the `subject`."""
    training_options = {option.name for option in recipe.training.options()}
    model_options = {option.name for option in recipe.model.options()}
    for name, value in changes.items():
        if name not in training_options | model_options:
            why = Text("{of} has no such option.", of=subject)
            raise unknown_name(name, value, why, sorted(training_options | model_options), name)
    return (
        {name: value for name, value in changes.items() if name not in training_options},
        {name: value for name, value in changes.items() if name in training_options},
    )


def check_shapes(child: Run, parent: Run, is_inherited: Callable[[str], bool] = lambda name: True) -> None:
    """`ConfigError` unless the parameters that are inherited (by name; default all) have the same shapes in both."""
    old, new = (
        {name: tuple(p.shape) for name, p in run.model.named_parameters() if is_inherited(name)}
        for run in (parent, child)
    )
    if old == new:
        return
    options, before = child.recipe.model.to_dict(), parent.recipe.model.to_dict()
    changed = [name for name in options if options[name] != before[name]]
    weight = next(name for name in {**old, **new} if old.get(name) != new.get(name))
    shapes = [str(shapes.get(weight, "–")) for shapes in (old, new)]
    raise ConfigError(
        ", ".join(changed),
        options[changed[0]] if len(changed) == 1 else tuple(options[name] for name in changed),
        Text(
            "that does not fit the weights there are: {weight} is {old}, it would be {new}.",
            weight=weight,
            old=shapes[0],
            new=shapes[1],
        ),
        Text("Change only options that keep all shapes, or train a new run."),
    )


def _copy_training_state(new: Trainer, old: Trainer, same_seed: bool) -> None:
    """Optimiser, averaged weights, curriculum and, with the same seed, random generators, as far as `new` has them."""
    state = old.state_dict()
    optimiser = {**new.optimiser.state_dict(), "state": state["optimiser"]["state"]}
    average = None if new.average is None else (new.average.updates, new.average.shadow)
    new.load_state_dict(
        {
            **state,
            "optimiser": optimiser,
            "average": state["average"] or average,
            "curriculum": state["curriculum"] or (new.curriculum and new.curriculum.state_dict()),
            "data": state["data"] if same_seed else new.data_rng.get_state(),
            "noise": state["noise"] if same_seed else new.dropout_rng_state,
        }
    )


def _same_function(child: Run, parent: Run) -> bool:
    """Whether both models compute the same from the same weights, so that the parent's snapshots hold for the child."""
    neutral = {name: value for name, value in parent.recipe.model.to_dict().items() if name in SAME_FUNCTION}
    return replace(child.recipe.model, **neutral) == parent.recipe.model


def _no_such_step(parent: Run, step: int) -> ConfigError:
    steps = {snapshot.step for snapshot in parent.snapshots}
    if has_exact_state(parent, len(parent.steps)):
        steps.add(len(parent.steps))
    listed = ", ".join(map(str, sorted(steps)))
    return ConfigError(
        "step",
        step,
        Text("the weights of this step were not kept."),
        Text("Choose one of: {listed}.", listed=listed),
    )
