"""What a model answers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Output:
    """`logits` is always there; its shape is the head's. The rest is there where the family has it."""

    logits: Tensor
    hidden: Tensor | None = None  # (batch, time, unit): the last layer
    pooled: Tensor | None = None  # (batch, unit): one vector for the sequence
    next_sentence: Tensor | None = None  # (batch, 2): follows, does not follow
