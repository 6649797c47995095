"""Checks of a model's inputs: each raises an `InputError` for what would otherwise fail deep inside a model."""

from __future__ import annotations

import torch
from torch import Tensor

from core.errors import InputError
from core.translatable import Text


def check_input(ids: Tensor, lengths: Tensor | None, vocab_size: int, max_len: int) -> Tensor | None:
    """Raise `InputError` for token ids or lengths that a model cannot read.

    Returns the lengths, in int64 and on the ids' device, or None when every sequence fills its row (then no mask is
    needed).
    """
    for value, expected in ((ids, Tensor), (lengths, Tensor | None)):
        if not isinstance(value, expected):
            kind = type(value).__name__
            raise InputError(
                "Token ids and lengths must be tensors, not {kind}: use torch.tensor(…).",
                kind=kind,
            )
    if ids.dim() != 2 or 0 in ids.shape:
        shape = tuple(ids.shape)
        raise InputError(
            "Token ids must have shape (batch, time), neither empty; got {shape}.",
            shape=shape,
        )
    batch, time = ids.shape
    if time > max_len:
        raise InputError(
            "The input has {time} tokens, but the model was built for max_len = {max_len}.",
            time=time,
            max_len=max_len,
        )
    check_range(Text("Token ids"), ids, 0, vocab_size - 1)
    if lengths is None:
        return None
    if lengths.shape != (batch,):
        shape = tuple(lengths.shape)
        raise InputError(
            "There must be one length per sequence: {batch}, not {shape}.",
            batch=batch,
            shape=shape,
        )
    lengths = check_range(Text("Lengths"), lengths, 1, time)
    full = lengths.is_meta or int(lengths.min()) == time
    return None if full else lengths.to(ids.device)


def check_shape(what: Text, values: Tensor, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise InputError(
            "{what} must have shape {shape}; got {actual}.",
            what=what,
            shape=tuple(shape),
            actual=tuple(values.shape),
        )


def check_range(what: Text, values: Tensor, low: int, high: int) -> Tensor:
    """Raise `InputError` unless all values are whole numbers from low to high (on the meta device: of integer type).

    Returns them in int64: torch's indexing reads uint8 as a mask and rejects other small integer types.
    """
    if values.dtype.is_floating_point or values.dtype.is_complex or values.dtype == torch.bool:
        kind = str(values.dtype).removeprefix("torch.")
        raise InputError("{what} must be whole numbers, not {kind}.", what=what, kind=kind)
    values = values.long()
    if values.is_meta:
        return values
    least, most = map(int, torch.aminmax(values))
    if least < low or most > high:
        wrong = least if least < low else most
        raise InputError(
            "{what} must be from {low} to {high}; got {wrong}.", what=what, low=low, high=high, wrong=wrong
        )
    return values


def check_pair(src_batch: int, tgt_batch: int) -> None:
    if src_batch != tgt_batch:
        raise InputError(
            "Source and target must be as many: {src_batch} sources, {tgt_batch} targets.",
            src_batch=src_batch,
            tgt_batch=tgt_batch,
        )
