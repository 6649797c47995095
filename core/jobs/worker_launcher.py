"""Starts worker processes on this machine.

A worker must be there at once, also in place of one that died, but importing torch takes seconds. So one process, the
fork server, imports everything once and does nothing but fork: a new worker takes milliseconds. It is a program of its
own and imports nothing of the caller's, so that any script can start jobs without `if __name__ == "__main__"`.

`core.jobs.ray.worker_launcher` has the same for workers on a Ray cluster.
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
from typing import Any, ClassVar

from core.jobs.failures import NO_WORKERS
from core.jobs.worker_handle import WorkerHandle
from core.runs.atomic_files import process_exists
from core.runs.store import Store
from core.translatable import Text

ROOT = Path(__file__).resolve().parents[2]


class WorkerLauncher:
    """Owns the process that forks the workers; it is started again if it should die."""

    program = "core.jobs.worker.forkserver"
    handle_type: type[WorkerHandle] = WorkerHandle
    default_workers = 2
    close_seconds = 1.5  # for the workers to store their runs
    failure: Text = NO_WORKERS  # the problem of a run when no worker can be started
    environment: ClassVar[dict[str, str]] = {}

    def __init__(self, store: Store, checkpoint_seconds: float, *more_settings: Any):
        settings = [str(store.folder.resolve()), store.most_bytes, checkpoint_seconds, *more_settings]
        self._settings = json.dumps(settings)
        self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def launch(self) -> WorkerHandle:
        """A new worker; it sends `WorkerReady`."""
        if self._process.poll() is not None:
            self._restart()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._requests, [b"f"], [theirs.fileno()])
            except OSError:  # the process has just died
                self._restart()
                with suppress(OSError):  # and so has the new one: the worker's connection closes at once
                    socket.send_fds(self._requests, [b"f"], [theirs.fileno()])
        return self.handle_type(Connection(ours.detach()))

    def stop(self) -> None:
        self._requests.close()
        self._process.kill()
        self._process.wait()

    def wait_for_exit(self, pids: list[int]) -> None:
        """A process lives on for some milliseconds after its connections are closed."""
        deadline = time.monotonic() + self.close_seconds
        while any(map(process_exists, pids)) and time.monotonic() < deadline:
            time.sleep(0.005)

    def _start(self) -> None:
        self._requests, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.program, str(theirs.fileno()), self._settings],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, **self.environment},
            )

    def _restart(self) -> None:
        self.stop()
        self._start()
