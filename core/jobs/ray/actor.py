"""The Ray actor: imports the caller's sources, sent with it, so that all nodes run the caller's version of the program.

This module is pickled by value, before the node has any of the program: at the top, only what every Ray node has may be
imported.
"""

from __future__ import annotations

import sys
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from typing import TYPE_CHECKING, Any

import ray

if TYPE_CHECKING:
    from core.jobs.messages import WorkerOrder, WorkerReply


class SourceImporter(MetaPathFinder, ExecutionLoader):
    """Imports modules from their sources in memory; a package is a module with others below it."""

    def __init__(self, sources: dict[str, str]):
        self.sources = sources  # by dotted name

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in self.sources else None

    def get_filename(self, fullname: str) -> str:
        """For tracebacks; there is no such file."""
        return f"/caller/{fullname.replace('.', '/')}{'/__init__' if self.is_package(fullname) else ''}.py"

    def get_source(self, fullname: str) -> str:
        return self.sources[fullname]

    def is_package(self, fullname: str) -> bool:
        return any(name.startswith(f"{fullname}.") for name in self.sources)


@ray.remote(
    num_cpus=1,
    scheduling_strategy="SPREAD",
    concurrency_groups={"orders": 1, "receipts": 1, "replies": 1},  # pyrefly: ignore[unexpected-keyword]
)
class WorkerActor:
    """A worker on a node; its methods are called by `core.jobs.ray.driver`.

    Each method has a thread of its own, so that orders keep their order while replies are waited for.
    """

    def __init__(self, sources: dict[str, str], checkpoint_seconds: float, versions: dict[str, str]):
        sys.meta_path.insert(0, SourceImporter(sources))
        from core.jobs.ray.worker_loop import RayWorkerLoop

        self.connection = RayWorkerLoop(checkpoint_seconds, versions).connection

    @ray.method(concurrency_group="orders")
    def put_order(self, order: WorkerOrder, files: dict[str, bytes]) -> None:
        """The next order, and the files of the stored runs that it needs."""
        self.connection.orders.put((order, files))

    @ray.method(concurrency_group="receipts")
    def confirm_stored(self, problem: str | None) -> None:
        """The run that was sent is on the caller's disk; or why it could not be stored."""
        self.connection.receipts.put(problem)

    @ray.method(concurrency_group="replies")
    def take_replies(self) -> list[WorkerReply]:
        """All replies since the last call; waits until there is one."""
        return self.connection.take_replies()
