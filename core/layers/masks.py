"""Who may look at whom. True = keep, everywhere; shapes broadcast to (batch, head, query, key)."""

from __future__ import annotations

import torch
from torch import Tensor


class InputError(ValueError):
    """An input the model cannot read: too long, empty, or with tokens or lengths out of range."""


def check_ids(ids: Tensor, vocab_size: int, max_len: int | None = None) -> None:
    """Refuse what would otherwise fail deep inside an embedding."""
    if ids.dim() != 2 or 0 in ids.shape:
        raise InputError(f"Token ids must have shape (batch, time), neither empty; got {tuple(ids.shape)}.")
    if max_len is not None and ids.shape[1] > max_len:
        raise InputError(f"The input has {ids.shape[1]} tokens, but the model was built for max_len = {max_len}.")
    if ids.is_meta:
        return
    low, high = map(int, torch.aminmax(ids))
    if low < 0 or high >= vocab_size:
        wrong = low if low < 0 else high
        raise InputError(f"Token id {wrong} is outside the vocabulary: ids go from 0 to {vocab_size - 1}.")


def check_lengths(lengths: Tensor | None, ids: Tensor) -> Tensor | None:
    """The lengths on the ids' device, or None when every sequence fills its row (then no mask is needed)."""
    if lengths is None or lengths.is_meta:
        return None
    if lengths.shape != ids.shape[:1]:
        raise InputError(f"There must be one length per sequence: {ids.shape[0]}, not {tuple(lengths.shape)}.")
    low, high = map(int, torch.aminmax(lengths))
    if low < 1 or high > ids.shape[1]:
        raise InputError(f"Lengths must be from 1 to {ids.shape[1]}; got {low if low < 1 else high}.")
    return None if low == ids.shape[1] else lengths.to(ids.device)


def valid_mask(lengths: Tensor, time: int) -> Tensor:
    """(batch, time): True where there is a token, False where there is padding."""
    return torch.arange(time, device=lengths.device) < lengths[:, None]


def padding_mask(lengths: Tensor, keys: int) -> Tensor:
    """(batch, 1, 1, key): nobody looks at padding."""
    return valid_mask(lengths, keys)[:, None, None, :]


def causal_mask(queries: Tensor, keys: Tensor) -> Tensor:
    """(query, key): nobody looks ahead."""
    return keys <= queries[:, None]


def window_mask(queries: Tensor, keys: Tensor, window: int) -> Tensor:
    """(query, key): nobody looks further than the window."""
    return (keys - queries[:, None]).abs() <= window


def both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """A key is kept if both masks keep it; None keeps everything."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def last_valid(x: Tensor, lengths: Tensor | None) -> Tensor:
    """(batch, time, unit) → (batch, unit): each sequence's last step that is not padding."""
    if lengths is None:
        return x[:, -1]
    return x[torch.arange(len(x), device=x.device), lengths - 1]
