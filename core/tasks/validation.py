"""What a task refuses, and why: a model that was not made for it, problems that are not there.

Asked where model and task meet, so that nothing unsuitable is found out by the first step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from core.config.families import Config
from core.config.options import to_python_number
from core.errors import ConfigError, InputError
from core.messages import Text

if TYPE_CHECKING:
    from core.tasks.base import Task

LABELLED = ("classifier", "tagger", "crf", "pointer")  # heads that tell n_labels apart
TRIED = 4096  # problems whose rows are measured


def check_model(model: nn.Module) -> None:
    """A model of ours, and one with numbers in it."""
    if not isinstance(getattr(model, "config", None), Config):
        kind = type(model).__name__
        raise InputError(
            "Only models made by core.build can meet a task, not {kind}.",
            kind=kind,
        )
    if any(weight.is_meta for weight in model.parameters()):
        raise InputError(
            "This model is on the meta device: it has shapes but no numbers. Build it without device='meta'.",
        )


def unmet(task: Task, family: str, head: str | None) -> ConfigError:
    """A head that does not answer what the task asks, or a family that has none that does."""
    fitting = [f"head={one!r}" for one in task.heads(family)] if head else []
    listed = ", ".join(fitting or task.families)
    return ConfigError(
        "head" if head else "family",
        head or family,
        Text("the task {name} does not ask for that.", name=task.name),
        Text(
            "What suits it: {listed}; task.model_options(family) has all that a model needs for it.",
            listed=listed,
        ),
    )


def check_sizes(task: Task, config: Config, form: str) -> None:
    """Words, labels and positions for all that the task asks in training."""
    if config.vocab_size < task.vocab_size:
        raise _too_small(
            "vocab_size",
            config.vocab_size,
            task.vocab_size,
            Text("the task {task} has {needed} different tokens.", task=task.name, needed=task.vocab_size),
        )
    if getattr(config, "head", None) in LABELLED:
        exact = config.head == "pointer"
        if config.n_labels < task.n_labels or (exact and config.n_labels > task.n_labels):
            raise _too_small(
                "n_labels",
                config.n_labels,
                task.n_labels,
                Text("the task {task} has {needed} labels.", task=task.name, needed=task.n_labels),
                exact,
            )
    if config.max_len <= task.room(form) and config.max_len < (longest := longest_row(task, form)):
        raise _too_small(
            "max_len",
            config.max_len,
            longest,
            Text("the task {task} has {needed} tokens in its longest rows.", task=task.name, needed=longest),
        )


def longest_row(task: Task, form: str) -> int:
    """As `Task.room`, which is a little too much or too little for some tasks, but measured. A row so rare that it is
    not among these is refused by the model itself."""
    rng = torch.Generator().manual_seed(0)
    batch = task.lay_out(task.draw(TRIED, rng, task.longest, task.longest), form)
    return max(rows.shape[1] for rows in batch.inputs if rows.dim() == 2)


def _too_small(option: str, value: int, needed: int, why: Text, exact: bool = False) -> ConfigError:
    remedy = Text(
        "Use {option}={needed} or more; task.model_options(family) has all that a model needs for it.",
        option=option,
        needed=needed,
    )
    if exact:
        remedy = Text(
            "Use {option}={needed}; task.model_options(family) has all that a model needs for it.",
            option=option,
            needed=needed,
        )
    return ConfigError(option, value, why, remedy)


def too_few(task: Task, length: int | None) -> ConfigError:
    """No problem lies on the wanted side of the split."""
    if length is None:
        return ConfigError(
            "max_len",
            task.longest,
            Text(
                "there are too few different problems to keep some for evaluation.",
            ),
            Text("Use longer sequences or more symbols."),
        )
    greater = max(length + 1, task.longest)
    return ConfigError(
        "length",
        length,
        Text(
            "there are so few problems of this length that none of them is kept for evaluation.",
        ),
        Text("Use a greater length, for example {greater}.", greater=greater),
    )


def counted(name: str, value: Any) -> int:
    """A whole number from 1 on."""
    number = to_python_number(value)
    if type(number) is not int or number < 1:
        raise ConfigError(
            name,
            value,
            Text("it must be a whole number from 1 on."),
            Text("Use for example 16."),
        )
    return number
