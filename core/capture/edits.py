"""Ready-made edits for `core.edit`: small objects that map a tensor to its replacement.

Heads are dimension 1 of (batch, head, query, ...) tensors, units the last dimension of any tensor. Recurrent
points are edited one position (time step) after the other, without their time dimension; `at(positions, edit)` limits
any edit to some positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral

import torch
from torch import Tensor

from core.capture.editing import Edit
from core.capture.observers import TapError

Indices = int | Iterable[int]


def zero_heads(*heads: Indices) -> Edit:
    """Head ablation: on `attn.context`, these heads contribute nothing to the residual stream."""
    return _HeadEdit(_indices(heads, "head"), torch.zeros_like)


def uniform_heads(*heads: Indices) -> Edit:
    """Uniform attention: on `attn.scores`, these heads give the same weight to every key that the mask keeps.

    Not on `attn.weights`: there a visible key whose weight was rounded to 0 looks the same as a masked one.
    """
    return _HeadEdit(_indices(heads, "head"), torch.zeros_like, point="scores")


def zero_units(*units: Indices) -> Edit:
    return set_units(0.0, *units)


def set_units(value: float, *units: Indices) -> Edit:
    """Hold units at a value, for example a forget gate at 1."""
    indices = _indices(units, "unit")

    def edit(tensor: Tensor) -> Tensor:
        selected = _index_mask(indices, tensor.shape[-1], "unit", tensor.device)
        return torch.where(selected, torch.full_like(tensor, value), tensor)

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


def at(positions: Indices, edit: Edit) -> Edit:
    """Apply an edit at some positions of the sequence only (of the query, for attention)."""
    if not callable(edit):
        raise TapError(f"What is done at these steps is an edit, such as core.edits.scale(0), not {edit!r}.")
    return _PositionEdit(frozenset(_indices([positions], "step")), edit)


@dataclass(frozen=True)
class _Patch:
    source: Tensor  # with the shape it has on the tape, time included

    def __call__(self, tensor: Tensor) -> Tensor:
        return self.source.to(tensor).expand_as(tensor)

    def at_position(self, tensor: Tensor, time: int, length: int) -> Tensor:
        if self.source.shape[-2] != length:
            raise IndexError(f"the patch has {self.source.shape[-2]} time steps, the point {length}.")
        return self.source.select(-2, time).to(tensor).expand_as(tensor)


@dataclass(frozen=True)
class _PositionEdit:
    positions: frozenset[int]
    edit: Edit

    @property
    def point(self) -> str | None:
        return getattr(self.edit, "point", None)

    def __call__(self, tensor: Tensor) -> Tensor:
        if tensor.dim() < 3:
            raise TapError("This point has no time steps: it is one vector for the whole sequence.")
        selected = _index_mask(self.positions, tensor.shape[-2], "step", tensor.device)  # time is the last but one
        return torch.where(selected[:, None], self.edit(tensor), tensor)

    def at_position(self, tensor: Tensor, time: int, length: int) -> Tensor:
        if not _index_mask(self.positions, length, "step", tensor.device)[time]:
            return tensor
        inner = getattr(self.edit, "at_position", None)
        return inner(tensor, time, length) if inner else self.edit(tensor)


@dataclass(frozen=True)
class _HeadEdit:
    heads: tuple[int, ...]
    change: Callable[[Tensor], Tensor]
    point: str | None = None  # the only point it may be used on; None: any with heads

    def __call__(self, tensor: Tensor) -> Tensor:
        """(batch, head, query, …)"""
        return self.apply(tensor, dims=4)

    def at_position(self, tensor: Tensor, time: int, length: int) -> Tensor:
        """(batch, head, …)"""
        return self.apply(tensor, dims=3)

    def apply(self, tensor: Tensor, dims: int) -> Tensor:
        if tensor.dim() != dims:
            raise TapError("This point has no heads: choose one of attention's, such as context or weights.")
        selected = _index_mask(self.heads, tensor.shape[1], "head", tensor.device)
        return torch.where(selected.view(-1, *[1] * (dims - 2)), self.change(tensor), tensor)


def _indices(arguments: Iterable[Indices], kind: str) -> tuple[int, ...]:
    """Flatten numbers and iterables of numbers (lists, ranges, torch and NumPy arrays) into one tuple."""
    indices: list[int] = []
    for argument in arguments:
        to_list = getattr(argument, "tolist", None)  # of torch and NumPy
        numbers = argument if to_list is None else to_list()
        for index in numbers if isinstance(numbers, Iterable) and not isinstance(numbers, str) else [numbers]:
            if not isinstance(index, Integral) or isinstance(index, bool):
                raise TapError(f"Each {kind} is given by its number, not as {index!r}.")
            indices.append(int(index))
    if not indices:
        raise TapError(f"No {kind} was named: nothing would be edited.")
    return tuple(indices)


def _as_tensor(values: Tensor | Iterable[float]) -> Tensor:
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TapError(f"A tensor or numbers that make one are expected, not {type(values).__name__}.") from error


def _index_mask(indices: Iterable[int], size: int, kind: str, device: torch.device) -> Tensor:
    """(size,) boolean: True at the indices."""
    outside = [i for i in indices if not 0 <= i < size]
    if outside:
        raise TapError(f"There is no {kind} {outside[0]}: they are numbered 0 to {size - 1}.")
    mask = torch.zeros(size, dtype=torch.bool, device=device)
    mask[list(indices)] = True
    return mask
