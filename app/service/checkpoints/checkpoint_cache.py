"""Cache of loaded checkpoints: one copy each for all sessions, within a memory budget, loaded in the background.

A request for a checkpoint that is still being loaded waits for `WAIT_SECONDS`, then gets a `NotReadyError` with the
progress so far. When a new checkpoint needs memory, the least recently used ones are evicted.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.i18n import in_all_languages
from core import InputError
from core.runs.pretrained_run import PretrainedRun

WAIT_SECONDS = 1.5  # a request that waits holds one of the server's threads
GIGABYTE = 1_000_000_000
DEFAULT_BUDGET = 2 * GIGABYTE
MAX_FINISHED_LOADS = 64  # remembered, with their errors


class NotReadyError(InputError):
    """Not yet: the same request can be answered later."""

    again = True


class LoadStopped(Exception):
    """Raised in the loading thread after `LoadProgress.stop_requested` was set."""


@dataclass
class LoadProgress:
    """State of one checkpoint that is being loaded or downloaded, shared with the thread that does it."""

    bytes: int
    is_download: bool = False
    fraction: float = 0.0  # 0 … 1
    stop_requested: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)
    error: InputError | None = None

    def report(self, fraction: float) -> None:
        """Called again and again by the loading thread; raises `LoadStopped` if it should end."""
        self.fraction = fraction
        if self.stop_requested.is_set():
            raise LoadStopped


Load = Callable[[LoadProgress], PretrainedRun]


@dataclass
class CheckpointCache:
    budget: int = DEFAULT_BUDGET
    bytes_per_second: float | None = None  # as measured at the last load
    loaded: OrderedDict[str, tuple[PretrainedRun, int]] = field(
        default_factory=OrderedDict
    )  # least recently used first; with bytes
    loads: dict[str, LoadProgress] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    load_lock: threading.Lock = field(default_factory=threading.Lock)  # one checkpoint is loaded at a time

    def is_loaded(self, key: str) -> bool:
        with self.lock:
            return key in self.loaded

    def used_bytes(self) -> int:
        with self.lock:
            return sum(size for _, size in self.loaded.values())

    def start_loading(self, key: str, size: int, load: Load) -> None:
        """Load a checkpoint in the background, unless it is loaded or being loaded."""
        with self.lock:
            if key in self.loaded:
                return
            self.check_budget(size)
            self._start_thread(key, lambda progress: self._load(key, progress, load), size)

    def start_download(self, key: str, download: Callable[[LoadProgress], None]) -> None:
        """Download a checkpoint in the background; one at a time."""
        with self.lock:
            others = (progress for other, progress in self.loads.items() if other != key)
            if any(progress.is_download and not progress.finished.is_set() for progress in others):
                raise InputError("Another checkpoint is being downloaded; one at a time.")
            self._start_thread(key, download, is_download=True)

    def _start_thread(
        self, key: str, work: Callable[[LoadProgress], None], size: int = 0, is_download: bool = False
    ) -> None:
        if self._is_active(key):
            return
        self.loads.pop(key, None)
        finished = [other for other, progress in self.loads.items() if progress.finished.is_set()]
        for other in finished[: -MAX_FINISHED_LOADS + 1]:
            del self.loads[other]
        progress = self.loads[key] = LoadProgress(size, is_download)
        threading.Thread(target=self._run_thread, args=(progress, work), daemon=True).start()

    def _is_active(self, key: str) -> bool:
        return key in self.loads and not self.loads[key].finished.is_set()

    def check_budget(self, size: int) -> None:
        if size > self.budget:
            need, have = (f"{amount / GIGABYTE:.2f}" for amount in (size, self.budget))
            raise InputError(
                "It needs {need} GB of memory; {have} GB are set aside for checkpoints (--checkpoint-memory).",
                need=need,
                have=have,
            )

    def _load(self, key: str, progress: LoadProgress, load: Load) -> None:
        with self.load_lock:
            progress.report(0.0)
            self._evict(progress.bytes)
            started = time.monotonic()
            checkpoint = load(progress)
            self.bytes_per_second = progress.bytes / max(1e-3, time.monotonic() - started)
            with self.lock:
                self.loaded[key] = checkpoint, progress.bytes

    def _run_thread(self, progress: LoadProgress, work: Callable[[LoadProgress], None]) -> None:
        try:
            work(progress)
        except LoadStopped:
            progress.error = InputError("Loading was stopped.")
        except InputError as error:
            progress.error = error
        except MemoryError:
            progress.error = InputError("There is not enough memory left for it.")
        except Exception:
            progress.error = InputError("It could not be loaded.")
            raise  # the traceback belongs in the server's log
        finally:
            progress.finished.set()

    def _evict(self, size: int) -> None:
        """Remove the least recently used checkpoints until `size` more bytes fit into the budget."""
        with self.lock:
            while self.loaded and self.used_bytes() + size > self.budget:
                self.loaded.popitem(last=False)

    def get(self, key: str, size: int, load: Load) -> PretrainedRun:
        """The shared copy; loaded first if it is not in the cache (any more)."""
        while True:
            with self.lock:
                self.start_loading(key, size, load)
                if key in self.loaded:
                    self.loaded.move_to_end(key)
                    return self.loaded[key][0]
                progress = self.loads[key]
            if not progress.finished.wait(WAIT_SECONDS):
                raise NotReadyError(
                    "The checkpoint is still being loaded: {done:.0%} so far.",
                    done=progress.fraction,
                )
            if progress.error is not None:
                raise progress.error

    def stop(self, key: str) -> None:
        with self.lock:
            if self._is_active(key):
                self.loads[key].stop_requested.set()

    def status(self, key: str) -> dict[str, Any]:
        """For the page: `status` is "ready", "loading", "failed" or "away" (not in memory)."""
        with self.lock:
            if key in self.loaded:
                return {"status": "ready", "done": 1.0, "problem": None}
            progress = self.loads.get(key)
            if progress is None:
                return {"status": "away", "done": 0.0, "problem": None}
            if not progress.finished.is_set():
                return {"status": "loading", "done": progress.fraction, "problem": None}
            if progress.error is None:  # it was loaded and has been evicted, or was only downloaded
                return {"status": "away", "done": 0.0, "problem": None}
            return {"status": "failed", "done": progress.fraction, "problem": in_all_languages(progress.error.text)}
