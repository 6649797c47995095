"""`core.capture`: record the tapped tensors of a forward pass, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import ClassVar

import torch
from torch import Tensor, nn

from core.allocator import keep_freed_memory
from core.capture.observers import Observer, TapError, active_observers, use_observers

Keep = Callable[[str, Tensor], Tensor | None]


@contextmanager
def capture(model: nn.Module, *patterns: str, gradients: bool = False, keep: Keep | None = None) -> Iterator[Tape]:
    """Record the points whose names match any of the patterns (fnmatch; none = all) while the block runs.

    With `keep`, each tensor is passed to `keep(name, tensor)` as soon as it is computed, and the result is recorded in
    its place: something smaller (`core.capture.tape.as_bytes`), or None for nothing, so that of a long input only one
    layer's weights are in memory at a time. It must not write into the tensor, which the model continues with.

    From the first capture on, the process keeps the memory that captures free (`core.allocator`).
    """
    keep_freed_memory()
    tape = Tape(model, patterns, gradients, keep)
    with use_observers(*active_observers.get(), tape):
        yield tape


class Tape(Observer, Mapping[str, Tensor]):
    """The tensors recorded in one forward pass, by name, in the order in which they were computed.

    If the model runs more than once inside a capture, the tape holds the last run.
    """

    priority: ClassVar[int] = 1  # after all edits

    def __init__(self, model: nn.Module, patterns: Sequence[str], gradients: bool, keep: Keep | None = None):
        super().__init__(model, patterns or ["*"])
        if gradients and keep is not None:
            raise TapError("Gradients belong to the tensors themselves: use either gradients=True or keep, not both.")
        self.gradients, self.keep = gradients, keep
        self._records: dict[str, Tensor | list[Tensor]] = {}  # a list: one tensor per position of a recurrent point

    def on_tap(self, module: nn.Module, point: str, value: Tensor) -> Tensor:
        self.record(module, point, value)
        return value

    def record(self, module: nn.Module, point: str, value: Tensor | list[Tensor]) -> None:
        """Record a tensor, or the list of its positions in the order of the tokens, if a pattern matches its name."""
        name, patterns = self.match(module, point)
        if name is None:
            return
        self.reached_points.add(name)
        if not patterns:
            return
        self._discard_from(name)
        if self.keep is not None:
            result = self.keep(name, (torch.stack(value, dim=-2) if isinstance(value, list) else value).detach())
            if result is not None:
                self._records[name] = result
        elif isinstance(value, list):
            self._records[name] = [self._reference(tensor) for tensor in value]
        else:
            self._records[name] = self._reference(value)

    def _reference(self, tensor: Tensor) -> Tensor:
        """The tensor itself, never a copy: no layer writes into a tensor that it has tapped."""
        if not self.gradients:
            return tensor.detach()
        if tensor.requires_grad:
            tensor.retain_grad()
        return tensor

    def _discard_from(self, name: str) -> None:
        """A name recorded before means that the model runs again: drop it and all that followed it in the last run."""
        if name in self._records:
            names = list(self._records)
            for later in names[names.index(name) :]:
                del self._records[later]

    def names(self) -> list[str]:
        return list(self._records)

    def __repr__(self) -> str:
        return f"Tape({', '.join(f'{name} {tuple(self[name].shape)}' for name in self._records)})"

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, name: str) -> Tensor:
        record = self._find(name)
        return torch.stack(record, dim=-2) if isinstance(record, list) else record

    def tensors(self) -> list[Tensor]:
        """The recorded tensors themselves, part of the graph with `gradients=True`; recurrent points per position."""
        records = self._records.values()
        return [tensor for record in records for tensor in (record if isinstance(record, list) else [record])]

    def grad(self, name: str) -> Tensor:
        """d loss / d point, after `backward()`; needs `capture(..., gradients=True)`.

        For a recurrent state this is the whole gradient that reaches h_t, through later positions too.
        """
        if not self.gradients:
            raise TapError("No gradients were kept: use core.capture(model, ..., gradients=True).")
        record = self._find(name)
        tensors = record if isinstance(record, list) else [record]
        if all(tensor.grad is None for tensor in tensors):
            raise TapError(f"No gradient has reached {name!r}: call backward() on a loss that depends on it.")
        grads = [torch.zeros_like(tensor) if tensor.grad is None else tensor.grad for tensor in tensors]
        return torch.stack(grads, dim=-2) if isinstance(record, list) else grads[0]

    def _find(self, name: str) -> Tensor | list[Tensor]:
        if name in self._records:
            return self._records[name]
        if not self.reached_points:
            raise TapError("Nothing was captured: the model did not run inside this capture, in this thread.")
        raise TapError(f"Nothing was captured under {name!r}: {self._why_missing(str(name))}")

    def _why_missing(self, name: str) -> str:
        if name in self.reached_points and any(fnmatchcase(name, pattern) for pattern in self.patterns):
            return "`keep` kept nothing of it." if self.keep else "the model's last run did not compute it."
        points = {
            point
            for point, patterns in self._matches.values()
            if point and (point in self.reached_points or not patterns)
        }
        close, near = (
            difflib.get_close_matches(name, sorted(names), cutoff=0.5) for names in (self._records, points)
        )
        unmatched = ", ".join(map(repr, self.unmatched_patterns()))
        if unmatched and (name in points or not close):
            return f"{unmatched} matched nothing." + (f" Near it the model has {', '.join(near)}." if near else "")
        if name in points:
            return "no pattern asked for it."
        if self.keep and not self._records:
            return "`keep` kept nothing."
        return f"did you mean {', '.join(close)}?" if close else f"{len(self)} points are on the tape."


def as_bytes(name: str, weights: Tensor) -> Tensor:
    """For `capture(keep=…)`: numbers from 0 to 1, such as attention weights, as uint8 (255ths), a quarter of the memory.

    Converted one (batch, head) at a time, so that no second full-size tensor is allocated.
    """
    quantized = torch.empty(weights.shape, dtype=torch.uint8, device=weights.device)
    for source, target in zip(weights.flatten(0, -3), quantized.flatten(0, -3), strict=True):
        target.copy_((source * 255).round_())
    return quantized
