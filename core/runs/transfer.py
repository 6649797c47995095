"""Transfer: a new task that begins with the body of a model trained on another one; only the head is fresh.

The body is all that lies between the token ids and the head. A word that both tasks know keeps its embedding, whatever
its number in either; words that the first one never met begin as in any new model. That is fine-tuning (Devlin et al.
2019), and with the same recipe from scratch beside it, a measurement of what the first task was worth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch

from core.errors import ConfigError
from core.messages import Text
from core.models import configure
from core.runs.fork import Forked, check_shapes, origin_at, split_changes, weights_at
from core.runs.recipes import Recipe
from core.tasks.base import ENCODER_DECODERS, FORMS, SPECIAL, Task
from core.training.options import Training

if TYPE_CHECKING:
    from core.runs.run import Run

HEADS = ("head.", "next_sentence.")  # how the names of weights begin that answer a task's own question
WORDS = "token_embedding.weight"


@dataclass(frozen=True)
class Transferred(Forked):
    """A recipe whose body begins with another run's weights; its steps are its own, counted from 0."""

    @property
    def begins_at(self) -> int:
        return 0

    @property
    def from_scratch(self) -> Recipe:
        """The same without that beginning."""
        return Recipe(self.model, self.task, self.training)

    def to_dict(self) -> dict[str, Any]:
        return {**self.from_scratch.to_dict(), "body": asdict(self.origin)}


def transfer_recipe(
    parent: Run, task: Task, step: int | None, head: str | None, options: dict[str, Any]
) -> Transferred:
    """The parent's model with a head for the task; a `ConfigError` for what cannot be."""
    origin = origin_at(parent, len(parent.steps) if step is None else step)
    _check_words(parent.task, task)
    of_model, of_training = split_changes(parent.recipe, options, Text("a transfer"))
    family, old = parent.recipe.family, parent.recipe.model
    needed = {**task.model_options(family, head), "max_len": old.max_len}
    model = configure(family, **{**old.to_dict(), **needed, **of_model})
    room = task.max_tokens("pairs" if family in ENCODER_DECODERS else FORMS[model.head])
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
    return Transferred(model, task, Training.make(**of_training), origin=origin)


def begin_transfer(child: Run, parent: Run) -> None:
    """Give the new run its body."""
    weights = weights_at(parent, child.recipe)
    check_shapes(child, parent, lambda name: not (name.startswith(HEADS) or name.endswith(WORDS)))
    before, now = shared_words(parent.task, child.task)
    with torch.no_grad():
        for name, parameter in child.model.named_parameters():
            if name.endswith(WORDS):
                parameter[now] = weights[name][before].to(parameter.dtype)
            elif not name.startswith(HEADS):
                parameter.copy_(weights[name])
    if child.trainer.average:
        child.trainer.average.begin(child.model)
    child.snapshots.offer(0, child.model)


def shared_words(first: Task, second: Task) -> tuple[list[int], list[int]]:
    """The ids of the words that both tasks know: in the first, and in the second."""
    ids = {token: i for i, token in reversed(list(enumerate(first.tokens)))}
    pairs = [(ids[token], i) for i, token in enumerate(second.tokens) if token in ids]
    return [i for i, _ in pairs], [i for _, i in pairs]


def _check_words(first: Task, second: Task) -> None:
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
