"""Local (sliding-window) attention: each query attends to the keys within a window, at a cost of n · window, not n².

The sequence is cut into blocks as long as the window. A query's window lies inside its own block and its two
neighbours, so the kernel compares each block with three (causal: two) and a small mask trims the corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from core.layers.attention import Attention, AttentionScope, mask_scores
from core.layers.masks import causal_mask, valid_mask, window_mask


@dataclass(frozen=True, kw_only=True)
class LocalAttentionScope(AttentionScope):
    """An attention scope that ends `window` positions away on either side."""

    window: int
    kernel_causal = False

    def mask(self) -> Tensor:
        near = window_mask(self.query_positions, self.key_positions, self.window)[None, None]
        mask = super().mask()
        return near if mask is None else mask & near

    @cached_property
    def kernel_mask(self) -> Tensor:
        """Mask and bias of each block of queries and its neighbourhood, (batch or 1, block, 1 or head, query, key)."""
        window, time, device = self.window, len(self.key_positions), self.key_positions.device
        blocks = -(-time // window)
        queries = torch.arange(window, device=device)
        keys = torch.arange(-window, window if self.causal else 2 * window, device=device)
        near = window_mask(queries, keys, window)
        if self.causal:
            near = near & causal_mask(queries, keys)
        lengths = self.key_positions.new_tensor([time]) if self.lengths is None else self.lengths
        valid = neighbourhoods(valid_mask(lengths, blocks * window)[:, None, :, None], window, self.causal)
        mask = near & valid.transpose(1, 2).squeeze(-1)[:, :, :, None, :]  # (batch or 1, block, 1, query, key)
        bias = self.position.bias(queries, keys)  # (head, query, key): relative, hence the same in every block
        return mask if bias is None else mask_scores(bias, mask)


class LocalAttention(Attention):
    """Attention with a `LocalAttentionScope`. In training, dropout draws its noise per block, not per cell of n²."""

    def fused(self, q: Tensor, k: Tensor, v: Tensor, scope: AttentionScope) -> Tensor:
        assert isinstance(scope, LocalAttentionScope)
        time, window = q.shape[2], scope.window
        q = F.pad(q, (0, 0, 0, -time % window)).unflatten(2, (-1, window))  # (batch, head, block, query, d_head)
        # (batch, head, block, key, d_head)
        k = neighbourhoods(F.pad(k, (0, 0, 0, -time % window)), window, scope.causal)
        v = neighbourhoods(F.pad(v, (0, 0, 0, -time % window)), window, scope.causal)
        batch, _, blocks, *_ = q.shape
        # each block becomes a sequence of the batch: (batch · block, head, …)
        q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
        mask = scope.kernel_mask.expand(batch, -1, -1, -1, -1).flatten(0, 1)  # (batch · block, 1 or head, query, key)
        context = self.kernel(q, k, v, mask).unflatten(0, (batch, blocks))  # (batch, block, head, query, d_head)
        return context.transpose(1, 2).flatten(2, 3)[:, :, :time]  # (batch, head, time, d_head)


def neighbourhoods(x: Tensor, window: int, causal: bool) -> Tensor:
    """(batch, head, block · window, d) → (batch, head, block, 2 or 3 windows, d): each block with its neighbours."""
    x = F.pad(x, (0, 0, window, 0 if causal else window))
    return x.unfold(2, 2 * window if causal else 3 * window, window).transpose(-2, -1)
