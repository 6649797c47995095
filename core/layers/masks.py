"""Who may look at whom. True = keep, everywhere; shapes broadcast to (batch, head, query, key)."""

from __future__ import annotations

import torch
from torch import Tensor


class InputError(ValueError):
    """An input that cannot be read: too long, empty, or with tokens or lengths out of range. In both languages."""

    def __init__(self, en: str, zh: str):
        self.en, self.zh = en, zh
        super().__init__(en)

    def text(self, language: str) -> str:
        return getattr(self, language)

    def __reduce__(self):  # so that it can cross a process boundary
        return type(self), (self.en, self.zh)


def check_ids(ids: Tensor, vocab_size: int, max_len: int | None = None) -> None:
    """Refuse what would otherwise fail deep inside an embedding."""
    if ids.dim() != 2 or 0 in ids.shape:
        shape = tuple(ids.shape)
        raise InputError(
            f"Token ids must have shape (batch, time), neither empty; got {shape}.",
            f"符号编号的形状须为 (batch, time)，且都不为空；实际为 {shape}。",
        )
    time = ids.shape[1]
    if max_len is not None and time > max_len:
        raise InputError(
            f"The input has {time} tokens, but the model was built for max_len = {max_len}.",
            f"输入有 {time} 个符号，而模型按 max_len = {max_len} 构建。",
        )
    if ids.is_meta:
        return
    low, high = map(int, torch.aminmax(ids))
    if low < 0 or high >= vocab_size:
        wrong, last = low if low < 0 else high, vocab_size - 1
        raise InputError(
            f"Token id {wrong} is outside the vocabulary: ids go from 0 to {last}.",
            f"符号编号 {wrong} 不在词表中：编号从 0 到 {last}。",
        )


def check_lengths(lengths: Tensor | None, ids: Tensor) -> Tensor | None:
    """The lengths on the ids' device, or None when every sequence fills its row (then no mask is needed)."""
    if lengths is None or lengths.is_meta:
        return None
    batch, time = ids.shape
    if lengths.shape != (batch,):
        shape = tuple(lengths.shape)
        raise InputError(
            f"There must be one length per sequence: {batch}, not {shape}.",
            f"每个序列须有一个长度：{batch} 个，而不是 {shape}。",
        )
    low, high = map(int, torch.aminmax(lengths))
    if low < 1 or high > time:
        wrong = low if low < 1 else high
        raise InputError(
            f"Lengths must be from 1 to {time}; got {wrong}.",
            f"长度须在 1 到 {time} 之间；实际为 {wrong}。",
        )
    return None if low == time else lengths.to(ids.device)


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
