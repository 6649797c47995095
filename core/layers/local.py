"""Local attention: every query sees the keys within a window, at a cost of n · window instead of n².

The sequence is cut into blocks as long as the window. A query's window lies inside its own block and its two
neighbours, so the kernel compares each block with three (causal: two) and a small mask trims the corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from core.layers.attention import Attention, Scope, masked
from core.layers.masks import both, causal_mask, valid_mask, window_mask


@dataclass(frozen=True, kw_only=True)
class LocalScope(Scope):
    window: int

    def mask(self) -> Tensor:
        return both(super().mask(), window_mask(self.queries, self.keys, self.window)[None, None])

    @cached_property
    def kernel_arguments(self) -> dict:
        """The mask of a block of queries against its neighbourhood, (batch or 1, block, 1 or head, query, key)."""
        window, time = self.window, len(self.keys)
        blocks = -(-time // window)
        queries = torch.arange(window, device=self.keys.device)
        keys = torch.arange(-window, window if self.causal else 2 * window, device=self.keys.device)
        near = window_mask(queries, keys, window)
        if self.causal:
            near = near & causal_mask(queries, keys)
        lengths = self.keys.new_tensor([time]) if self.lengths is None else self.lengths
        valid = neighbourhoods(valid_mask(lengths, blocks * window)[:, None, :, None], window, self.causal)
        mask = near & valid.transpose(1, 2).squeeze(-1)[:, :, :, None, :]  # (batch or 1, block, 1, query, key)
        bias = self.position.bias(queries, keys)  # (head, query, key): relative, hence alike in every block
        return {"attn_mask": mask if bias is None else masked(bias, mask)}


class LocalAttention(Attention):
    """Attention through a sliding window. In training, dropout draws its noise per block, not per cell of n²."""

    def fused(self, q: Tensor, k: Tensor, v: Tensor, scope: LocalScope) -> Tensor:
        time, window = q.shape[2], scope.window
        q = F.pad(q, (0, 0, 0, -time % window)).unflatten(2, (-1, window))  # (batch, head, block, query, d_head)
        k = neighbourhoods(F.pad(k, (0, 0, 0, -time % window)), window, scope.causal)
        v = neighbourhoods(F.pad(v, (0, 0, 0, -time % window)), window, scope.causal)
        q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))  # (batch · block, head, time, d_head)
        mask = scope.kernel_arguments["attn_mask"]
        mask = mask.expand(len(q) // mask.shape[1], *mask.shape[1:]).flatten(0, 1)
        context = self.kernel(q, k, v, attn_mask=mask)
        context = context.unflatten(0, (-1, -(-time // window))).transpose(1, 2).flatten(2, 3)
        return context[:, :, :time]


def neighbourhoods(x: Tensor, window: int, causal: bool) -> Tensor:
    """(batch, head, block · window, d) → (batch, head, block, 2 or 3 windows, d): each block with its neighbours."""
    x = F.pad(x, (0, 0, window, 0 if causal else window))
    return x.unfold(2, 2 * window if causal else 3 * window, window).transpose(-2, -1)
