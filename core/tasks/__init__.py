"""Tasks: random problems with known answers, held-out sets, and their layout as model inputs.

`synthetic/` has algorithmic tasks, `language/` tasks made from grammars, `custom/` tasks made from a user's file;
`registry.py` finds them by name.
"""

from core.tasks.base import DataError, Task, WorkedExample
from core.tasks.custom.custom_task import custom_task
from core.tasks.layouts import Batch, Examples
from core.tasks.registry import TASKS, as_task, task, tasks

__all__ = [
    "TASKS",
    "Batch",
    "DataError",
    "Examples",
    "Task",
    "WorkedExample",
    "as_task",
    "custom_task",
    "task",
    "tasks",
]
