"""A worker's desk inside a Ray actor: the same orders, the same answers, but no disk that the caller would see.

Runs come with the order that needs them, and every checkpoint goes back as bytes: a further answer, stored(key, bytes),
which the caller confirms once it is on its disk. So what counts as stored is safe from the death of the node, and the
time that takes counts as time for storing.
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

from core.jobs.worker import Desk
from core.runs.run import Run
from core.runs.store import Store

ENDED = ("ended",)  # the last answer


def versions() -> dict[str, str]:
    """What decides the last digits of a loss."""
    return {module.__name__: module.__version__ for module in (torch, numpy, safetensors)}


class Line:
    """The desk's connection: queues, as the other end is in the same process."""

    def __init__(self, folder: Path):
        self.folder = folder  # where the desk's store looks
        self.orders, self.answers, self.receipts = SimpleQueue(), SimpleQueue(), SimpleQueue()

    def recv(self) -> tuple:
        order, files = self.orders.get()
        for path in self.folder.iterdir():  # of the last order; the desk has it in memory
            path.unlink()
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        return order

    def send(self, answer: tuple) -> None:
        self.answers.put(answer)

    def poll(self) -> bool:
        return not self.orders.empty()

    def told(self) -> list[tuple]:
        answers = [self.answers.get()]
        while not self.answers.empty():
            answers.append(self.answers.get())
        return answers


class NodeStore(Store):
    """Stores with the caller; its own folder only serves to read and write a run's file."""

    def __init__(self, line: Line):
        super().__init__(line.folder)
        self.line = line

    def save(self, run: Run) -> Path:
        path = super().save(run)
        self.line.send(("stored", run.key, path.read_bytes()))
        problem = self.line.receipts.get()
        if problem is not None:
            raise OSError(problem)
        return path


class RayDesk:
    """Serves in a thread of its own, while others take orders and hand over answers."""

    def __init__(self, checkpoint_seconds: float, expected: dict[str, str]):
        self.scratch = TemporaryDirectory(prefix="innerview-")
        self.line = Line(Path(self.scratch.name))
        others = {name: version for name, version in versions().items() if version != expected[name]}
        if others:
            differences = ", ".join(
                f"{name} {version} instead of {expected[name]}" for name, version in others.items()
            )
            self.line.send(("log", f"A Ray node has {differences}; its losses may differ in their last digits."))
        threading.Thread(target=self._serve, args=[checkpoint_seconds], name="desk", daemon=True).start()

    def _serve(self, checkpoint_seconds: float) -> None:
        importlib.import_module("torch._dynamo")  # what the first optimiser would otherwise import, for seconds
        torch.set_num_threads(1)  # as in a local worker: sums over more threads would be rounded differently
        try:
            Desk(self.line, NodeStore(self.line), checkpoint_seconds).serve()
        except Exception:
            self.line.send(("log", traceback.format_exc()))
        self.scratch.cleanup()
        self.line.send(ENDED)
