"""Tasks by name."""

from __future__ import annotations

from typing import Any

from core.errors import ConfigError, unknown_name
from core.tasks.base import Task
from core.tasks.language.characters import Characters
from core.tasks.language.dates import Dates
from core.tasks.language.entities import Entities
from core.tasks.language.masked_words import MaskedWords
from core.tasks.language.nested_entities import NestedNames
from core.tasks.language.next_sentence import NextSentence
from core.tasks.language.questions import Questions
from core.tasks.language.sentence_classes import SentenceClasses
from core.tasks.language.translation import Translation
from core.tasks.synthetic.addition import Addition
from core.tasks.synthetic.brackets import Brackets
from core.tasks.synthetic.copying import Copy, Reverse, RunningParity, Sort
from core.tasks.synthetic.induction import Induction
from core.tasks.synthetic.modular_addition import ModularAddition
from core.tasks.synthetic.parity import Parity
from core.tasks.synthetic.recall import Recall
from core.tasks.synthetic.scratchpad import ScratchpadParity
from core.translatable import Text

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


def task(name: str, **options: Any) -> Task:
    """A task by name, with its options; unknown names and bad values raise `ConfigError`."""
    if name not in TASKS:
        raise unknown_name("task", name, Text("there is no such task."), TASKS)
    return TASKS[name].make(**options)


def as_task(name_or_task: Task | str) -> Task:
    """A task as it is, or the one of this name with its default options."""
    if isinstance(name_or_task, str):
        return task(name_or_task)
    if not isinstance(name_or_task, Task):
        raise ConfigError(
            "task",
            name_or_task,
            Text("that is not a task."),
            Text('Use its name, or core.task("induction").'),
        )
    return name_or_task
