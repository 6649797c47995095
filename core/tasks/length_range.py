"""`LengthRange`: base of the tasks whose problems have `min_len` to `max_len` symbols in training."""

from __future__ import annotations

from dataclasses import dataclass

from core.tasks.base import Task
from core.tasks.shared_options import MAX_LEN, MIN_LEN, option
from core.tasks.validation import check_order


@dataclass(frozen=True, kw_only=True)
class LengthRange(Task):
    """Subclasses may override both options with limits, defaults and help of their own."""

    min_len: int = option(MIN_LEN, 4)
    max_len: int = option(MAX_LEN, 20)

    def check(self) -> None:
        check_order("min_len", self.min_len, self.max_len)

    @property
    def longest(self) -> int:
        return self.max_len

    def length_bounds(self, low: int | None, high: int | None) -> tuple[int, int]:
        """The shortest and the longest length to draw, by default those of training.

        A `high` below `min_len`, as at the start of a curriculum, bounds both.
        """
        high = high or self.max_len
        return min(low or self.min_len, high), high
