"""The worker processes as the caller sees them.

A worker must be there at once, also in place of one that died, but importing torch takes seconds. So one process, the
nursery, imports everything once and does nothing but fork: a new worker takes milliseconds. It is a program of its own
and imports nothing of the caller's, so that any script can start jobs without guarding its main part.

`core.jobs.ray.worker_handle` has the same two classes for workers on a Ray cluster.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from signal import SIGKILL
from typing import Any, ClassVar

from core.jobs.failures import NO_WORKERS
from core.jobs.job import Job
from core.runs.store import Store

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """One process: a connection to it, and what it is known to be doing."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.pid: int | None = None  # once it has said that it is ready
        self.jobs: dict[str, Job] = {}  # in its memory
        self.busy: Job | None = None

    @property
    def free(self) -> bool:
        return self.pid is not None and self.busy is None

    def tell(self, *order: Any) -> None:
        with suppress(OSError):  # it has died: whoever listens to it will hear of that
            self.connection.send(order)

    def kill(self) -> None:
        """Only while its connection is open: afterwards its number may belong to somebody else."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, SIGKILL)


class Nursery:
    """The process that forks the workers; a new one is started if it should die."""

    program = "core.jobs.forkserver"
    worker = Worker
    places = 2  # workers, unless another number is asked for
    close_seconds = 1.5  # for the workers to store what they have
    no_workers = NO_WORKERS
    environment: ClassVar[dict[str, str]] = {}

    def __init__(self, store: Store, checkpoint_seconds: float, *more: Any):
        self._settings = json.dumps([str(store.folder.resolve()), store.most_bytes, checkpoint_seconds, *more])
        self._process: subprocess.Popen | None = None
        self._start()

    def _start(self) -> None:
        self.end()
        self._orders, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.program, str(theirs.fileno()), self._settings],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, **self.environment},
            )

    def fork(self) -> Worker:
        """A new worker; it says when it is ready."""
        if self._process.poll() is not None:
            self._start()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._orders, [b"f"], [theirs.fileno()])
            except OSError:  # it has just died
                self._start()
                with suppress(OSError):  # and so has the new one: the worker's connection closes at once
                    socket.send_fds(self._orders, [b"f"], [theirs.fileno()])
        return self.worker(Connection(ours.detach()))

    def end(self) -> None:
        if self._process is not None:
            self._orders.close()
            self._process.kill()
            self._process.wait()

    def wait_until_gone(self, pids: list[int]) -> None:
        """A process lives on for a moment after its connections are closed."""
        deadline = time.monotonic() + self.close_seconds
        while any(map(_exists, pids)) and time.monotonic() < deadline:
            time.sleep(0.005)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
