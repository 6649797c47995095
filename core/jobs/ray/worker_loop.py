"""The worker's loop inside a Ray actor: the same orders and replies, but no disk shared with the caller.

Runs come with the order that needs them, and every checkpoint goes back as bytes in a `RunStored`, which the caller
confirms once it is on its disk. So a stored run is safe from the death of the node, and the time that takes counts as
time for storing.
"""

from __future__ import annotations

import importlib
import threading
import traceback
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import numpy
import safetensors
import torch

from core.jobs.messages import LogLine, LoopEnded, RunStored, WorkerOrder, WorkerReply
from core.jobs.worker.loop import WorkerLoop
from core.runs.run import Run
from core.runs.store import Store


def versions() -> dict[str, str]:
    """Of the libraries that decide the last digits of a loss."""
    return {module.__name__: module.__version__ for module in (torch, numpy, safetensors)}


class QueueConnection:
    """The loop's connection: queues, as its other end is in the same process."""

    def __init__(self, folder: Path):
        self.folder = folder  # of the loop's store
        self.orders: SimpleQueue[tuple[WorkerOrder, dict[str, bytes]]] = SimpleQueue()
        self.replies: SimpleQueue[WorkerReply] = SimpleQueue()
        self.receipts: SimpleQueue[str | None] = SimpleQueue()

    def recv(self) -> WorkerOrder:
        order, files = self.orders.get()
        for path in self.folder.iterdir():  # of the last order; the loop has it in memory
            path.unlink()
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        return order

    def send(self, reply: WorkerReply) -> None:
        self.replies.put(reply)

    def poll(self) -> bool:
        return not self.orders.empty()

    def take_replies(self) -> list[WorkerReply]:
        """All that there are, at least one."""
        replies = [self.replies.get()]
        while not self.replies.empty():
            replies.append(self.replies.get())
        return replies


class RemoteStore(Store):
    """Stores runs with the caller; its own folder only serves to read and write a run's file."""

    def __init__(self, connection: QueueConnection):
        super().__init__(connection.folder)
        self.connection = connection

    def save(self, run: Run) -> Path:
        path = super().save(run)
        self.connection.send(RunStored(run.key, path.read_bytes()))
        problem = self.connection.receipts.get()
        if problem is not None:
            raise OSError(problem)
        return path


class RayWorkerLoop:
    """Runs a `WorkerLoop` in a thread of its own, while the actor's threads put orders and take replies."""

    def __init__(self, checkpoint_seconds: float, caller_versions: dict[str, str]):
        self.folder = TemporaryDirectory(prefix="innerview-")
        self.connection = QueueConnection(Path(self.folder.name))
        differences = ", ".join(
            f"{name} {version} instead of {caller_versions[name]}"
            for name, version in versions().items()
            if version != caller_versions[name]
        )
        if differences:
            self.connection.send(
                LogLine(f"A Ray node has {differences}; its losses may differ in their last digits.")
            )
        threading.Thread(target=self._serve, args=[checkpoint_seconds], name="worker-loop", daemon=True).start()

    def _serve(self, checkpoint_seconds: float) -> None:
        importlib.import_module("torch._dynamo")  # otherwise imported by the first optimiser, for seconds
        torch.set_num_threads(1)  # as in a local worker: sums over more threads would be rounded differently
        try:
            WorkerLoop(self.connection, RemoteStore(self.connection), checkpoint_seconds).serve()
        except Exception:
            self.connection.send(LogLine(traceback.format_exc()))
        self.folder.cleanup()
        self.connection.send(LoopEnded())
