"""Observers of a model's taps, and the `ContextVar` that holds those active in this thread.

Modules hold no state, so two threads (or asyncio tasks) may observe one model at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import ClassVar

from torch import Tensor, nn


class TapError(KeyError):
    """A point that the model does not have, or an edit that returned something unusable."""

    def __str__(self) -> str:  # KeyError would print the sentence in quotes
        return self.args[0]


class Observer:
    """Base of `Tape` and `Editor`: the paths of one model's modules, and fnmatch patterns of point names."""

    priority: ClassVar[int] = 0  # lower ones get a tapped tensor first

    def __init__(self, model: nn.Module, patterns: Sequence[str]):
        if not isinstance(model, nn.Module):
            raise TapError(f"Only a model can be watched, not {type(model).__name__}.")
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise TapError(f"A pattern is a text such as '*.weights', not {type(pattern).__name__}.")
        self.paths = {module: path for path, module in model.named_modules()}
        self.patterns = tuple(patterns)
        self.reached_points: set[str] = set()  # full names, whether a pattern matches them or not
        self._matches: dict[tuple[nn.Module, str], tuple[str | None, list[str]]] = {}

    def match(self, module: nn.Module, point: str) -> tuple[str | None, list[str]]:
        """A point's full name (None: not part of the observed model) and the patterns that match it."""
        match = self._matches.get((module, point))
        if match is None:
            path = self.paths.get(module)
            name = None if path is None else f"{path}.{point}".lstrip(".")
            patterns = [] if name is None else [p for p in self.patterns if fnmatchcase(name, p)]
            match = self._matches[module, point] = name, patterns
        return match

    def matches(self, module: nn.Module, point: str) -> bool:
        return bool(self.match(module, point)[1])

    def on_tap(self, module: nn.Module, point: str, value: Tensor) -> Tensor:
        """Receive a tapped tensor; returns the one that the model continues with."""
        raise NotImplementedError

    def unmatched_patterns(self) -> list[str]:
        return [p for p in self.patterns if not any(fnmatchcase(name, p) for name in self.reached_points)]


active_observers: ContextVar[tuple[Observer, ...]] = ContextVar("active_observers", default=())


@contextmanager
def use_observers(*observers: Observer) -> Iterator[None]:
    """Make these the only active observers while the block runs: edits first, so that tapes record their result."""
    token = active_observers.set(tuple(sorted(observers, key=lambda observer: observer.priority)))
    try:
        yield
    finally:
        active_observers.reset(token)


def without_observers() -> AbstractContextManager[None]:
    """Deactivate all observers: for code that runs a layer again, as gradient checkpointing does."""
    return use_observers()


def has_observers(module: nn.Module) -> bool:
    """Whether a model that contains this module is observed."""
    return any(module in observer.paths for observer in active_observers.get())
