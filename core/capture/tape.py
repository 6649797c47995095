"""Capture and edit: look into a model while it runs, or reach into it.

Layers mark what can be seen with one line, `x = tap(self, "weights", x)`. A tap asks a `ContextVar` who is
watching in this thread: nobody (the tensor passes through), a `Tape` (it is kept under the module's path, as
`blocks.0.attn.weights`) or an edit (it is replaced). Modules hold no state, so two threads may watch one model.

A layer with a fast path asks `wanted(self, "scores", "weights")` first and writes its formula out only then.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

from core.allocator import keep_freed_memory

Edit = Callable[[Tensor], Tensor]
Keep = Callable[[str, Tensor], Tensor | None]


class TapError(KeyError):
    """A point was asked for that the model does not have, or an edit returned something unusable."""

    def __str__(self) -> str:  # KeyError would print the sentence in quotes
        return self.args[0]


class Observer:
    """Somebody watching one model: knows the path of each of its modules and the patterns asked for."""

    def __init__(self, model: nn.Module, patterns: Sequence[str]):
        if not isinstance(model, nn.Module):
            raise TapError(f"Only a model can be watched, not {type(model).__name__}.")
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise TapError(f"A pattern is a text such as '*.weights', not {type(pattern).__name__}.")
        self.paths = {module: path for path, module in model.named_modules()}
        self.patterns = tuple(patterns)
        self.fired: set[str] = set()
        self._found: dict[tuple[nn.Module, str], tuple[str | None, list[str]]] = {}

    def find(self, module: nn.Module, point: str) -> tuple[str | None, list[str]]:
        """A point's full name (None: not part of the watched model) and the patterns that ask for it."""
        found = self._found.get((module, point))
        if found is None:
            path = self.paths.get(module)
            name = None if path is None else f"{path}.{point}".lstrip(".")
            matching = [] if name is None else [p for p in self.patterns if fnmatchcase(name, p)]
            found = self._found[module, point] = name, matching
        return found

    def wants(self, module: nn.Module, point: str) -> bool:
        return bool(self.find(module, point)[1])

    def unmatched(self) -> list[str]:
        return [p for p in self.patterns if not any(fnmatchcase(name, p) for name in self.fired)]


class Tape(Observer, Mapping[str, Tensor]):
    """What one forward pass left behind, by name, in the order in which it was computed.

    If the model runs more than once inside a capture, the last run is the one that is kept.
    """

    def __init__(self, model: nn.Module, patterns: Sequence[str], gradients: bool, keep: Keep | None = None):
        super().__init__(model, patterns or ["*"])
        if gradients and keep is not None:
            raise TapError("Gradients belong to the tensors themselves: use either gradients=True or keep, not both.")
        self.gradients, self.keep = gradients, keep
        self._kept: dict[str, Tensor | list[Tensor]] = {}

    def see(self, module: nn.Module, point: str, value: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
        """Keep a tensor, or the list of its time steps in the order of the tokens, if it is asked for."""
        name, patterns = self.find(module, point)
        if name is not None:
            self.fired.add(name)
        if patterns:
            self.forget_from(name)
            steps = isinstance(value, list)
            if self.keep is not None:
                kept = self.keep(name, (torch.stack(value, dim=-2) if steps else value).detach())
                if kept is not None:
                    self._kept[name] = kept
            else:
                self._kept[name] = [self.hold(step) for step in value] if steps else self.hold(value)
        return value

    def hold(self, tensor: Tensor) -> Tensor:
        """The tensor itself, never a copy: no layer writes into what it has shown."""
        if not self.gradients:
            return tensor.detach()
        if tensor.requires_grad:
            tensor.retain_grad()
        return tensor

    def forget_from(self, name: str) -> None:
        """A name seen again means that the model runs again: all that came after it the last time is out of date."""
        if name in self._kept:
            names = list(self._kept)
            for later in names[names.index(name) :]:
                del self._kept[later]

    def names(self) -> list[str]:
        return list(self._kept)

    def __repr__(self) -> str:
        return f"Tape({', '.join(f'{name} {tuple(self[name].shape)}' for name in self._kept)})"

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, name: str) -> Tensor:
        value = self._find(name)
        return torch.stack(value, dim=-2) if isinstance(value, list) else value

    def steps(self) -> list[list[Tensor]]:
        """The kept tensors themselves, part of the graph if gradients were asked for; recurrent ones step by step."""
        return [value if isinstance(value, list) else [value] for value in self._kept.values()]

    def grad(self, name: str) -> Tensor:
        """d loss / d point, after `backward()`; needs `capture(..., gradients=True)`.

        For a recurrent state this is the whole gradient that reaches h_t, through the future too.
        """
        if not self.gradients:
            raise TapError("No gradients were kept: use core.capture(model, ..., gradients=True).")
        value = self._find(name)
        steps = value if isinstance(value, list) else [value]
        if all(step.grad is None for step in steps):
            raise TapError(f"No gradient has reached {name!r}: call backward() on a loss that depends on it.")
        grads = [torch.zeros_like(step) if step.grad is None else step.grad for step in steps]
        return torch.stack(grads, dim=-2) if isinstance(value, list) else grads[0]

    def _find(self, name: str) -> Tensor | list[Tensor]:
        if name in self._kept:
            return self._kept[name]
        if not self.fired:
            raise TapError("Nothing was captured: the model did not run inside this capture, in this thread.")
        raise TapError(f"Nothing was captured under {name!r}: {self._why_missing(str(name))}")

    def _why_missing(self, name: str) -> str:
        if name in self.fired and any(fnmatchcase(name, pattern) for pattern in self.patterns):
            return "`keep` kept nothing of it." if self.keep else "the model's last run did not compute it."
        points = {point for point, asking in self._found.values() if point and (point in self.fired or not asking)}
        close, near = (difflib.get_close_matches(name, sorted(names), cutoff=0.5) for names in (self._kept, points))
        missed = ", ".join(map(repr, self.unmatched()))
        if missed and (name in points or not close):
            return f"{missed} matched nothing." + (f" Near it the model has {', '.join(near)}." if near else "")
        if name in points:
            return "no pattern asked for it."
        if self.keep and not self._kept:
            return "`keep` kept nothing."
        return f"did you mean {', '.join(close)}?" if close else f"{len(self)} points are on the tape."


class Editing(Observer):
    """Replaces tensors in flight."""

    def __init__(self, model: nn.Module, edits: Mapping[str, Edit]):
        if not isinstance(edits, Mapping):
            raise TapError(f"Edits are {{point: function of its tensor}}, not {type(edits).__name__}.")
        super().__init__(model, list(edits))
        for name, edit in edits.items():
            if not callable(edit):
                raise TapError(f"The edit of {name!r} is no function of its tensor; for a value, core.edits.set_to.")
        self.edits = dict(edits)

    def see(self, module: nn.Module, point: str, value: Tensor, step: tuple[int, int] | None = None) -> Tensor:
        """`step` is (which, of how many) where the value is one time step of a point."""
        name, patterns = self.find(module, point)
        if name is not None:
            self.fired.add(name)
        for pattern in patterns:
            edit = self.edits[pattern]
            only_on = getattr(edit, "point", None) or point
            if only_on != point:
                meant = f"{name.removesuffix(point)}{only_on}"
                raise TapError(f"The edit of {name!r} can only be one of {meant!r}.")
            at_step = getattr(edit, "at_step", None)
            try:
                revised = edit(value) if step is None or at_step is None else at_step(value, *step)
            except (RuntimeError, IndexError, TypeError) as error:
                raise TapError(f"The edit of {name!r} does not fit shape {tuple(value.shape)}: {error}") from error
            if not isinstance(revised, Tensor):
                raise TapError(f"The edit of {name!r} returned {type(revised).__name__}, not a tensor.")
            for what in ("shape", "dtype", "device"):
                old, new = getattr(value, what), getattr(revised, what)
                if old != new:
                    told = (
                        f"{tuple(new)}; it must keep {tuple(old)}"
                        if what == "shape"
                        else f"{new}; it must keep {old}"
                    )
                    raise TapError(f"The edit of {name!r} returned {what} {told}.")
            value = revised
        return value


_observers: ContextVar[tuple[Observer, ...]] = ContextVar("observers", default=())


@contextmanager
def _watching(*observers: Observer) -> Iterator[None]:
    token = _observers.set(tuple(sorted(observers, key=lambda observer: isinstance(observer, Tape))))  # edits first
    try:
        yield
    finally:
        _observers.reset(token)


@contextmanager
def capture(model: nn.Module, *patterns: str, gradients: bool = False, keep: Keep | None = None) -> Iterator[Tape]:
    """Keep the points whose names match any of the patterns (fnmatch; none = all) while the block runs.

    With `keep`, each tensor is handed to `keep(name, tensor)` as soon as it is computed, and what that returns is kept
    in its place: something smaller (`core.capture.tape.as_bytes`), or None, so that of a long input only one layer's weights
    are ever alive. It must not write into the tensor, which the model goes on with.

    From the first capture on, the process keeps the memory that captures free (`core.allocator`).
    """
    keep_freed_memory()
    tape = Tape(model, patterns, gradients, keep)
    with _watching(*_observers.get(), tape):
        yield tape


def as_bytes(name: str, weights: Tensor) -> Tensor:
    """For `capture(keep=…)`: numbers from 0 to 1, as attention weights are, in 255ths: a quarter of the memory.

    One (batch, head) at a time, so that the way there takes no memory of its own.
    """
    kept = torch.empty(weights.shape, dtype=torch.uint8, device=weights.device)
    for source, target in zip(weights.flatten(0, -3), kept.flatten(0, -3), strict=True):
        target.copy_((source * 255).round_())
    return kept


@contextmanager
def edit(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Run the block with points replaced: `{pattern: function of the tensor}`; see `core.capture.edits`.

    A knock-out must not silently do nothing: a pattern that names no point is an error, and a block in which the model
    did not run gives a warning.
    """
    editing = Editing(model, edits)
    with _watching(*_observers.get(), editing):
        yield
    missed = editing.unmatched()
    if missed and not editing.fired:
        told = "Nothing was edited: the model did not run inside this edit, in this thread. A copy is another."
        warnings.warn(told, stacklevel=3)
    elif missed:
        raise TapError(f"No point is named {', '.join(map(repr, missed))}: nothing was edited there.")


def unobserved():
    """Hide every observer: for code that runs a layer again, as gradient checkpointing does."""
    return _watching()


def observed(module: nn.Module) -> bool:
    """Is anybody watching the model this module belongs to?"""
    return any(module in observer.paths for observer in _observers.get())


def wanted(module: nn.Module, *points: str) -> bool:
    """Does anybody watch one of these points of this module?"""
    return any(observer.wants(module, point) for observer in _observers.get() for point in points)


def tap(module: nn.Module, point: str, value: Tensor) -> Tensor:
    """Let everybody who watches see this tensor, edits first; returns what the model goes on with."""
    for observer in _observers.get():
        value = observer.see(module, point, value)
    return value


class Steps:
    """The taps of a layer that works one time step at a time.

    Called as `see("forget", f)`, it edits in flight, so that a change at one step is felt in all later ones. A state
    is seen as `see("cell", new, old)`: sequences that have ended keep the old one. `close()` hands the collected
    steps to the tapes as one entry each, time being the last dimension but one.
    """

    def __init__(self, module: nn.Module, length: int):
        self.module, self.length = module, length
        self.edits = [observer for observer in _observers.get() if isinstance(observer, Editing)]
        self.tapes = [observer for observer in _observers.get() if isinstance(observer, Tape)]
        self.time = 0
        self.running: Tensor | None = None  # (batch, 1), True where a sequence still runs; None: all do
        self.collected: dict[str, list[Tensor | None]] = {}

    def __call__(self, point: str, value: Tensor, before: Tensor | None = None) -> Tensor:
        for editing in self.edits:
            value = editing.see(self.module, point, value, (self.time, self.length))
        if before is not None and self.running is not None:
            value = torch.where(self.running, value, before)
        if self.tapes:
            self.collected.setdefault(point, [None] * self.length)[self.time] = value
        return value

    def close(self) -> None:
        for point, steps in self.collected.items():
            for tape in self.tapes:
                tape.see(self.module, point, steps)
