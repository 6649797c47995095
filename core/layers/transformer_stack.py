"""A stack of transformer blocks, from token ids to hidden states: encoder, or decoder with `causal` and `cross`.

    ids → embed (+ position, + segment) → Att → Add → [Cross → Add →] FFN → Add → … → hidden

with the norm before each sublayer (pre), after each sum (post) or nowhere.
"""

from __future__ import annotations

import math
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from core.capture.observers import has_observers, without_observers
from core.capture.taps import tap
from core.config.families import EncoderDecoderConfig, TransformerConfig
from core.errors import InputError
from core.layers.attention import AttentionScope
from core.layers.input_checks import check_input, check_range, check_shape
from core.layers.kv_cache import KVCache
from core.layers.local_attention import LocalAttentionScope
from core.layers.positions import RelativePosition, absolute_position, relative_position
from core.layers.transformer_block import AttentionContext, Block, block_norm
from core.translatable import Text


class EncoderMemory:
    """An encoder's output for cross-attention: hidden states (batch, key, d_model), valid lengths, key positions."""

    def __init__(self, hidden: Tensor, lengths: Tensor | None, positions: Tensor):
        self.hidden, self.lengths, self.positions = hidden, lengths, positions


class Stack(nn.Module):
    """Embeddings, blocks and, with pre-norm, a final norm."""

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
        self.position_embedding = absolute_position(config)
        self.embedding_norm = block_norm(config) if embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.position = relative_position(config, two_sided=not causal)
        if cross:
            assert isinstance(config, EncoderDecoderConfig)
            bias_cross = config.cross_position
            self.cross_position = relative_position(config, two_sided=True) if bias_cross else RelativePosition()
        self.blocks = nn.ModuleList(Block(config, cross) for _ in range(n_layers or config.n_layers))
        self.final_norm = block_norm(config) if config.norm_placement == "pre" else None

    def check(
        self, ids: Tensor, lengths: Tensor | None, segments: Tensor | None = None, condition: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """Raise `InputError` for an input that cannot be read.

        Returns the input in int64, with lengths None when there is no padding. A model without segment embeddings
        ignores segments, so that it can be trained on tasks that have them.
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
        memory: EncoderMemory | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """(batch, time) checked ids → (batch, time, d_model)

        With a cache, `ids` are only the tokens after those in the cache, and are added to it.
        """
        begin = cache.length if cache else 0
        positions = torch.arange(begin, begin + ids.shape[1], device=ids.device)
        x = self.embed(ids, positions, segments, condition)
        if cache is None:
            context = self.make_context(positions, lengths, memory)
        else:
            context = self.make_cached_context(positions, cache, memory)
        for block in self.blocks:
            x = self.run_block(block, x, context, condition)
        if cache is not None:
            cache.length += ids.shape[1]
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

    def make_context(
        self, positions: Tensor, lengths: Tensor | None, memory: EncoderMemory | None
    ) -> AttentionContext:
        """The context of a whole sequence with positions (time,)."""
        if self.config.attention == "local":
            window = min(self.config.window, len(positions))
            scope = LocalAttentionScope(self.position, positions, positions, lengths, self.causal, window=window)
        else:
            scope = AttentionScope(self.position, positions, positions, lengths, self.causal)
        if memory is None:
            return AttentionContext(scope)
        cross_scope = AttentionScope(self.cross_position, positions, memory.positions, memory.lengths)
        return AttentionContext(scope, cross_scope, memory.hidden)

    def make_cached_context(
        self, positions: Tensor, cache: KVCache, memory: EncoderMemory | None
    ) -> AttentionContext:
        """The context of new tokens at positions (time,), which attend to all tokens so far; without padding."""
        keys = torch.arange(cache.length + len(positions), device=positions.device)
        scope = AttentionScope(self.position, positions, keys, causal=self.causal, cache=cache)
        if memory is None:
            return AttentionContext(scope)
        cross_scope = AttentionScope(
            self.cross_position, positions, memory.positions, memory.lengths, cache=cache.cross
        )
        return AttentionContext(scope, cross_scope, memory.hidden)

    def run_block(self, block: nn.Module, x: Tensor, context: AttentionContext, condition: Tensor | None) -> Tensor:
        """One block; with checkpointing, its activations are discarded and recomputed in the backward pass.

        Not while any part of it is observed: the recomputation would run without the edits.
        """
        if not (self.config.checkpointing and torch.is_grad_enabled()) or any(map(has_observers, block.modules())):
            return block(x, context, condition)
        return checkpoint(
            block,
            x,
            context,
            condition,
            use_reentrant=False,
            context_fn=lambda: (nullcontext(), without_observers()),
        )
