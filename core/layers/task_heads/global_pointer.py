"""GlobalPointer: scores every span (start, end) of every type at once, so that spans may be nested.

score_t(i, j) = q_t,i · k_t,j / √d,  i ≤ j,  with RoPE on q and k     (Su et al. 2022, arxiv.org/abs/2208.03054)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from core.capture.taps import tap
from core.layers.attention import mask_scores, split_heads
from core.layers.linear import Linear
from core.layers.masks import causal_mask, combine_masks, padding_mask
from core.layers.positions import Rotary


class GlobalPointer(nn.Module):
    """One head of queries (starts) and keys (ends) per type."""

    def __init__(self, d_model: int, n_types: int, max_len: int, d_head: int = 64):
        super().__init__()
        self.n_types = n_types
        self.q_proj = Linear(d_model, n_types * d_head)
        self.k_proj = Linear(d_model, n_types * d_head)
        self.position = Rotary(max_len, d_head)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(batch, time, d_model) → (batch, type, start, end); −∞ for impossible spans (end < start, padding)"""
        positions = torch.arange(x.shape[1], device=x.device)
        q = tap(self, "q", self.position.rotate(split_heads(self.q_proj(x), self.n_types), positions))
        k = tap(self, "k", self.position.rotate(split_heads(self.k_proj(x), self.n_types), positions))
        scores = tap(self, "scores", q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5)  # (batch, type, start, end)
        ordered = causal_mask(positions, positions).T  # start ≤ end
        padding = None if lengths is None else padding_mask(lengths, x.shape[1])
        return mask_scores(scores, combine_masks(padding, ordered))


def span_loss(scores: Tensor, spans: Tensor) -> Tensor:
    """log(1 + Σ_absent exp s) + log(1 + Σ_present exp −s), averaged over sequences and types

    scores (batch, type, start, end) with −∞ for impossible spans, spans of the same shape, True = present. Every
    present span is pushed above 0, every absent one below, however few are present (Su 2020).
    """
    scores, spans = scores.flatten(2), spans.flatten(2)
    zero = scores.new_zeros(*scores.shape[:2], 1)
    absent = torch.cat([scores.masked_fill(spans, float("-inf")), zero], dim=-1)
    present = torch.cat([(-scores).masked_fill(~spans, float("-inf")), zero], dim=-1)
    return (absent.logsumexp(-1) + present.logsumexp(-1)).mean()


def decode_spans(scores: Tensor) -> list[list[tuple[int, int, int]]]:
    """Per sequence, the (type, start, end) whose score is above 0."""
    return [[(kind, start, end) for kind, start, end in (row > 0).nonzero().tolist()] for row in scores]
