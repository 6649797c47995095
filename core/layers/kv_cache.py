"""Keys and values that need not be computed again while a text grows token by token.

Attention asks `past(layer, project)` for its keys and values, each (batch, kv_head, key, d_head); `project` computes
those of the tokens that are new.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

KeysValues = tuple[Tensor, Tensor]


class Past:
    """Of the text itself: each token's are computed once, when it is read, and joined to those before it."""

    def __init__(self) -> None:
        self.length = 0  # tokens read so far
        self.kept: dict[nn.Module, KeysValues] = {}
        self.memory = Once()

    def __call__(self, layer: nn.Module, project: Callable[[], KeysValues]) -> KeysValues:
        new = project()
        if layer in self.kept:
            new = tuple(torch.cat(pair, dim=2) for pair in zip(self.kept[layer], new, strict=True))
        self.kept[layer] = new
        return new

    def follow(self, rows: Tensor) -> None:
        """Go on with these rows, some perhaps twice, others not at all."""
        for kept in (self.kept, self.memory.kept):
            for layer, pair in kept.items():
                kept[layer] = tuple(tensor.index_select(0, rows) for tensor in pair)


class Once:
    """Of a memory that does not grow: computed at the first question."""

    def __init__(self) -> None:
        self.kept: dict[nn.Module, KeysValues] = {}

    def __call__(self, layer: nn.Module, project: Callable[[], KeysValues]) -> KeysValues:
        if layer not in self.kept:
            self.kept[layer] = project()
        return self.kept[layer]
