"""What is sent to a Ray node to begin with: it brings the program along, so that all nodes run the caller's version.

Sent by value, before the node has any of the program: at the top, only what every Ray node has may be imported here.
"""

from __future__ import annotations

import sys
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from typing import Any

import ray


class Luggage(MetaPathFinder, ExecutionLoader):
    """Imports modules from their sources in memory; a package is a module with others below it."""

    def __init__(self, sources: dict[str, str]):
        self.sources = sources  # by dotted name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name in self.sources else None

    def get_filename(self, name: str) -> str:
        """For tracebacks; there is no such file."""
        return f"/caller/{name.replace('.', '/')}{'/__init__' if self.is_package(name) else ''}.py"

    def get_source(self, name: str) -> str:
        return self.sources[name]

    def is_package(self, name: str) -> bool:
        return any(other.startswith(f"{name}.") for other in self.sources)


@ray.remote(num_cpus=1, concurrency_groups={"orders": 1, "receipts": 1, "answers": 1}, scheduling_strategy="SPREAD")
class Seat:
    """The actor: a worker's desk on a node, spoken to by `core.jobs.ray.driver`.

    Each of its methods has one thread of its own, so that orders stay in their order while answers are waited for.
    """

    def __init__(self, sources: dict[str, str], checkpoint_seconds: float, versions: dict[str, str]):
        sys.meta_path.insert(0, Luggage(sources))
        from core.jobs.ray.worker_loop import RayDesk

        self.desk = RayDesk(checkpoint_seconds, versions)

    @ray.method(concurrency_group="orders")
    def order(self, order: tuple, files: dict[str, bytes]) -> None:
        """The next order, and the stored runs that it needs."""
        self.desk.line.orders.put((order, files))

    @ray.method(concurrency_group="receipts")
    def confirm(self, problem: str | None) -> None:
        """A run that was sent has been stored, or why it could not be."""
        self.desk.line.receipts.put(problem)

    @ray.method(concurrency_group="answers")
    def answers(self) -> list[tuple]:
        """What there is to tell; waits until there is something."""
        return self.desk.line.told()
