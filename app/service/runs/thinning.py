"""Evenly spaced selections from long lists: snapshots of a shipped run, rows of a training curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def evenly_spaced(values: Sequence[T], count: int) -> list[T]:
    """At most `count` values, evenly by index; with two or more, the first and the last are among them."""
    if len(values) <= count:
        return list(values)
    return [values[round(i * (len(values) - 1) / max(1, count - 1))] for i in range(count)]


def thin_steps(steps: list[int], count: int, required: Iterable[int]) -> list[int]:
    """At most `count` steps: the first, the last and those of the `required` that exist, then others evenly by index.

    More than `count` if there are more required ones.
    """
    fixed = {steps[0], steps[-1], *(set(required) & set(steps))}
    others = [step for step in steps if step not in fixed]
    return sorted({*fixed, *evenly_spaced(others, max(0, count - len(fixed)))})
