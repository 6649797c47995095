"""The workers of `Jobs` as a set: started, replaced when they exit, listened to by one thread, ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait

from core.jobs.failures import MOST_DEATHS
from core.jobs.messages import Shutdown, WorkerReply
from core.jobs.worker_handle import WorkerHandle
from core.jobs.worker_launcher import WorkerLauncher

LISTEN_SECONDS = 0.2  # until a worker that another thread has started is listened to
log = logging.getLogger(__name__)


class WorkerPool:
    """Keeps `size` workers running between `start` and `close`.

    Every reply of a worker goes to `on_message`, its exit to `on_exit`: in the listening thread, with `lock` held.
    All other methods but `close` expect that the caller holds the lock.
    """

    def __init__(
        self,
        launcher: WorkerLauncher,
        size: int | None,
        lock: threading.RLock,
        on_message: Callable[[WorkerHandle, WorkerReply], None],
        on_exit: Callable[[WorkerHandle], None],
    ):
        self.launcher = launcher
        self.size = size or launcher.default_workers
        self.workers: list[WorkerHandle] = []
        self.failed_starts = 0  # workers in a row that exited before they were ready
        self.closed = False
        self._lock, self._on_message, self._on_exit = lock, on_message, on_exit
        self._listener = threading.Thread(target=self._listen, name="jobs", daemon=True)

    @property
    def pids(self) -> list[int]:
        """Those of the workers that are ready."""
        return [worker.pid for worker in self.workers if worker.pid is not None]

    def start(self) -> None:
        self.spawn()
        self._listener.start()

    def spawn(self) -> None:
        """Start as many workers as are missing."""
        while len(self.workers) < self.size:
            self.workers.append(self.launcher.launch())

    def mark_ready(self, worker: WorkerHandle, pid: int) -> None:
        worker.pid, self.failed_starts = pid, 0

    def replace(self, worker: WorkerHandle) -> bool:
        """Start another worker for one that has exited; False: too many starts have failed, no more are tried."""
        self.failed_starts += worker.pid is None
        if self.failed_starts >= MOST_DEATHS * self.size:
            self.failed_starts = 0
            return False
        self.spawn()
        return True

    def close(self) -> None:
        """Let the workers store their runs and exit; those that take too long are killed."""
        with self._lock:
            pids = self.pids
            if not self.closed:
                self.closed = True
                for worker in self.workers:
                    worker.send(Shutdown())
                if not pids:  # they are still importing; their connections close with the launcher's process
                    self.launcher.stop()
        self._listener.join(self.launcher.close_seconds)
        with self._lock:
            for worker in self.workers:
                worker.kill()
        self._listener.join(self.launcher.close_seconds)
        self.launcher.wait_for_exit(pids)
        with self._lock:
            self.launcher.stop()

    def _listen(self) -> None:
        while True:
            with self._lock:
                workers = {worker.connection: worker for worker in self.workers}
            if self.closed and not workers:
                return
            for connection in wait(list(workers), LISTEN_SECONDS):
                assert isinstance(connection, Connection)
                try:
                    reply = connection.recv()
                except (EOFError, OSError):
                    reply = None
                with self._lock:
                    self._dispatch(workers[connection], reply)

    def _dispatch(self, worker: WorkerHandle, reply: WorkerReply | None) -> None:
        try:
            if reply is None:
                worker.connection.close()
                self.workers.remove(worker)
                self._on_exit(worker)
            else:
                self._on_message(worker, reply)
        except Exception:  # an error in one reply must not end the thread that listens to all
            log.exception("A worker's reply could not be handled.")
