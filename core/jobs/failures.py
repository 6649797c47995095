"""Messages about runs that could not be trained or stored, and about Ray clusters that cannot be used."""

from __future__ import annotations

from core.training.loop import Diverged
from core.translatable import Text

MOST_DEATHS = 3
BUG = Text(
    "Training ended because of an error in the program; the log has the details.",
)
NOT_STORED = Text("The run could not be stored; perhaps there is no room left on the disk.")
NO_WORKERS = Text("No worker process can be started; the log may say why.")
RESUMES = Text(
    "The process training this run ended unexpectedly; it goes on from its last checkpoint.",
)
DIED_TOO_OFTEN = Text(
    "The process training this run ended {most_deaths} times; perhaps there is not enough "
    "memory. Try a smaller model or batch.",
    most_deaths=MOST_DEATHS,
)
NOT_PAUSED = Text("Pause this run first; then it can go one step at a time.")
STILL_BUSY = Text(
    "A worker is still busy with a long step of this run. Try again in a moment.",
)
STOPPED = Text("It was stopped before its end.")

RAY = "2.60.0"
NO_RAY = (
    Text("the package ray is not installed."),
    Text("Install it with `pip install ray=={ray}`.", ray=RAY),
)
NO_ADDRESS = (
    Text("that is not the address of a Ray cluster."),
    Text(
        'Use "auto", or host:port of its head, as in 10.0.0.5:6379.',
    ),
)
RAY_CLIENT = (
    Text("that is an address for Ray's client, which is not supported."),
    Text(
        "Let this machine join the cluster with `ray start --address=HOST:6379 --num-cpus=0`, then use auto.",
    ),
)
HAS_WORKERS = (
    Text("the jobs that were given have workers already."),
    Text("Give the address to Jobs(store, ray=...) instead."),
)
NO_PROCESSORS = (
    Text("the Ray cluster has no processors."),
    Text("Add a node with `ray start --address=HOST:6379`."),
)
START_RAY = Text(
    "Start one with `ray start --head`, or, if there is one, let this machine join it with "
    "`ray start --address=HOST:6379 --num-cpus=0`.",
)
SAME_VERSIONS = Text(
    "Its nodes need the same versions of Python and ray ({ray}) as this machine.",
    ray=RAY,
)
CLUSTER_LOST = Text(
    "The Ray cluster gives no workers any more; the run is stored up to its last checkpoint. "
    "Start it again when the cluster is back.",
)


def unreachable(address: str) -> Text:
    if address == "auto":
        return Text("this machine is not part of a running Ray cluster.")
    return Text("no Ray cluster answers there.")


def refused_by_ray(error: Exception) -> Text:
    """With ray's own message, which is in English."""
    reason = " ".join(str(error).split())
    return Text("ray refuses: {reason}", reason=reason)


def divergence(end: Diverged) -> Text:
    return Text("Step {step}: {why}", step=end.step, why=end.why)
