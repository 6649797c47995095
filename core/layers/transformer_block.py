"""The transformer block: attention and feed-forward with residual connections, and what its attention may see."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from core.capture.taps import tap
from core.config.families import TransformerConfig
from core.layers.attention import Attention, AttentionScope
from core.layers.feedforward import FeedForward
from core.layers.local_attention import LocalAttention
from core.layers.norms import make_norm


class AttentionContext:
    """What the blocks of one forward pass attend to: their own sequence and, in a decoder, the encoder's memory."""

    def __init__(
        self, self_scope: AttentionScope, cross_scope: AttentionScope | None = None, memory: Tensor | None = None
    ):
        self.self_scope, self.cross_scope, self.memory = self_scope, cross_scope, memory
        for scope in filter(None, (self_scope, cross_scope)):
            scope.kernel_mask  # noqa: B018  computed now, not inside a block that checkpointing may run twice


class Block(nn.Module):
    """Self-attention, cross-attention (in a decoder) and feed-forward, each with a residual connection."""

    def __init__(self, config: TransformerConfig, cross: bool):
        super().__init__()
        self.placement = config.norm_placement
        self.dropout = nn.Dropout(config.dropout)
        self.attn = _attention(config, LocalAttention if config.attention == "local" else Attention)
        self.attn_norm = block_norm(config)
        self.cross = _attention(config, Attention) if cross else None
        self.cross_norm = block_norm(config) if cross else None
        self.ff = FeedForward(
            config.d_model, config.ff_width, config.activation, bias=config.bias, dropout=config.dropout
        )
        self.ff_norm = block_norm(config)

    def forward(self, x: Tensor, context: AttentionContext, condition: Tensor | None) -> Tensor:
        x = tap(self, "resid_in", x)  # (batch, time, d_model), as all that follow
        x = self.add_residual(x, lambda h: self.attn(h, context.self_scope), self.attn_norm, condition)
        x = tap(self, "resid_mid", x)
        cross = self.cross
        if cross is not None:
            x = self.add_residual(
                x, lambda h: cross(h, context.cross_scope, context.memory), self.cross_norm, condition
            )
            x = tap(self, "resid_cross", x)
        x = self.add_residual(x, self.ff, self.ff_norm, condition)
        return tap(self, "resid_out", x)

    def add_residual(
        self,
        x: Tensor,
        sublayer: Callable[[Tensor], Tensor],
        norm: nn.Module | None,
        condition: Tensor | None,
    ) -> Tensor:
        """pre: x + f(norm(x)); post: norm(x + f(x)); none: x + f(x)"""
        if norm is None:
            return x + self.dropout(sublayer(x))
        if self.placement == "pre":
            return x + self.dropout(sublayer(norm(x, condition)))
        return norm(x + self.dropout(sublayer(x)), condition)


def block_norm(config: TransformerConfig) -> nn.Module | None:
    """The configured norm, or None with `norm_placement="none"`."""
    if config.norm_placement == "none":
        return None
    return make_norm(config.norm, config.d_model, config.norm_eps, config.n_conditions)


def _attention(config: TransformerConfig, attention_class: type[Attention]) -> Attention:
    return attention_class(
        config.d_model,
        config.n_heads,
        n_kv_heads=config.kv_heads,
        d_head=config.head_width,
        scaled=config.attention_scaled,
        bias=config.bias,
        dropout=config.dropout,
    )
