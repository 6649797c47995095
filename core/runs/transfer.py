"""Transfer: a run on a new task whose model body starts from another run's weights; only the head is new.

The body is everything between the token ids and the head. Tokens of both vocabularies keep their embedding, whatever
their ids; new tokens are initialised as in a new model. This is fine-tuning (Devlin et al. 2019); trained beside the
same recipe from scratch, it measures what pretraining on the first task is worth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from core.errors import ConfigError
from core.models import configure
from core.runs.fork import ForkRecipe, check_shapes, make_origin, origin_weights, split_changes
from core.runs.recipes import Recipe
from core.tasks.base import ENCODER_DECODERS, FORMS, SPECIAL, Task
from core.training.options import Training
from core.translatable import Text

if TYPE_CHECKING:
    from core.runs.run import Run

HEAD_PREFIXES = ("head.", "next_sentence.")  # of parameters that belong to a task, not to the body
EMBEDDING_SUFFIX = "token_embedding.weight"


@dataclass(frozen=True, kw_only=True)
class TransferRecipe(ForkRecipe):
    """A recipe whose body starts from another run's weights; its steps are counted from 0."""

    @property
    def start_step(self) -> int:
        return 0

    @property
    def from_scratch(self) -> Recipe:
        """The same recipe with random initial weights."""
        return Recipe(self.model, self.task, self.training)

    def to_dict(self) -> dict[str, Any]:
        return {**self.from_scratch.to_dict(), "body": asdict(self.origin)}


def transfer_recipe(
    parent: Run, task: Task, step: int | None, head: str | None, options: dict[str, Any]
) -> TransferRecipe:
    """The parent's model with a head for the task; `ConfigError` for a task or an option that does not fit."""
    origin = make_origin(parent, len(parent.steps) if step is None else step)
    _check_shared_vocabulary(parent.task, task)
    model_changes, training_options = split_changes(parent.recipe, options, Text("a transfer"))
    family, old = parent.recipe.family, parent.recipe.model
    required = {**task.model_options(family, head), "max_len": old.max_len}
    model = configure(family, **{**old.to_dict(), **required, **model_changes})
    room = task.max_tokens("pairs" if family in ENCODER_DECODERS else FORMS[model.to_dict()["head"]])
    if room > model.max_len:
        raise ConfigError(
            "max_len",
            model.max_len,
            Text("the task {name} has up to {room} tokens.", name=task.name, room=room),
            Text(
                "Train the run that this one begins in with max_len={room} or more.",
                room=room,
            ),
        )
    return TransferRecipe(model, task, Training.make(**training_options), origin=origin)


def initialise_transfer(child: Run, parent: Run, recipe: TransferRecipe) -> None:
    """Copy the parent's body, and the embeddings of shared tokens, into the child's model."""
    weights = origin_weights(parent, recipe)
    check_shapes(child, parent, lambda name: not (name.startswith(HEAD_PREFIXES) or name.endswith(EMBEDDING_SUFFIX)))
    parent_ids, child_ids = shared_tokens(parent.task, child.task)
    with torch.no_grad():
        for name, parameter in child.model.named_parameters():
            if name.endswith(EMBEDDING_SUFFIX):
                parameter[child_ids] = weights[name][parent_ids].to(parameter.dtype)
            elif not name.startswith(HEAD_PREFIXES):
                parameter.copy_(weights[name])
    if child.trainer.average:
        child.trainer.average.reset(child.model)
    child.snapshots.record(0, child.model)


def shared_tokens(first: Task, second: Task) -> tuple[list[int], list[int]]:
    """The ids of the tokens of both vocabularies: in the first, and in the second."""
    ids = {token: i for i, token in reversed(list(enumerate(first.tokens)))}
    pairs = [(ids[token], i) for i, token in enumerate(second.tokens) if token in ids]
    return [i for i, _ in pairs], [i for _, i in pairs]


def _check_shared_vocabulary(first: Task, second: Task) -> None:
    if not set(first.tokens) & set(second.tokens) - set(SPECIAL):
        raise ConfigError(
            "task",
            second.name,
            Text("it has no word in common with {name}.", name=first.name),
            Text(
                "Choose a task in the same words, or train {name} from scratch.",
                name=second.name,
            ),
        )
