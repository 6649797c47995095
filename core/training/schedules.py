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

from core.config.options import Option, to_python_number
from core.errors import ConfigError
from core.messages import Text

MOST_POINTS, LAST_UPDATE = 100, 1_000_000
Points = tuple[tuple[int, float], ...]


class PointsOption(Option):
    """A mapping from updates to factors of the learning rate."""

    def check(self, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            raise self._refusal(value, Text("it must name a factor for each update."))
        if not 1 <= len(value) <= MOST_POINTS:
            raise self._refusal(
                dict(value),
                Text(
                    "it has {n_points} points; from 1 to {most_points} can be used.",
                    n_points=len(value),
                    most_points=MOST_POINTS,
                ),
            )
        updates = [update for update, _ in value]
        for update, factor in value:
            if isinstance(update, bool) or not isinstance(update, int) or not 0 <= update <= LAST_UPDATE:
                raise self._refusal(value, Text("{update!r} is not the number of an update.", update=update))
            numeric = isinstance(factor, int | float) and not isinstance(factor, bool)
            if not numeric or not math.isfinite(factor) or not 0 <= factor <= 1:
                raise self._refusal(value, Text("{factor!r} is not from 0 to 1.", factor=factor))
        if len(set(updates)) < len(updates):
            raise self._refusal(value, Text("it names an update twice."))
        if not any(factor for _, factor in value):
            raise self._refusal(value, Text("nothing would ever be learnt."))

    def _refusal(self, value: Any, why: Text) -> ConfigError:
        remedy = Text(
            "Use for example {{100: 1, 500: 0.1}}: updates from 0 to {last}, factors of lr from 0 to 1.",
            last=LAST_UPDATE,
        )
        return ConfigError(self.name, value, why, remedy)


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
    return tuple(float(x) if i and type(x) is int else x for i, x in enumerate(map(to_python_number, pair)))


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
