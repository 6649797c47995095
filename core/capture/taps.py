"""Taps: one line in a layer, `x = tap(self, "weights", x)`, makes a tensor observable and editable.

A tap passes its tensor to the observers active in this thread: none (it goes through unchanged), a `Tape` (recorded
under the module's path, as `blocks.0.attn.weights`) or an `Editor` (replaced). A layer with a fused path checks
`is_tapped(self, "scores", "weights")` first and computes the explicit formula only then.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from core.capture.editing import Editor
from core.capture.observers import active_observers
from core.capture.tape import Tape


def tap(module: nn.Module, point: str, value: Tensor) -> Tensor:
    """Show a tensor to all active observers, edits first; returns the one to continue with."""
    for observer in active_observers.get():
        value = observer.on_tap(module, point, value)
    return value


def is_tapped(module: nn.Module, *points: str) -> bool:
    """Whether an active observer's patterns match one of these points of the module."""
    return any(observer.matches(module, point) for observer in active_observers.get() for point in points)


class RecurrentTap:
    """The taps of a layer that computes one position of the sequence (time step) after the other.

    Called as `tap("forget", f)`, it edits in flight, so that an edit at one position reaches all later ones. A state
    is tapped as `tap("cell", new, old)`: sequences that have ended keep the old one. `close()` hands the collected
    positions to the tapes as one entry per point, time being the last dimension but one.
    """

    def __init__(self, module: nn.Module, length: int):
        self.module, self.length = module, length
        self.editors = [observer for observer in active_observers.get() if isinstance(observer, Editor)]
        self.tapes = [observer for observer in active_observers.get() if isinstance(observer, Tape)]
        self.time = 0
        self.active: Tensor | None = None  # (batch, 1), True where a sequence has not ended; None: none has
        self.collected: dict[str, list[Tensor]] = {}

    def __call__(self, point: str, value: Tensor, before: Tensor | None = None) -> Tensor:
        for editor in self.editors:
            value = editor.on_tap(self.module, point, value, (self.time, self.length))
        if before is not None and self.active is not None:
            value = torch.where(self.active, value, before)
        if self.tapes:
            if point not in self.collected:
                self.collected[point] = [value] * self.length  # each position is overwritten in its turn
            self.collected[point][self.time] = value
        return value

    def close(self) -> None:
        for point, values in self.collected.items():
            for tape in self.tapes:
                tape.record(self.module, point, values)
