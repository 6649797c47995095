"""A stack of transformer blocks, from token ids to hidden states; encoder, decoder or both by what it is given.

    ids → embed (+ position, + segment) → Att → Add → [Cross → Add →] FFN → Add → … → hidden

with the norm before each sublayer (pre), after each sum (post) or nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from core.capture.tape import observed, tap, unobserved
from core.config.families import TransformerConfig
from core.errors import InputError
from core.layers.attention import Attention, Scope
from core.layers.feedforward import FeedForward
from core.layers.kv_cache import Past
from core.layers.local_attention import LocalAttention, LocalScope
from core.layers.masks import check_input, check_range, check_shape
from core.layers.norms import make_norm
from core.layers.positions import Relative, added_position, relative_position
from core.messages import Text


class Memory:
    """What a decoder looks at: an encoder's output (batch, key, d_model), its valid lengths and positions."""

    def __init__(self, hidden: Tensor, lengths: Tensor | None, positions: Tensor):
        self.hidden, self.lengths, self.positions = hidden, lengths, positions


class Block(nn.Module):
    """Attention and feed-forward, each with a residual; a decoder's block also looks at the memory."""

    def __init__(self, config: TransformerConfig, cross: bool):
        super().__init__()
        self.placement = config.norm_placement
        self.dropout = nn.Dropout(config.dropout)
        self.attn = _attention(config, LocalAttention if config.attention == "local" else Attention)
        self.attn_norm = _norm(config)
        self.cross = _attention(config, Attention) if cross else None
        self.cross_norm = _norm(config) if cross else None
        self.ff = FeedForward(
            config.d_model, config.ff_width, config.activation, bias=config.bias, dropout=config.dropout
        )
        self.ff_norm = _norm(config)

    def forward(self, x: Tensor, sight: Sight, condition: Tensor | None) -> Tensor:
        x = tap(self, "resid_in", x)  # (batch, time, d_model), as all that follow
        x = self.add(x, lambda h: self.attn(h, sight.own), self.attn_norm, condition)
        x = tap(self, "resid_mid", x)
        if self.cross is not None:
            x = self.add(x, lambda h: self.cross(h, sight.across, sight.memory), self.cross_norm, condition)
            x = tap(self, "resid_cross", x)
        x = self.add(x, self.ff, self.ff_norm, condition)
        return tap(self, "resid_out", x)

    def add(
        self,
        x: Tensor,
        sublayer: Callable[[Tensor], Tensor],
        norm: nn.Module | None,
        condition: Tensor | None,
    ) -> Tensor:
        """pre: x + f(norm(x)); post: norm(x + f(x)); none: x + f(x)"""
        if self.placement == "pre":
            return x + self.dropout(sublayer(norm(x, condition)))
        x = x + self.dropout(sublayer(x))
        return norm(x, condition) if self.placement == "post" else x


class Sight:
    """All that the blocks of one forward pass may look at: their own sequence and, in a decoder, the memory."""

    def __init__(self, own: Scope, across: Scope | None = None, memory: Tensor | None = None):
        self.own, self.across, self.memory = own, across, memory
        for scope in filter(None, (own, across)):
            scope.kernel_mask  # noqa: B018  made now, not inside a block that checkpointing may run twice


class Stack(nn.Module):
    """Embedding, blocks and, with pre-norm, a last norm."""

    def __init__(
        self,
        config: TransformerConfig,
        *,
        n_layers: int | None = None,
        causal: bool = False,
        cross: bool = False,
        n_segments: int = 0,
        embedding_norm: bool = False,
    ):
        super().__init__()
        self.config, self.causal = config, causal
        self.embedding_scale = math.sqrt(config.d_model) if config.embedding_scaled else 1.0
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.segment_embedding = nn.Embedding(n_segments, config.d_model) if n_segments else None
        self.position_embedding = added_position(config)
        self.embedding_norm = _norm(config) if embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.position = relative_position(config, two_sided=not causal)
        if cross:
            self.cross_position = relative_position(config, two_sided=True) if config.cross_position else Relative()
        self.blocks = nn.ModuleList(Block(config, cross) for _ in range(n_layers or config.n_layers))
        self.final_norm = _norm(config) if config.norm_placement == "pre" else None

    def check(
        self, ids: Tensor, lengths: Tensor | None, segments: Tensor | None = None, condition: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """Refuse an input that cannot be read; returns it in int64, the lengths as None when there is no padding.

        A model without segments takes no notice of them: it may learn a task that tells them.
        """
        lengths = check_input(ids, lengths, self.config.vocab_size, self.config.max_len)
        if segments is not None and self.segment_embedding is not None:
            check_shape(Text("Segments"), segments, ids.shape)
            segments = check_range(Text("Segments"), segments, 0, self.segment_embedding.num_embeddings - 1)
        if condition is not None:
            if self.config.norm != "conditional" or self.config.norm_placement == "none":
                raise InputError(
                    "This model has no norms that take a condition: build it with norm='conditional', pre or post.",
                )
            check_shape(Text("Conditions"), condition, ids.shape[:1])
            condition = check_range(Text("Conditions"), condition, 0, self.config.n_conditions - 1)
        return ids.long(), lengths, segments, condition

    def hidden_states(
        self,
        ids: Tensor,
        lengths: Tensor | None = None,
        *,
        segments: Tensor | None = None,
        condition: Tensor | None = None,
        memory: Memory | None = None,
        past: Past | None = None,
    ) -> Tensor:
        """(batch, time) ids → (batch, time, d_model); the input has been checked

        With a past, `ids` are only the tokens that follow it; it then holds them too.
        """
        begin = past.length if past else 0
        positions = torch.arange(begin, begin + ids.shape[1], device=ids.device)
        x = self.embed(ids, positions, segments, condition)
        sight = self.look(positions, lengths, memory) if past is None else self.look_back(positions, past, memory)
        for block in self.blocks:
            x = self.run_block(block, x, sight, condition)
        if past is not None:
            past.length += ids.shape[1]
        return x if self.final_norm is None else self.final_norm(x, condition)

    def embed(
        self, ids: Tensor, positions: Tensor, segments: Tensor | None = None, condition: Tensor | None = None
    ) -> Tensor:
        x = self.token_embedding(ids)
        x = tap(self, "embed", x * self.embedding_scale if self.embedding_scale != 1 else x)
        if self.segment_embedding is not None:
            segments = torch.zeros_like(ids) if segments is None else segments
            x = x + tap(self, "segment", self.segment_embedding(segments))
        if self.position_embedding is not None:
            x = x + tap(self, "position", self.position_embedding(positions).expand_as(x))
        if self.embedding_norm is not None:
            x = self.embedding_norm(x, condition)
        return self.dropout(x)

    def look(self, positions: Tensor, lengths: Tensor | None, memory: Memory | None) -> Sight:
        if self.config.attention == "local":
            window = min(self.config.window, len(positions))
            own = LocalScope(self.position, positions, positions, lengths, self.causal, window=window)
        else:
            own = Scope(self.position, positions, positions, lengths, self.causal)
        if memory is None:
            return Sight(own)
        across = Scope(self.cross_position, positions, memory.positions, memory.lengths)
        return Sight(own, across, memory.hidden)

    def look_back(self, positions: Tensor, past: Past, memory: Memory | None) -> Sight:
        """The new tokens look at all so far; nothing is padding."""
        keys = torch.arange(past.length + len(positions), device=positions.device)
        own = Scope(self.position, positions, keys, causal=self.causal, past=past)
        if memory is None:
            return Sight(own)
        across = Scope(self.cross_position, positions, memory.positions, memory.lengths, past=past.memory)
        return Sight(own, across, memory.hidden)

    def run_block(self, block: Block, x: Tensor, sight: Sight, condition: Tensor | None) -> Tensor:
        """One block; with checkpointing, its activations are thrown away and computed again when needed.

        Not while somebody looks at a part of it: computed again, it would be without their edits.
        """
        if not (self.config.checkpointing and torch.is_grad_enabled()) or any(map(observed, block.modules())):
            return block(x, sight, condition)
        return checkpoint(
            block, x, sight, condition, use_reentrant=False, context_fn=lambda: (nullcontext(), unobserved())
        )


def _attention(config: TransformerConfig, kind: type[Attention]) -> Attention:
    return kind(
        config.d_model,
        config.n_heads,
        n_kv_heads=config.kv_heads,
        d_head=config.head_width,
        scaled=config.attention_scaled,
        bias=config.bias,
        dropout=config.dropout,
    )


def _norm(config: TransformerConfig) -> nn.Module | None:
    if config.norm_placement == "none":
        return None
    return make_norm(config.norm, config.d_model, config.norm_eps, config.n_conditions)
