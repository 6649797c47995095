"""Toy tasks by name."""

from __future__ import annotations

from typing import Any

from core.options import ConfigError, Text
from core.tasks.base import Batch, Examples, Task
from core.tasks.copying import Copy, Reverse, Sort
from core.tasks.induction import Induction
from core.tasks.parity import Parity

TASKS: dict[str, type[Task]] = {task.name: task for task in [Parity, Copy, Reverse, Sort, Induction]}


def tasks() -> list[str]:
    return list(TASKS)


def task(name: str, **knobs: Any) -> Task:
    """A task by name, with its knobs; bad ones raise `ConfigError`."""
    if name not in TASKS:
        known = ", ".join(TASKS)
        raise ConfigError(
            "task",
            name,
            Text("there is no such task.", "没有这个任务。"),
            Text(f"Choose one of: {known}.", f"请选择其一：{known}。"),
        )
    return TASKS[name].make(**knobs)


__all__ = ["TASKS", "Batch", "Examples", "Task", "task", "tasks"]
