"""Arrays of figures on their way to the page: bytes under an address that follows from them and a secret of this process.

The address cannot be guessed, equal bytes have one address, and what is at an address never changes, so browsers may keep it.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict

CAPACITY = 256_000_000  # bytes of all sessions; the least recently used go first


class ArrayStore:
    def __init__(self, capacity: int = CAPACITY):
        self.capacity, self.size = capacity, 0
        self.values: OrderedDict[str, bytes] = OrderedDict()
        self.kept: dict[str, bytes] = {}  # for as long as the process runs
        self.secret, self.lock = secrets.token_bytes(32), threading.Lock()

    def keep(self, address: str) -> None:
        """What is at an address stays for as long as the process, and never makes way for others."""
        key = address.rpartition("/")[2]
        with self.lock:
            if key in self.values:
                self.kept[key] = self.values.pop(key)
                self.size -= len(self.kept[key])

    def address(self, data: bytes) -> str:
        """Keeps the bytes; their address, relative to the page's."""
        key = hmac.digest(self.secret, data, "sha256").hex()[:40]
        with self.lock:
            if key in self.kept:
                return f"api/arrays/{key}"
            if key not in self.values:
                self.size += len(data)
            self.values[key] = data
            self.values.move_to_end(key)
            while self.size > self.capacity and len(self.values) > 1:
                self.size -= len(self.values.popitem(last=False)[1])
        return f"api/arrays/{key}"

    def get(self, key: str) -> bytes | None:
        with self.lock:
            data = self.kept.get(key) or self.values.get(key)
            if key in self.values:
                self.values.move_to_end(key)
            return data


array_store = ArrayStore()
