"""The loop of a worker: trains its runs slice by slice as ordered, stores checkpoints and reports every step.

The protocol is described in `core.jobs.messages`.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from itertools import islice
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from torch import nn

from core.jobs.failures import BUG, NOT_STORED, divergence
from core.jobs.messages import (
    LogLine,
    OpenRun,
    ProbeUpdate,
    ReleaseRun,
    RunDone,
    RunFailed,
    RunOpened,
    RunOrder,
    RunReleased,
    Shutdown,
    SliceDone,
    StepsMade,
    TrainSlice,
    Update,
    WorkerReady,
    WorkerReply,
)
from core.jobs.worker.monitor import Monitor
from core.runs.run import Run, recipe_from_dict
from core.runs.store import Store, StoreError
from core.training.loop import Diverged, Step
from core.translatable import Text

REPORT_SECONDS = 0.1  # between two reports of steps within a slice
MOST_STORING = 0.1  # share of the time that may go into checkpoints


class WorkerConnection(Protocol):
    """The worker's end of its connection: a `multiprocessing.connection.Connection`, or queues in a Ray actor."""

    def recv(self) -> Any: ...

    def send(self, obj: Any, /) -> None: ...

    def poll(self) -> bool: ...


def warm_up() -> None:
    """One update of a tiny model: torch's lazy initialisation takes as long as a short slice, and no run should pay it."""
    layer = nn.LSTM(2, 2)
    optimiser = torch.optim.AdamW(layer.parameters())
    layer(torch.zeros(1, 1, 2))[0].sum().backward()
    optimiser.step()


class WorkerRun:
    """A run in the worker's memory, and how much of its training is not stored yet."""

    def __init__(self, run: Run, monitor: Monitor | None):
        self.run, self.monitor = run, monitor
        self.stored_steps = run.trainer.index
        self.unstored_seconds = 0.0
        self.storing_seconds = 0.0  # that the last checkpoint took

    @property
    def finished(self) -> bool:
        return self.run.trainer.index >= self.run.recipe.training.steps

    def checkpoint_due(self, seconds: float) -> bool:
        """Has it trained for so long since the last checkpoint, or longer if checkpoints take too much of the time?"""
        return self.unstored_seconds > max(seconds, self.storing_seconds / MOST_STORING)


class WorkerLoop:
    """`serve` executes orders until `Shutdown`, or until the caller is gone (EOFError)."""

    def __init__(self, connection: WorkerConnection, store: Store, checkpoint_seconds: float):
        self.connection, self.store, self.checkpoint_seconds = connection, store, checkpoint_seconds
        self.runs: dict[str, WorkerRun] = {}
        self.handlers: dict[type[RunOrder], Callable[[Any], None]] = {
            OpenRun: self.open,
            TrainSlice: self.train,
            ReleaseRun: self.release,
        }

    def serve(self) -> None:
        warm_up()
        self.send(WorkerReady(os.getpid()))
        while not isinstance(order := self.connection.recv(), Shutdown):
            self.execute(order)
        for key in list(self.runs):
            self.execute(ReleaseRun(key))

    def send(self, reply: WorkerReply) -> None:
        self.connection.send(reply)

    def execute(self, order: RunOrder) -> None:
        """An error is reported as the failure of the order's run; the other runs go on."""
        handler = self.handlers[type(order)]
        try:
            handler(order)
        except Diverged as end:
            self.fail(order.key, divergence(end), None)
        except StoreError as error:
            self.fail(order.key, error.text, traceback.format_exc())
        except (EOFError, BrokenPipeError, ConnectionError):
            raise
        except (OSError, SafetensorError):
            self.fail(order.key, NOT_STORED, traceback.format_exc())
        except Exception:
            self.fail(order.key, BUG, traceback.format_exc())

    def fail(self, key: str, why: Text, trace: str | None) -> None:
        self.runs.pop(key, None)
        self.send(RunFailed(key, why, trace))

    def open(self, order: OpenRun) -> None:
        recipe = recipe_from_dict(order.recipe)
        try:
            run = self.store.get(recipe, order.seed)
        except StoreError as damage:
            if self.store.path(order.key).exists():
                self.send(LogLine(f"{damage} It is trained anew."))
                self.store.delete(order.key)
            run = self.store.get(recipe, order.seed)  # raises again if it is a fork whose parent is missing
        monitor = None if order.head_shares is None else Monitor(run, order.head_shares)
        self.runs[order.key] = WorkerRun(run, monitor)
        self.send(RunOpened(order.key, run.steps[order.known_steps :]))
        if monitor:
            self.report(order.key, monitor.run_probe())

    def train(self, order: TrainSlice) -> None:
        key, worker_run = order.key, self.runs.get(order.key)
        if worker_run is None:  # it could not be opened
            return
        began, cpu_began = time.monotonic(), time.process_time()
        try:
            self.make_steps(worker_run, order)
        finally:
            worker_run.unstored_seconds += time.monotonic() - began
        finished = worker_run.finished
        if finished or worker_run.checkpoint_due(self.checkpoint_seconds):
            self.save(worker_run)
        if monitor := worker_run.monitor:
            monitor.training_seconds += time.process_time() - cpu_began
            for update in monitor.finish() if finished else [monitor.poll()]:
                self.report(key, update)
        self.send(SliceDone(key, time.process_time() - cpu_began, worker_run.storing_seconds))
        if finished:
            del self.runs[key]
            self.send(RunDone(key))

    def make_steps(self, worker_run: WorkerRun, order: TrainSlice) -> None:
        """Train for the slice, reporting the steps; ends early when there is a new order.

        A slice is counted in processor time, so that a busy machine does not make it unfair; wall time is only bounded.
        """
        run, steps, reported_at = worker_run.run, [], time.monotonic()
        cpu_end, end = time.process_time() + order.cpu_seconds, reported_at + 4 * order.cpu_seconds
        most = None if order.until is None else max(0, order.until - run.trainer.index)
        try:
            for step in islice(run.train(), most):
                steps.append(step)
                now = time.monotonic()
                if now - reported_at >= REPORT_SECONDS:
                    self.report_steps(order.key, steps, now - reported_at)
                    steps, reported_at = [], now
                if now >= end or time.process_time() >= cpu_end or self.connection.poll():
                    break
        except Diverged:
            self.report_steps(order.key, steps, time.monotonic() - reported_at)
            self.save(worker_run)
            if monitor := worker_run.monitor:
                self.report(order.key, {**monitor.run_probe(), **monitor.diagnose(None, diverged=True)})
            raise
        self.report_steps(order.key, steps, time.monotonic() - reported_at)

    def report_steps(self, key: str, steps: list[Step], seconds: float) -> None:
        if steps:
            self.send(StepsMade(key, steps, seconds))

    def report(self, key: str, update: Update) -> None:
        if update:
            self.send(ProbeUpdate(key, update))

    def release(self, order: ReleaseRun) -> None:
        worker_run = self.runs.get(order.key)
        if worker_run is None:  # it has just ended
            return
        self.save(worker_run)
        if worker_run.monitor:
            self.report(order.key, worker_run.monitor.run_probe())
        del self.runs[order.key]
        self.send(RunReleased(order.key, worker_run.stored_steps))

    def save(self, worker_run: WorkerRun) -> None:
        run = worker_run.run
        if run.trainer.index == worker_run.stored_steps and self.store.path(run.key).exists():
            return
        began = time.monotonic()
        self.store.save(run)
        worker_run.stored_steps, worker_run.unstored_seconds = run.trainer.index, 0.0
        worker_run.storing_seconds = time.monotonic() - began
