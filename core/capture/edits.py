"""Ready-made edits for `core.edit`: small objects that map a tensor to its replacement.

Heads are dimension 1 of (batch, head, query, ...) tensors, units the last dimension of any tensor. Recurrent
points are edited step by step, without their time dimension; `at(steps, edit)` limits any edit to some steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral

import torch
from torch import Tensor

from core.capture.tape import Edit, TapError

Indices = int | Iterable[int]


def zero_heads(*heads: Indices) -> Edit:
    """Knock heads out: put on `attn.context`, the rest of the model runs as if they had said nothing."""
    return _OnHeads(_listed(heads, "head"), torch.zeros_like)


def uniform_heads(*heads: Indices) -> Edit:
    """Put on `attn.scores`: these heads look at everything they may see, equally.

    The weights themselves would not do: a key that may be seen can have a weight of 0, rounded.
    """
    return _OnHeads(_listed(heads, "head"), torch.zeros_like, point="scores")


def zero_units(*units: Indices) -> Edit:
    return set_units(0.0, *units)


def set_units(value: float, *units: Indices) -> Edit:
    """Hold units at a value, for example a forget gate at 1."""
    listed = _listed(units, "unit")

    def edit(tensor: Tensor) -> Tensor:
        chosen = _chosen(listed, tensor.shape[-1], "unit", tensor.device)
        return torch.where(chosen, torch.full_like(tensor, value), tensor)

    return edit


def set_to(value: float) -> Edit:
    return lambda tensor: torch.full_like(tensor, value)


def scale(factor: float) -> Edit:
    return lambda tensor: tensor * factor


def add(vector: Tensor | Iterable[float]) -> Edit:
    """Add a vector (steering); it must broadcast to the tensor."""
    addend = _as_tensor(vector)
    return lambda tensor: tensor + addend.to(tensor)


def patch(source: Tensor | Iterable) -> Edit:
    """Replace by a tensor captured in another run (activation patching)."""
    return _Patch(_as_tensor(source))


def at(steps: Indices, edit: Edit) -> Edit:
    """Apply an edit at some time steps only (the query, for attention)."""
    if not callable(edit):
        raise TapError(f"What is done at these steps is an edit, such as core.edits.scale(0), not {edit!r}.")
    return _At(frozenset(_listed([steps], "step")), edit)


@dataclass(frozen=True)
class _Patch:
    source: Tensor  # as it lies on the tape, time included

    def __call__(self, tensor: Tensor) -> Tensor:
        return self.source.to(tensor).expand_as(tensor)

    def at_step(self, tensor: Tensor, time: int, length: int) -> Tensor:
        if self.source.shape[-2] != length:
            raise IndexError(f"the patch has {self.source.shape[-2]} time steps, the point {length}.")
        return self.source.select(-2, time).to(tensor).expand_as(tensor)


@dataclass(frozen=True)
class _At:
    steps: frozenset[int]
    edit: Edit

    @property
    def point(self) -> str | None:
        return getattr(self.edit, "point", None)

    def __call__(self, tensor: Tensor) -> Tensor:
        if tensor.dim() < 3:
            raise TapError("This point has no time steps: it is one vector for the whole sequence.")
        chosen = _chosen(self.steps, tensor.shape[-2], "step", tensor.device)  # time is the last but one
        return torch.where(chosen[:, None], self.edit(tensor), tensor)

    def at_step(self, tensor: Tensor, time: int, length: int) -> Tensor:
        if not _chosen(self.steps, length, "step", tensor.device)[time]:
            return tensor
        inner = getattr(self.edit, "at_step", None)
        return inner(tensor, time, length) if inner else self.edit(tensor)


@dataclass(frozen=True)
class _OnHeads:
    heads: tuple[int, ...]
    change: Callable[[Tensor], Tensor]
    point: str | None = None  # the only one it belongs on; None: any with heads

    def __call__(self, tensor: Tensor) -> Tensor:
        """(batch, head, query, …)"""
        return self.apply(tensor, dims=4)

    def at_step(self, tensor: Tensor, time: int, length: int) -> Tensor:
        """(batch, head, …)"""
        return self.apply(tensor, dims=3)

    def apply(self, tensor: Tensor, dims: int) -> Tensor:
        if tensor.dim() != dims:
            raise TapError("This point has no heads: choose one of attention's, such as context or weights.")
        chosen = _chosen(self.heads, tensor.shape[1], "head", tensor.device)
        return torch.where(chosen.view(-1, *[1] * (dims - 2)), self.change(tensor), tensor)


def _listed(given: Iterable[Indices], what: str) -> tuple[int, ...]:
    """Numbers, and lists of them in any form, as one row of numbers."""
    indices: list[int] = []
    for each in given:
        numbers = each.tolist() if hasattr(each, "tolist") else each  # of torch and numpy
        for index in numbers if isinstance(numbers, Iterable) and not isinstance(numbers, str) else [numbers]:
            if not isinstance(index, Integral) or isinstance(index, bool):
                raise TapError(f"Each {what} is given by its number, not as {index!r}.")
            indices.append(int(index))
    if not indices:
        raise TapError(f"No {what} was named: nothing would be edited.")
    return tuple(indices)


def _as_tensor(values: Tensor | Iterable[float]) -> Tensor:
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TapError(f"A tensor or numbers that make one are expected, not {type(values).__name__}.") from error


def _chosen(indices: Iterable[int], size: int, what: str, device: torch.device) -> Tensor:
    """A boolean vector with the chosen indices on."""
    outside = [i for i in indices if not 0 <= i < size]
    if outside:
        raise TapError(f"There is no {what} {outside[0]}: they are numbered 0 to {size - 1}.")
    chosen = torch.zeros(size, dtype=torch.bool, device=device)
    chosen[list(indices)] = True
    return chosen
