"""Multi-head attention, read top to bottom: project, split into heads, compare, mix, project back.

    weights = softmax(q kᵀ · scale + bias), over the keys that the mask keeps      context = weights v

(Vaswani et al. 2017, §3.2). Unless the scores or weights are tapped, torch's fused kernel computes the context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.capture.taps import is_tapped, tap
from core.layers.kv_cache import KeysValues, KVCache, StaticKVCache
from core.layers.linear import Linear
from core.layers.masks import causal_mask, combine_masks, padding_mask
from core.layers.positions import RelativePosition


class Attention(nn.Module):
    """Self-attention of x (batch, query, d_model), or cross-attention from x to memory (batch, key, d_model).

    With fewer key–value heads than query heads, groups of query heads share one (grouped-query attention, Ainslie et
    al. 2023, arxiv.org/abs/2305.13245).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        scaled: bool = True,
        bias: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads or n_heads
        self.d_head = d_head or d_model // n_heads
        self.scale = self.d_head**-0.5 if scaled else 1.0
        self.dropout = dropout
        self.q_proj = Linear(d_model, self.n_heads * self.d_head, bias)
        self.k_proj = Linear(d_model, self.n_kv_heads * self.d_head, bias)
        self.v_proj = Linear(d_model, self.n_kv_heads * self.d_head, bias)
        self.out_proj = Linear(self.n_heads * self.d_head, d_model, bias)

    def forward(self, x: Tensor, scope: AttentionScope, memory: Tensor | None = None) -> Tensor:
        source = x if memory is None else memory
        q = split_heads(self.q_proj(x), self.n_heads)  # (batch, head, query, d_head)
        q = tap(self, "q", scope.position.rotate(q, scope.query_positions))
        # each (batch, kv_head, key, d_head)
        k, v = scope.keys_values(self, lambda: self.project_keys_values(source, scope))
        k, v = share_heads(k, self.n_heads), share_heads(v, self.n_heads)  # (batch, head, key, d_head)

        if is_tapped(self, "bias", "scores", "mask", "weights"):
            context = self.explicit(q, k, v, scope)
        else:
            context = self.fused(q, k, v, scope)
        context = tap(self, "context", context)  # (batch, head, query, d_head)
        return tap(self, "out", self.out_proj(merge_heads(context)))

    def project_keys_values(self, source: Tensor, scope: AttentionScope) -> tuple[Tensor, Tensor]:
        k = split_heads(self.k_proj(source), self.n_kv_heads)  # (batch, kv_head, key, d_head)
        v = split_heads(self.v_proj(source), self.n_kv_heads)
        return tap(self, "k", scope.position.rotate(k, scope.new_key_positions)), tap(self, "v", v)

    def explicit(self, q: Tensor, k: Tensor, v: Tensor, scope: AttentionScope) -> Tensor:
        """The formula written out, with every intermediate tensor tapped."""
        scores = (q * self.scale) @ k.transpose(-2, -1)  # (batch, head, query, key)
        bias, mask = scope.bias(), scope.mask()
        if bias is not None:
            scores = scores + tap(self, "bias", bias)
        scores = tap(self, "scores", scores)  # before the mask: finite everywhere
        if mask is not None:
            mask = tap(self, "mask", mask)
        weights = tap(self, "weights", masked_softmax(scores, mask))
        return F.dropout(weights, self.dropout, self.training) @ v

    def fused(self, q: Tensor, k: Tensor, v: Tensor, scope: AttentionScope) -> Tensor:
        """The same numbers from one kernel that never stores the weights."""
        return self.kernel(q, k, v, scope.kernel_mask, scope.kernel_causal)

    def kernel(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale=self.scale)


@dataclass(frozen=True)
class AttentionScope:
    """Which keys each query may attend to: positions, mask and position bias. Shared by all layers of a pass."""

    position: RelativePosition
    query_positions: Tensor  # (query,)
    key_positions: Tensor  # (key,)
    lengths: Tensor | None = None  # (batch,) valid keys; None: all are
    causal: bool = False
    cache: StaticKVCache | None = None  # while decoding: keys and values computed before

    @property
    def new_key_positions(self) -> Tensor:
        """(new key,): positions of the keys that are not in the cache"""
        return self.query_positions if isinstance(self.cache, KVCache) else self.key_positions

    def keys_values(self, layer: nn.Module, project: Callable[[], KeysValues]) -> KeysValues:
        return project() if self.cache is None else self.cache.update(layer, project)

    def mask(self) -> Tensor | None:
        """(batch or 1, 1, query, key), True = keep; None: all are kept"""
        padding = None if self.lengths is None else padding_mask(self.lengths, len(self.key_positions))
        ahead = causal_mask(self.query_positions, self.key_positions)[None, None] if self.causal else None
        return combine_masks(padding, ahead)

    def bias(self) -> Tensor | None:
        """(1, head, query, key)"""
        bias = self.position.bias(self.query_positions, self.key_positions)
        return None if bias is None else bias[None]

    @cached_property
    def kernel_causal(self) -> bool:
        """Whether the mask is exactly the causal one, which the fused kernel applies without a mask tensor."""
        unbiased = self.lengths is None and self.bias() is None
        return self.causal and unbiased and len(self.query_positions) == len(self.key_positions)

    @cached_property
    def kernel_mask(self) -> Tensor | None:
        """Mask and bias in one for the fused kernel: True = keep, or numbers to add to the scores."""
        if self.kernel_causal:
            return None
        mask, bias = self.mask(), self.bias()
        return mask if bias is None else mask_scores(bias, mask)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(batch, time, head · d_head) → (batch, head, time, d_head)"""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(batch, head, time, d_head) → (batch, time, head · d_head)"""
    return x.transpose(1, 2).flatten(-2)


def share_heads(x: Tensor, n_heads: int) -> Tensor:
    """(batch, kv_head, key, d_head) → (batch, head, key, d_head): each repeated for its group of query heads"""
    groups = n_heads // x.shape[1]
    return x if groups == 1 else x.repeat_interleave(groups, dim=1)


def mask_scores(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Scores with −∞ where the mask is False."""
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys that the mask keeps; the others get exactly 0, and so does a row without any."""
    if mask is None:
        return scores.softmax(-1)
    lowest = torch.finfo(scores.dtype).min  # finite, so that an empty row gives no NaN
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)
