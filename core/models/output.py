"""The output of every model."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Output:
    """`logits`, whose shape depends on the head; the other fields are None in families without them."""

    logits: Tensor
    hidden: Tensor | None = None  # (batch, time, unit): of the last layer
    pooled: Tensor | None = None  # (batch, unit): one vector for the sequence
    next_sentence: Tensor | None = None  # (batch, 2): scores of follows, does not follow
