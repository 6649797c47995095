"""The caller's handle of one worker process."""

from __future__ import annotations

import os
from contextlib import suppress
from multiprocessing.connection import Connection
from signal import SIGKILL
from typing import TYPE_CHECKING

from core.jobs.messages import WorkerOrder

if TYPE_CHECKING:
    from core.jobs.job import Job


class WorkerHandle:
    """The connection to a worker, and its state as far as its replies tell."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.pid: int | None = None  # once it is ready
        self.jobs: dict[str, Job] = {}  # in its memory
        self.busy: Job | None = None  # the one it is training

    @property
    def free(self) -> bool:
        return self.pid is not None and self.busy is None

    def send(self, order: WorkerOrder) -> None:
        with suppress(OSError):  # it has died: the listener gets an EOFError
            self.connection.send(order)

    def kill(self) -> None:
        """Only while its connection is open: afterwards the pid may belong to another process."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, SIGKILL)
