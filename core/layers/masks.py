"""Attention masks (padding, causal, window) and their combination: True = keep, broadcast to (batch, head, query, key)."""

from __future__ import annotations

import torch
from torch import Tensor


def valid_mask(lengths: Tensor, time: int) -> Tensor:
    """(batch, time): True where there is a token, False where there is padding."""
    return torch.arange(time, device=lengths.device) < lengths[:, None]


def padding_mask(lengths: Tensor, keys: int) -> Tensor:
    """(batch, 1, 1, key): keys that are not padding"""
    return valid_mask(lengths, keys)[:, None, None, :]


def causal_mask(queries: Tensor, keys: Tensor) -> Tensor:
    """(query, key): keys that are not ahead of the query"""
    return keys <= queries[:, None]


def window_mask(queries: Tensor, keys: Tensor, window: int) -> Tensor:
    """(query, key): keys at most `window` positions away from the query"""
    return (keys - queries[:, None]).abs() <= window


def combine_masks(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Logical AND: a key is kept if both masks keep it; None keeps everything."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def last_valid(x: Tensor, lengths: Tensor | None) -> Tensor:
    """(batch, time, unit) → (batch, unit): each sequence's last position that is not padding"""
    if lengths is None:
        return x[:, -1]
    return x[torch.arange(len(x), device=x.device), lengths - 1]
