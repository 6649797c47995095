"""Learning-rate schedules: warm-up, linear and cosine decay, and piecewise linear between given points.

Points of a piecewise schedule map an update to a factor of the learning rate:

    {1000: 1, 2000: 0.1}   up from 0 to lr over 1,000 updates, down to lr / 10 at update 2,000, then constant

Updates count from 1, as in `Step.index`; the factor is 0 before the first update unless there is a point 0. Points are
stored as a tuple of (update, factor), so that options stay frozen and hashable.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.config.options import Option, to_python_number
from core.errors import ConfigError
from core.translatable import Text

if TYPE_CHECKING:
    from core.training.options import Training

MOST_POINTS, LAST_UPDATE = 100, 1_000_000
Points = tuple[tuple[int, float], ...]


def learning_rate(step: int, options: Training) -> float:
    """The rate of the update after `step` steps: linear warm-up, then the schedule, down to floor · lr at the end."""
    if options.schedule == "piecewise":
        assert options.points is not None  # checked by `Training`
        return options.lr * piecewise_factor(step + 1, options.points)
    if step < options.warmup:
        return options.lr * (step + 1) / (options.warmup + 1)
    progress = (step - options.warmup) / max(1, options.steps - options.warmup)
    if options.schedule == "linear":
        factor = 1 - progress
    elif options.schedule == "cosine":
        factor = (1 + math.cos(math.pi * progress)) / 2
    else:
        return options.lr
    return options.lr * (options.floor + (1 - options.floor) * factor)


def piecewise_factor(update: int, points: Points) -> float:
    """f(n) = f₀ + (f₁ − f₀) · (n − n₀) / (n₁ − n₀) between two points; constant after the last."""
    points = points if points[0][0] == 0 else ((0, 0.0), *points)
    after = bisect_left(points, update, key=lambda point: point[0])
    if after == len(points):
        return points[-1][1]
    if after == 0:
        return points[0][1]
    (start, low), (end, high) = points[after - 1], points[after]
    return low + (high - low) * (update - start) / (end - start)


class PointsOption(Option):
    """Option whose value is a mapping from updates to factors of the learning rate."""

    def check(self, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            raise self._error(value, Text("it must name a factor for each update."))
        if not 1 <= len(value) <= MOST_POINTS:
            raise self._error(
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
                raise self._error(value, Text("{update!r} is not the number of an update.", update=update))
            numeric = isinstance(factor, int | float) and not isinstance(factor, bool)
            if not numeric or not math.isfinite(factor) or not 0 <= factor <= 1:
                raise self._error(value, Text("{factor!r} is not from 0 to 1.", factor=factor))
        if len(set(updates)) < len(updates):
            raise self._error(value, Text("it names an update twice."))
        if not any(factor for _, factor in value):
            raise self._error(value, Text("nothing would ever be learnt."))

    def _error(self, value: Any, why: Text) -> ConfigError:
        remedy = Text(
            "Use for example {{100: 1, 500: 0.1}}: updates from 0 to {last}, factors of lr from 0 to 1.",
            last=LAST_UPDATE,
        )
        return ConfigError(self.name, value, why, remedy)


def normalise_points(value: Any) -> Any:
    """A mapping, or a list of pairs as JSON has it, as sorted tuples (update, float factor).

    Anything else is returned unchanged, for `PointsOption.check` to reject.
    """
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(value, str) or not hasattr(pairs, "__iter__"):
        return value
    points = tuple(_with_float_factor(pair) if isinstance(pair, list | tuple) else pair for pair in pairs)
    sortable = all(isinstance(pair, tuple) and pair and isinstance(pair[0], int) for pair in points)
    return tuple(sorted(points, key=lambda pair: pair[0])) if sortable else points


def _with_float_factor(pair: list | tuple) -> tuple:
    """1 and 1.0 are the same factor, so they must give the same run key."""
    return tuple(float(x) if i and type(x) is int else x for i, x in enumerate(map(to_python_number, pair)))
