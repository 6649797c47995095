"""Loaded checkpoints: one copy each for all sessions, within a budget of memory, read in the background.

Whoever asks for one while it is being read waits a moment, then is told how far it has come and may ask again. When a
new one needs room, those that nobody has used for longest go.
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

PATIENCE = 1.5  # seconds that a request waits, and holds one of the server's threads
GIGABYTE = 1_000_000_000
BUDGET = 2 * GIGABYTE  # unless somebody says otherwise
REMEMBERED = 64  # of those that ended: what went wrong


class NotReadyError(InputError):
    """Not now; the same question will be answered in a while."""

    again = True


class Stopped(Exception):
    """Somebody no longer wants it."""


@dataclass
class Reading:
    """One checkpoint on its way into memory."""

    bytes: int
    fetches: bool = False  # from the hub
    done: float = 0.0  # 0 … 1
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    problem: InputError | None = None

    def tell(self, share: float) -> None:
        """Called by whoever reads, again and again."""
        self.done = share
        if self.stop.is_set():
            raise Stopped


Read = Callable[[Reading], PretrainedRun]


@dataclass
class CheckpointCache:
    budget: int = BUDGET
    rate: float | None = None  # bytes a second, as measured when the last one was read
    ready: OrderedDict[str, tuple[PretrainedRun, int]] = field(
        default_factory=OrderedDict
    )  # least used first; with bytes
    reading: dict[str, Reading] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    turn: threading.Lock = field(default_factory=threading.Lock)  # one is read at a time

    def has(self, key: str) -> bool:
        with self.lock:
            return key in self.ready

    def used(self) -> int:
        with self.lock:
            return sum(size for _, size in self.ready.values())

    def begin(self, key: str, size: int, read: Read) -> None:
        """Read it in the background, unless it is there or on its way."""
        with self.lock:
            if key in self.ready:
                return
            self.check_budget(size)
            self._send_for(key, lambda reading: self._put(key, reading, read), size)

    def fetch(self, key: str, work: Callable[[Reading], None]) -> None:
        """Bring it here in the background; one at a time."""
        with self.lock:
            if any(one.fetches and not one.ended.is_set() for other, one in self.reading.items() if other != key):
                raise InputError(
                    "Another checkpoint is being downloaded; one at a time.",
                )
            self._send_for(key, work, fetches=True)

    def _send_for(self, key: str, work: Callable[[Reading], None], size: int = 0, fetches: bool = False) -> None:
        if self._is_moving(key):
            return
        self.reading.pop(key, None)
        ended = [other for other, one in self.reading.items() if one.ended.is_set()]
        for other in ended[: -REMEMBERED + 1]:
            del self.reading[other]
        reading = self.reading[key] = Reading(size, fetches)
        threading.Thread(target=self._safely, args=(reading, work), daemon=True).start()

    def _is_moving(self, key: str) -> bool:
        return key in self.reading and not self.reading[key].ended.is_set()

    def check_budget(self, size: int) -> None:
        if size > self.budget:
            need, have = (f"{amount / GIGABYTE:.2f}" for amount in (size, self.budget))
            raise InputError(
                "It needs {need} GB of memory; {have} GB are set aside for checkpoints (--checkpoint-memory).",
                need=need,
                have=have,
            )

    def _put(self, key: str, reading: Reading, read: Read) -> None:
        with self.turn:
            reading.tell(0.0)
            self._make_room(reading.bytes)
            began = time.monotonic()
            checkpoint = read(reading)
            self.rate = reading.bytes / max(1e-3, time.monotonic() - began)
            with self.lock:
                self.ready[key] = checkpoint, reading.bytes

    def _safely(self, reading: Reading, work: Callable[[Reading], None]) -> None:
        try:
            work(reading)
        except Stopped:
            reading.problem = InputError("Loading was stopped.")
        except InputError as error:
            reading.problem = error
        except MemoryError:
            reading.problem = InputError("There is not enough memory left for it.")
        except Exception:
            reading.problem = InputError("It could not be loaded.")
            raise  # the cause belongs in the server's log
        finally:
            reading.ended.set()

    def _make_room(self, size: int) -> None:
        with self.lock:
            while self.ready and self.used() + size > self.budget:
                self.ready.popitem(last=False)

    def get(self, key: str, size: int, read: Read) -> PretrainedRun:
        """The one copy there is; it is read first if it had to make way for another."""
        while True:
            with self.lock:
                self.begin(key, size, read)
                if key in self.ready:
                    self.ready.move_to_end(key)
                    return self.ready[key][0]
                reading = self.reading[key]
            if not reading.ended.wait(PATIENCE):
                raise NotReadyError(
                    "The checkpoint is still being loaded: {done:.0%} so far.",
                    done=reading.done,
                )
            if reading.problem is not None:
                raise reading.problem

    def stop(self, key: str) -> None:
        with self.lock:
            if self._is_moving(key):
                self.reading[key].stop.set()

    def state(self, key: str) -> dict[str, Any]:
        with self.lock:
            if key in self.ready:
                return {"status": "ready", "done": 1.0, "problem": None}
            reading = self.reading.get(key)
            if reading is None:
                return {"status": "away", "done": 0.0, "problem": None}
            if not reading.ended.is_set():
                return {"status": "loading", "done": reading.done, "problem": None}
            if reading.problem is None:  # it was here, and has made way for others
                return {"status": "away", "done": 0.0, "problem": None}
            return {"status": "failed", "done": reading.done, "problem": in_all_languages(reading.problem.text)}
