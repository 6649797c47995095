"""Tasks by name."""

from __future__ import annotations

from typing import Any

from core.options import ConfigError, Text, no_such
from core.tasks.addition import Addition
from core.tasks.base import Batch, DataError, Examples, Task, Worked
from core.tasks.brackets import Brackets
from core.tasks.classes import SentenceClasses
from core.tasks.copying import Copy, Reverse, RunningParity, Sort
from core.tasks.dates import Dates
from core.tasks.entities import Entities
from core.tasks.following import NextSentence
from core.tasks.induction import Induction
from core.tasks.masked import MaskedWords
from core.tasks.modular import ModularAddition
from core.tasks.nested import NestedNames
from core.tasks.own import own
from core.tasks.parity import Parity
from core.tasks.questions import Questions
from core.tasks.recall import Recall
from core.tasks.scratchpad import ScratchpadParity
from core.tasks.text import Characters
from core.tasks.translation import Translation

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in [
        Parity, RunningParity, ScratchpadParity, Copy, Reverse, Sort, Induction, Recall, Addition, ModularAddition,
        Brackets, Dates, Translation, Characters, MaskedWords, NextSentence, Entities, SentenceClasses, Questions,
        NestedNames,
    ]
}  # fmt: skip


def tasks() -> list[str]:
    return list(TASKS)


def task(name: str, **knobs: Any) -> Task:
    """A task by name, with its knobs; bad ones raise `ConfigError`."""
    if name not in TASKS:
        raise no_such("task", name, Text("there is no such task.", "没有这个任务。"), TASKS)
    return TASKS[name].make(**knobs)


def as_task(wanted: Task | str) -> Task:
    """A task as it is, or the one of this name with its usual knobs."""
    if isinstance(wanted, str):
        return task(wanted)
    if not isinstance(wanted, Task):
        raise ConfigError(
            "task",
            wanted,
            Text("that is not a task.", "这不是任务。"),
            Text('Use its name, or core.task("induction").', '请用其名称，或 core.task("induction")。'),
        )
    return wanted


__all__ = ["TASKS", "Batch", "DataError", "Examples", "Task", "Worked", "as_task", "own", "task", "tasks"]
