"""What can happen to a run in the hands of workers, said to whoever asked for it."""

from __future__ import annotations

from core.config.options import Text
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
NOT_PAUSED = Text("Pause this run first; then it can go one step at a time.", "请先暂停此运行，再单步执行。")
STILL_BUSY = Text(
    "A worker is still busy with a long step of this run. Try again in a moment.",
    "工作进程仍在计算此运行的一个长步骤，请稍后再试。",
)
STOPPED = Text("It was stopped before its end.", "在结束前被停止。")

RAY = "2.60.0"
NO_RAY = (
    Text("the package ray is not installed.", "未安装 ray 软件包。"),
    Text(f"Install it with `pip install ray=={RAY}`.", f"请用 `pip install ray=={RAY}` 安装。"),
)
NO_ADDRESS = (
    Text("that is not the address of a Ray cluster.", "这不是 Ray 集群的地址。"),
    Text(
        'Use "auto", or host:port of its head, as in 10.0.0.5:6379.',
        "请用 auto，或主节点的 主机:端口，如 10.0.0.5:6379。",
    ),
)
RAY_CLIENT = (
    Text("that is an address for Ray's client, which is not supported.", "这是 Ray 客户端的地址，不受支持。"),
    Text(
        "Let this machine join the cluster with `ray start --address=HOST:6379 --num-cpus=0`, then use auto.",
        "请先用 `ray start --address=HOST:6379 --num-cpus=0` 让本机加入集群，再用 auto。",
    ),
)
HAS_WORKERS = (
    Text("the jobs that were given have workers already.", "给出的任务管理器已有工作进程。"),
    Text("Give the address to Jobs(store, ray=...) instead.", "请将地址交给 Jobs(store, ray=...)。"),
)
NO_PROCESSORS = (
    Text("the Ray cluster has no processors.", "该 Ray 集群没有处理器。"),
    Text("Add a node with `ray start --address=HOST:6379`.", "请用 `ray start --address=HOST:6379` 添加节点。"),
)
START_RAY = Text(
    "Start one with `ray start --head`, or, if there is one, let this machine join it with "
    "`ray start --address=HOST:6379 --num-cpus=0`.",
    "请用 `ray start --head` 启动集群；如已有集群，请用 `ray start --address=HOST:6379 --num-cpus=0` 让本机加入。",
)
SAME_VERSIONS = Text(
    f"Its nodes need the same versions of Python and ray ({RAY}) as this machine.",
    f"其各节点的 Python 与 ray（{RAY}）版本须与本机一致。",
)
CLUSTER_LOST = Text(
    "The Ray cluster gives no workers any more; the run is stored up to its last checkpoint. "
    "Start it again when the cluster is back.",
    "Ray 集群不再提供工作进程；运行已保存至最近的检查点。集群恢复后请重新开始。",
)


def unreachable(address: str) -> Text:
    if address == "auto":
        return Text("this machine is not part of a running Ray cluster.", "本机不属于任何正在运行的 Ray 集群。")
    return Text("no Ray cluster answers there.", "该地址没有 Ray 集群应答。")


def refused_by_ray(error: Exception) -> Text:
    """What ray itself says, which is in English."""
    reason = " ".join(str(error).split())
    return Text(f"ray refuses: {reason}", f"ray 拒绝连接：{reason}")


def diverged(end: Diverged) -> Text:
    return Text(f"Step {end.step}: {end.why.en}", f"第 {end.step} 步：{end.why.zh}")
