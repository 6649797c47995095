"""What can happen to a run in the hands of workers, said to whoever asked for it."""

from __future__ import annotations

from core.options import ConfigError, Text
from core.recipes import Recipe
from core.tasks import TASKS
from core.training.loop import Diverged

MOST_DEATHS = 3
BUG = Text(
    "Training ended because of an error in the program; the log has the details.",
    "训练因程序错误而中止；详情见日志。",
)
NOT_STORED = Text(
    "The run could not be stored; perhaps there is no room left on the disk.", "运行无法保存；磁盘空间可能不足。"
)
NO_WORKERS = Text("No worker process can be started; the log may say why.", "无法启动工作进程；原因可能见日志。")
RESUMES = Text(
    "The process training this run ended unexpectedly; it goes on from its last checkpoint.",
    "训练此运行的进程意外结束；正从最近的检查点继续。",
)
DIED_TOO_OFTEN = Text(
    f"The process training this run ended {MOST_DEATHS} times; perhaps there is not enough memory. "
    "Try a smaller model or batch.",
    f"训练此运行的进程已 {MOST_DEATHS} 次意外结束；可能内存不足。请用更小的模型或批次。",
)
STOPPED = Text("It was stopped before its end.", "在结束前被停止。")


def diverged(end: Diverged) -> Text:
    return Text(f"Step {end.step}: {end.why.en}", f"第 {end.step} 步：{end.why.zh}")


def check_storable(recipe: Recipe) -> None:
    """A worker opens a run by what the store tells of it, which a task made from a file is not part of."""
    if recipe.task.name not in TASKS:
        raise ConfigError(
            "task",
            recipe.task.name,
            Text(
                "a run on own data cannot be stored, so no worker can train it.",
                "自有数据上的运行无法保存，因此不能由工作进程训练。",
            ),
            Text(f"Choose one of: {', '.join(TASKS)}.", f"请选择其一：{'、'.join(TASKS)}。"),
        )
