"""Tasks: random problems with known answers, held-out sets, and their layout as model inputs.

`synthetic/` algorithmic toys, `language/` tasks made from grammars, `custom/` a user's own file; `registry.py` by name.
"""

from core.tasks.base import DataError, Task, Worked
from core.tasks.custom.tasks import custom_task
from core.tasks.layouts import Batch, Examples
from core.tasks.registry import TASKS, as_task, task, tasks

__all__ = ["TASKS", "Batch", "DataError", "Examples", "Task", "Worked", "as_task", "custom_task", "task", "tasks"]
