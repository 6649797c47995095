"""A thread-safe LRU cache bounded by the size of its values, which computes each missing value only once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any


class LRUCache:
    """Values by key, together no larger than `capacity`; the newest stays even if it is larger.

    Concurrent requests for a missing key wait for one computation and share its value or its exception, which is not
    cached. The computation may itself request other keys.
    """

    def __init__(self, capacity: int, size: Callable[[Any], int] = len):
        self.capacity, self.size = capacity, size
        self.values: OrderedDict[Hashable, Any] = OrderedDict()  # least recently used first
        self.pending: dict[Hashable, Future] = {}
        self.lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        with self.lock:
            if key in self.values:
                self.values.move_to_end(key)
                return self.values[key]
            future = self.pending.get(key)
            is_first = future is None
            if future is None:
                future = self.pending[key] = Future()
        return self._compute(key, compute, future) if is_first else future.result()

    def _compute(self, key: Hashable, compute: Callable[[], Any], future: Future) -> Any:
        try:
            value = compute()
        except BaseException as error:
            with self.lock:
                del self.pending[key]
            future.set_exception(error)
            raise
        with self.lock:
            del self.pending[key]
            self.values[key] = value
            self._evict()
        future.set_result(value)
        return value

    def _evict(self) -> None:
        total = self.total
        while total > self.capacity and len(self.values) > 1:
            total -= self.size(self.values.popitem(last=False)[1])

    @property
    def total(self) -> int:
        return sum(map(self.size, self.values.values()))
