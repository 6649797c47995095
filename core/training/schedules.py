"""A learning rate's course given by points: straight lines between them.

    {1000: 1, 2000: 0.1}   up from 0 to lr over 1,000 updates, down to lr / 10 at update 2,000, then level

A point stands for the n-th update, counted from 1 as in `Step.index`; the course starts at 0 before the first update
unless there is a point 0. Kept as a tuple of (update, factor), so that options stay frozen and can be hashed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from core.config.options import ConfigError, Option, Text, plain

MOST_POINTS, LAST_UPDATE = 100, 1_000_000
Points = tuple[tuple[int, float], ...]


class PointsOption(Option):
    """A mapping from updates to factors of the learning rate."""

    def check(self, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            raise self._refusal(value, "it must name a factor for each update.", "须为每个更新步指定一个系数。")
        if not 1 <= len(value) <= MOST_POINTS:
            raise self._refusal(
                dict(value),
                f"it has {len(value)} points; from 1 to {MOST_POINTS} can be used.",
                f"有 {len(value)} 个点；可用 1 到 {MOST_POINTS} 个。",
            )
        updates = [update for update, _ in value]
        for update, factor in value:
            if isinstance(update, bool) or not isinstance(update, int) or not 0 <= update <= LAST_UPDATE:
                raise self._refusal(
                    value, f"{update!r} is not the number of an update.", f"{update!r} 不是更新步的编号。"
                )
            numeric = isinstance(factor, int | float) and not isinstance(factor, bool)
            if not numeric or not math.isfinite(factor) or not 0 <= factor <= 1:
                raise self._refusal(value, f"{factor!r} is not from 0 to 1.", f"{factor!r} 不在 0 到 1 之间。")
        if len(set(updates)) < len(updates):
            raise self._refusal(value, "it names an update twice.", "同一更新步出现了两次。")
        if not any(factor for _, factor in value):
            raise self._refusal(value, "nothing would ever be learnt.", "这样什么也学不到。")

    def _refusal(self, value: Any, en: str, zh: str) -> ConfigError:
        remedy = Text(
            f"Use for example {{100: 1, 500: 0.1}}: updates from 0 to {LAST_UPDATE}, factors of lr from 0 to 1.",
            f"例如 {{100: 1, 500: 0.1}}：更新步从 0 到 {LAST_UPDATE}，lr 的系数从 0 到 1。",
        )
        return ConfigError(self.name, value, Text(en, zh), remedy)


def as_points(value: Any) -> Any:
    """A mapping, or pairs as they come back from JSON, in order; anything else as it is, to be refused."""
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(value, str) or not hasattr(pairs, "__iter__"):
        return value
    found = tuple(_with_float(pair) if isinstance(pair, list | tuple) else pair for pair in pairs)
    whole = all(isinstance(pair, tuple) and pair and isinstance(pair[0], int) for pair in found)
    return tuple(sorted(found, key=lambda pair: pair[0])) if whole else found


def _with_float(pair: list | tuple) -> tuple:
    """1 and 1.0 are the same factor, and the same run."""
    return tuple(float(x) if i and type(x) is int else x for i, x in enumerate(map(plain, pair)))


def factor_at(update: int, points: Points) -> float:
    """f(n) = f₀ + (f₁ − f₀) · (n − n₀) / (n₁ − n₀) between two points; level after the last."""
    points = points if points[0][0] == 0 else ((0, 0.0), *points)
    after = bisect_left(points, update, key=lambda point: point[0])
    if after == len(points):
        return points[-1][1]
    if after == 0:
        return points[0][1]
    (start, low), (end, high) = points[after - 1], points[after]
    return low + (high - low) * (update - start) / (end - start)
