"""The position-wise feed-forward layer: up to `d_ff`, through a non-linearity, and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from core.capture.taps import tap
from core.layers.linear import Linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
GATED = {"swiglu": "silu", "geglu": "gelu", "geglu-tanh": "gelu-tanh"}


class FeedForward(nn.Module):
    """W_out f(W_in x), or gated: W_out (f(W_gate x) ⊙ W_in x) (Shazeer 2020, arxiv.org/abs/2002.05202)."""

    def __init__(self, d_model: int, d_ff: int, activation: str, *, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        self.activation = ACTIVATIONS[GATED.get(activation, activation)]
        self.in_proj = Linear(d_model, d_ff, bias)
        self.gate_proj = Linear(d_model, d_ff, bias) if activation in GATED else None
        self.out_proj = Linear(d_ff, d_model, bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        pre = tap(self, "pre", (self.gate_proj or self.in_proj)(x))  # (batch, time, d_ff)
        post = self.activation(pre)
        if self.gate_proj is not None:
            post = post * self.in_proj(x)
        post = tap(self, "post", post)
        return tap(self, "out", self.out_proj(self.dropout(post)))
