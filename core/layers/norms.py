"""Normalisation layers. All take x (batch, time, unit) and a condition (batch,), used by the conditional norm only."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LayerNorm(nn.LayerNorm):
    """γ (x − mean) / √(var + ε) + β (Ba et al. 2016)"""

    def forward(self, input: Tensor, condition: Tensor | None = None) -> Tensor:
        return super().forward(input)


class RmsNorm(nn.RMSNorm):
    """γ x / √(mean(x²) + ε) (Zhang & Sennrich 2019)"""

    def forward(self, x: Tensor, condition: Tensor | None = None) -> Tensor:
        return super().forward(x)


class ConditionalLayerNorm(nn.LayerNorm):
    """LayerNorm with γ + Γ[c] and β + B[c] for condition c; Γ and B are initialised to 0, which gives LayerNorm."""

    def __init__(self, width: int, eps: float, n_conditions: int):
        super().__init__(width, eps)
        self.gain = nn.Parameter(torch.zeros(n_conditions, width))
        self.shift = nn.Parameter(torch.zeros(n_conditions, width))

    def forward(self, input: Tensor, condition: Tensor | None = None) -> Tensor:
        if condition is None:
            return super().forward(input)
        standardised = F.layer_norm(input, self.normalized_shape, None, None, self.eps)
        gain = self.weight + self.gain[condition][:, None]  # (batch, 1, unit)
        return standardised * gain + self.bias + self.shift[condition][:, None]


def make_norm(kind: str, width: int, eps: float, n_conditions: int) -> nn.Module:
    if kind == "layernorm":
        return LayerNorm(width, eps)
    if kind == "rmsnorm":
        return RmsNorm(width, eps)
    return ConditionalLayerNorm(width, eps, n_conditions)
