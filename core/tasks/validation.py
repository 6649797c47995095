"""Errors and checks of tasks: models that cannot learn one, options out of order, too few problems.

Run before training, so that an unsuitable model fails with the option to change and not inside the first step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from core.config.families import Config
from core.config.options import to_python_number
from core.errors import ConfigError, InputError
from core.translatable import Text

if TYPE_CHECKING:
    from core.tasks.base import Task

HEADS_WITH_LABELS = ("classifier", "tagger", "crf", "pointer")  # whose output has n_labels classes
MEASURED_ROWS = 4096


def model_config(model: nn.Module) -> Config:
    """The configuration of a model made by `core.build`; raises `InputError` for others, and on the meta device."""
    config = getattr(model, "config", None)
    if not isinstance(config, Config):
        kind = type(model).__name__
        raise InputError(
            "Only models made by core.build can meet a task, not {kind}.",
            kind=kind,
        )
    if any(weight.is_meta for weight in model.parameters()):
        raise InputError(
            "This model is on the meta device: it has shapes but no numbers. Build it without device='meta'.",
        )
    return config


def unsuitable_model(task: Task, family: str, head: str | None) -> ConfigError:
    """The error for a head that cannot learn the task, or a family that has no such head."""
    heads = [f"head={name!r}" for name in task.heads(family)] if head else []
    listed = ", ".join(heads or task.families)
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
    """Raise `ConfigError` unless vocabulary, labels and positions suffice for the task's training problems."""
    if config.vocab_size < task.vocab_size:
        raise _too_small(
            "vocab_size",
            config.vocab_size,
            task.vocab_size,
            Text("the task {task} has {needed} different tokens.", task=task.name, needed=task.vocab_size),
        )
    head, n_labels = getattr(config, "head", None), getattr(config, "n_labels", 0)
    if head in HEADS_WITH_LABELS:
        exact = head == "pointer"
        if n_labels < task.n_labels or (exact and n_labels > task.n_labels):
            raise _too_small(
                "n_labels",
                n_labels,
                task.n_labels,
                Text("the task {task} has {needed} labels.", task=task.name, needed=task.n_labels),
                exact,
            )
    if config.max_len <= task.max_tokens(form) and config.max_len < (longest := longest_row(task, form)):
        raise _too_small(
            "max_len",
            config.max_len,
            longest,
            Text("the task {task} has {needed} tokens in its longest rows.", task=task.name, needed=longest),
        )


def longest_row(task: Task, form: str) -> int:
    """As `Task.max_tokens`, which is slightly off for some tasks, but measured on problems of the longest length.

    A longer row that is too rare to be among these is an error of the model itself.
    """
    rng = torch.Generator().manual_seed(0)
    batch = task.lay_out(task.draw(MEASURED_ROWS, rng, task.longest, task.longest), form)
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


def too_few_problems(task: Task, length: int | None) -> ConfigError:
    """The error for a task that has too few problems on one side of the held-out split."""
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


def check_order(name: str, low: int, high: int) -> None:
    """Raise `ConfigError` for the option `name`, the lower end of a range, if it is above the upper end."""
    if low > high:
        raise ConfigError(
            name,
            low,
            Text("the longest is only {longest}.", longest=high),
            Text("Use at most {longest}.", longest=high),
        )


def positive_integer(name: str, value: Any) -> int:
    number = to_python_number(value)
    if type(number) is not int or number < 1:
        raise ConfigError(
            name,
            value,
            Text("it must be a whole number from 1 on."),
            Text("Use for example 16."),
        )
    return number
