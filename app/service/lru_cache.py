"""What is kept once it has been computed: the least used goes first, and what many ask for at once is computed once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any


class LRUCache:
    """Values by key, together no larger than `most`; the newest stays in any case.

    Whoever asks for a value under way waits for it, and is refused it if its maker was. A maker may ask for other keys.
    """

    def __init__(self, most: int, size: Callable[[Any], int] = len):
        self.most, self.size = most, size
        self.values: OrderedDict[Hashable, Any] = OrderedDict()  # least used first
        self.under_way: dict[Hashable, Future] = {}
        self.lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self.lock:
            if key in self.values:
                self.values.move_to_end(key)
                return self.values[key]
            others = self.under_way.get(key)
            if others is None:
                mine = self.under_way[key] = Future()
        return self._made(key, make, mine) if others is None else others.result()

    def _made(self, key: Hashable, make: Callable[[], Any], mine: Future) -> Any:
        try:
            value = make()
        except BaseException as error:
            with self.lock:
                del self.under_way[key]
            mine.set_exception(error)
            raise
        with self.lock:
            del self.under_way[key]
            self.values[key] = value
            self._make_room()
        mine.set_result(value)
        return value

    def _make_room(self) -> None:
        total = self.total
        while total > self.most and len(self.values) > 1:
            total -= self.size(self.values.popitem(last=False)[1])

    @property
    def total(self) -> int:
        return sum(map(self.size, self.values.values()))
