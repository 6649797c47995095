"""Key–value caches for decoding token by token: keys and values of earlier tokens are not computed again.

Attention calls `cache.update(layer, project)` for its keys and values, each (batch, kv_head, key, d_head); `project`
computes those of the new tokens.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

KeysValues = tuple[Tensor, Tensor]


class StaticKVCache:
    """Keys and values of a sequence that does not grow (the encoder's memory), projected once per layer."""

    def __init__(self) -> None:
        self.entries: dict[nn.Module, KeysValues] = {}

    def update(self, layer: nn.Module, project: Callable[[], KeysValues]) -> KeysValues:
        if layer not in self.entries:
            self.entries[layer] = project()
        return self.entries[layer]

    def select_rows(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order; some may repeat (beams that survived)."""
        for layer, (k, v) in self.entries.items():
            self.entries[layer] = k.index_select(0, rows), v.index_select(0, rows)


class KVCache(StaticKVCache):
    """Keys and values of the generated sequence: those of new tokens are appended to those before them."""

    def __init__(self) -> None:
        super().__init__()
        self.length = 0  # tokens read so far
        self.cross = StaticKVCache()  # of cross-attention

    def update(self, layer: nn.Module, project: Callable[[], KeysValues]) -> KeysValues:
        k, v = project()
        if layer in self.entries:
            earlier_k, earlier_v = self.entries[layer]
            k, v = torch.cat([earlier_k, k], dim=2), torch.cat([earlier_v, v], dim=2)
        self.entries[layer] = k, v
        return k, v

    def select_rows(self, rows: Tensor) -> None:
        super().select_rows(rows)
        self.cross.select_rows(rows)
